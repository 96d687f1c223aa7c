"""Which Authentication-Results the person's own system has written, in the header of each large provider.

The forms are those of the providers; names, addresses and keys are made up.
"""

from typing import NamedTuple

import pytest

from spamnb.mail.authentication import authentication
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.own_server import servers_of
from spamnb.mail.reading import read_content

AFTER = "id 7; Mon, 1 Jun 2026 10:00:00 +0000"
SENT = f"Received: from laptop (dsl.example [9.9.8.7]) by out.shop.example with ESMTPSA {AFTER}"
LETTER = "From: Shop <news@shop.example>\nTo: anna@example.org\nSubject: New\n\nhello\n"


class Form(NamedTuple):
    """A provider's header. SENDER stands for the domain of From, RESULT for pass, fail or another result.

    site: of the provider's servers. is_proposed: whether mail alone shows that they are the person's own. own: the
    lines that the provider writes. said: those of them with the results.
    """

    site: str
    own: str
    is_proposed: bool = True

    def mail(self, result: str, stranger: str = "", sender: str = "shop.example") -> bytes:
        """A message that the provider has taken. stranger: lines that came with it."""
        head = self.own.strip().replace("RESULT", result).replace("SENDER", sender)
        return "\n".join(filter(None, [head, stranger.strip(), SENT, LETTER])).encode()


def is_vouched_for(raw: bytes, site: str) -> bool:
    """Whether the site vouches for the sender of a message."""
    found = read_content(raw).relations
    results = authentication(found.results, site, found.sender, are_below=found.are_results_below)
    return results is not None and results.is_aligned


FORMS = {
    "fastmail": Form(
        "messagingengine.com",
        f"""
Received: from phl-compute-02.internal (phl-compute-02.internal [10.202.2.42])
\t by slotpi03d1t06 (Cyrus 3.13.7) with LMTPA; Mon, 1 Jun 2026
Received: from phl-mx-03 ([10.202.2.202])
  by phl-compute-02.internal (LMTPProxy); Mon, 1 Jun 2026
Received: from mx3.messagingengine.com (localhost [127.0.0.1])
\tby mailmx.phl.internal (Postfix) with ESMTP {AFTER}
Received: from mailmx.phl.internal (localhost [127.0.0.1])
    by mx3.messagingengine.com (Authentication Milter) with ESMTP {AFTER}
ARC-Authentication-Results: i=1; mx3.messagingengine.com; dkim=pass header.d=evil.example
X-ME-Authentication-Results: mx3.messagingengine.com; x-tls=pass smtp.version=TLSv1.3
Authentication-Results: mx3.messagingengine.com;
    x-csa=none;
    x-me-sender=none;
    x-ptr=pass smtp.helo=out.shop.example
      policy.ptr=out.shop.example
Authentication-Results: mx3.messagingengine.com;
    bimi=none (No BIMI records found)
Authentication-Results: mx3.messagingengine.com;
    arc=none (no signatures found)
Authentication-Results: mx3.messagingengine.com;
    dkim=RESULT (2048-bit rsa key sha256) header.d=SENDER header.i=@SENDER header.b=ZMMr8Ob+ header.a=rsa-sha256;
    dmarc=RESULT policy.published-domain-policy=reject (p=reject,d=none,d.eval=none) policy.policy-from=p
      header.from=SENDER;
    iprev=pass smtp.remote-ip=9.9.9.7 (out.shop.example);
    spf=pass smtp.mailfrom=b@shop.example smtp.helo=out.shop.example
Received-SPF: pass receiver=mx3.messagingengine.com; client-ip=9.9.9.7
Received: from out.shop.example (out.shop.example [9.9.9.7])
\tby mx3.messagingengine.com (Postfix) with ESMTPS {AFTER}
""",
    ),
    "icloud": Form(
        "icloud.com",
        f"""
Received: from st43p00im-zt.me.com by p44-mailgateway-smtp-778 (mailgateway 2403B92)
 with SMTP {AFTER}
X-Apple-Action: MOVE_TO_FOLDER/INBOX
Received: from out.shop.example (out.shop.example [9.9.9.7])
\tby st43p00im-zt.me.com (Postfix) with ESMTPS {AFTER}
Authentication-Results: bimi.icloud.com; bimi=skipped reason="insufficient dmarc"
X-ARC-Info: policy=fail; arc=none
Authentication-Results: arc.icloud.com; arc=none
Authentication-Results: dmarc.icloud.com; dmarc=none header.from=SENDER
Authentication-Results: dkim-verifier.icloud.com;
\tdkim=RESULT (2048-bit key) header.d=SENDER header.i=@SENDER header.b=XubAwo48
Authentication-Results: spf.icloud.com; spf=pass (spf.icloud.com: domain of b@shop.example designates 9.9.9.7 as
 permitted sender) smtp.mailfrom=b@shop.example
Received-SPF: pass (spf.icloud.com: domain of b@shop.example) receiver=spf.icloud.com
""",
        is_proposed=False,  # `me.com` took the message
    ),
    "outlook": Form(
        "outlook.com",
        f"""
Received: from DB9PR04MB9438.eurprd04.prod.outlook.com (2603:10a6:10:3af::20)
 by AM9PR04MB8571.eurprd04.prod.outlook.com with HTTPS; Mon, 1 Jun 2026
Received: from DUZPR01CA0060.eurprd04.prod.exchangelabs.com (2603:10a6:20b:223::17)
 by DB9PR04MB9438.eurprd04.prod.outlook.com (2603:10a6:10:3af::20) with Microsoft
 SMTP Server (version=TLS1_2, cipher=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384) {AFTER}
Received: from AM7EUR03FT045.eop-eur03.prod.protection.outlook.com
 (2603:10a6:20b:223:cafe::5a) by DUZPR01CA0060.outlook.office365.com
 (2603:10a6:20b:223::17) with Microsoft SMTP Server (version=TLS1_2) {AFTER}
Authentication-Results: spf=pass (sender IP is 9.9.9.7)
 smtp.mailfrom=shop.example; dkim=RESULT (signature was verified)
 header.d=SENDER;dmarc=RESULT action=none
 header.from=SENDER;compauth=pass reason=100
Received-SPF: Pass (protection.outlook.com: domain of shop.example designates 9.9.9.7 as permitted sender)
Received: from out.shop.example (9.9.9.7) by
 AM7EUR03FT045.mail.protection.outlook.com (10.152.4.246) with Microsoft SMTP Server (version=TLS1_2) {AFTER}
""",
    ),
    "yahoo": Form(
        "yahoo.com",
        """
Received: from 127.0.0.1
 by atlas-production.v2-mail-prod1-bf1.omega.yahoo.com pod-id atlas--28bqw.bf1.yahoo.com with HTTP; Mon, 1 Jun 2026
Return-Path: <b@shop.example>
X-Originating-Ip: [9.9.9.7]
Received-SPF: pass (domain of shop.example designates 9.9.9.7 as permitted sender)
Authentication-Results: atlas-production.v2-mail-prod1-bf1.omega.yahoo.com;
 dkim=RESULT header.i=@SENDER header.s=2019;
 spf=pass smtp.mailfrom=shop.example;
 dmarc=RESULT(p=REJECT) header.from=SENDER;
X-Apparently-To: anna@yahoo.com; Mon, 1 Jun 2026
Received: from 9.9.9.7 (EHLO out.shop.example)
 by 10.253.31.117 with SMTPs (version=TLS1_3); Mon, 1 Jun 2026
""",
    ),
    "aol": Form(
        "yahoo.com",
        f"""
Received: from 10.222.142.150
 by atlas206.aol.mail.ne1.yahoo.com with HTTPS; Mon, 1 Jun 2026
Authentication-Results: atlas206.aol.mail.ne1.yahoo.com;
 dkim=RESULT header.i=@SENDER header.s=2019;
 spf=pass smtp.mailfrom=shop.example;
 dmarc=unknown header.from=SENDER;
Received: from 9.9.9.7 (EHLO out.shop.example) by 10.222.144.5 with SMTPs {AFTER}
""",
    ),
    "gmail": Form(
        "google.com",
        """
Delivered-To: anna@gmail.com
Received: by 2002:a05:6214:5c41:b0:6b0:1234:abcd with SMTP id lh1csp123456qvb;
        Mon, 1 Jun 2026 03:00:00 -0700 (PDT)
X-Received: by 2002:a05:6102:1234:b0:45d:1234:abcd with SMTP id x1; Mon, 1 Jun 2026
ARC-Authentication-Results: i=1; mx.google.com; dkim=pass header.i=@evil.example
Return-Path: <b@shop.example>
Received: from out.shop.example (out.shop.example. [9.9.9.7])
        by mx.google.com with ESMTPS id a1; Mon, 1 Jun 2026
Received-SPF: pass (google.com: domain of b@shop.example designates 9.9.9.7 as permitted sender) client-ip=9.9.9.7;
Authentication-Results: mx.google.com;
       dkim=RESULT header.i=@SENDER header.s=s1 header.b="aox1/b6+";
       spf=pass (google.com: domain of b@shop.example designates 9.9.9.7 as permitted sender)
        smtp.mailfrom=b@shop.example;
       dmarc=RESULT (p=REJECT sp=REJECT dis=NONE) header.from=SENDER
""",
    ),
    "gmx": Form(
        "gmx.net",
        f"""
Return-Path: <b@shop.example>
Authentication-Results: gmx.net; dkim=RESULT header.i=@SENDER
Authentication-Results: gmx.net; dkim=pass header.i=@relay.example
Received: from out.shop.example ([9.9.9.7]) by mx.gmx.net (mxgmx114
 [212.227.17.5]) with ESMTPS (Nemesis) {AFTER}
""",
    ),
    "posteo": Form(
        "posteo.de",
        f"""
Received: from proxy02.posteo.name ([127.0.0.1])
\tby proxy02.posteo.name (Dovecot) with LMTP {AFTER}
Received: from mailin02.posteo.de (unknown [10.0.0.62])
\tby proxy02.posteo.de (Postfix) with ESMTPS {AFTER}
Received: from mx01.posteo.de (mailin02.posteo.de [127.0.0.1])
\tby mailin02.posteo.de (Postfix) with ESMTPS {AFTER}
X-Virus-Scanned: amavisd-new at posteo.de
Authentication-Results: posteo.de; dmarc=none (p=none dis=none) header.from=SENDER
Authentication-Results: posteo.de; spf=pass smtp.mailfrom=shop.example
Authentication-Results: posteo.de;
\tdkim=RESULT (2048-bit key) header.d=SENDER header.i=@SENDER header.b=GjnZ7bT0;
\tdkim-atps=neutral
Received: from out.shop.example (out.shop.example [9.9.9.7])
\tby mx01.posteo.de (Postfix) with ESMTPS {AFTER}
""",
    ),
    "zoho": Form(
        "zohomail.eu",
        f"""
Delivered-To: anna@zohomail.eu
Received-SPF: pass (zohomail.eu: domain of shop.example designates 9.9.9.7 as permitted sender) client-ip=9.9.9.7;
Authentication-Results: mx.zohomail.eu;
\tdkim=pass;
\tspf=pass (zohomail.eu: domain of shop.example designates 9.9.9.7 as permitted sender)  smtp.mailfrom=b@shop.example;
\tdmarc=RESULT(p=reject dis=none)  header.from=SENDER
Return-Path: <b@shop.example>
Received: from out.shop.example (out.shop.example [9.9.9.7]) by mx.zohomail.eu
\twith SMTPS {AFTER}
""",
    ),
    "own postfix": Form(
        "example.org",
        f"""
Received: from mx.example.org (localhost [127.0.0.1]) by store.example.org with LMTP {AFTER}
Authentication-Results: mx.example.org; dmarc=RESULT (p=reject dis=none) header.from=SENDER
Authentication-Results: mx.example.org;
\tdkim=RESULT (2048-bit key; unprotected) header.d=SENDER header.i=@SENDER header.b="AbC+/=";
Received: from out.shop.example (out.shop.example [9.9.9.7]) by mx.example.org (Postfix) with ESMTPS {AFTER}
""",
    ),
}
PROVIDER = pytest.mark.parametrize("provider", FORMS)


@PROVIDER
def test_a_provider_vouches(provider: str) -> None:
    """In the header of each large provider its results are found: what passed is vouched for, and nothing else."""
    form = FORMS[provider]
    assert is_vouched_for(form.mail("pass"), form.site)
    for result in ("fail", "none", "neutral", "unknown", "pas", "aligned"):
        assert not is_vouched_for(form.mail(result), form.site)
    assert not is_vouched_for(form.mail("pass", sender="evil.example"), form.site)
    assert not is_vouched_for(form.mail("pass"), "other.example")


@PROVIDER
@pytest.mark.parametrize("result", ["fail", "none"])
def test_what_a_stranger_writes_below_the_results(provider: str, result: str) -> None:
    """A field that came with the mail counts nothing, whatever name it bears, if the provider has written its own."""
    form = FORMS[provider]
    passed = "dkim=pass header.d=shop.example; dmarc=pass header.from=shop.example"
    (name, *_) = [
        line.split(";")[0] for line in form.own.replace("\n", "").split("Authentication-Results: ")[1:] if ";" in line
    ][::-1]
    names = [
        f"{form.site}; ",
        f"{name.strip()}; ",
        f"mx9.{form.site}; ",
        "aaa.example; ",
        "",
        f"{form.site.upper()} 1; ",
    ]
    for written in names:
        for before in (
            "",
            SENT,
            f"Received: from {form.site} (localhost [127.0.0.1]) by {form.site} with LMTP {AFTER}",
        ):
            stranger = f"{before}\nAuthentication-Results: {written}{passed}"
            assert not is_vouched_for(form.mail(result, stranger * 2), form.site), stranger


@pytest.mark.parametrize("said", ["spf=pass smtp.mailfrom=b@evil.example", "x-ptr=pass; spf=none", "none"])
@pytest.mark.parametrize("claimed", ["mx.example.org", "mx"])
def test_a_machine_that_claims_a_name_of_ours(said: str, claimed: str) -> None:
    """A stranger's machine may call itself like ours, and add a move of ours below: its fields count nothing."""
    own = f"Authentication-Results: mx.example.org; {said}"
    border = BORDER.replace("from out.shop.example", f"from {claimed}")
    forged = PASSED.replace("mx.", "mx9.")
    move = f"Received: from z by {claimed}.example.org with ESMTPS {AFTER}"
    inside, proxy = move.replace("ESMTPS", "LMTP"), BORDER.replace("from out.shop.example", "from x by (LMTPProxy)")
    for top in ([own, border], [border, own], [own, proxy], [proxy, own], [proxy, SENT]):
        for below in ([forged, move], [move, forged], [forged], [PASSED, move], [inside, forged], [inside, PASSED]):
            assert not is_vouched_for("\n".join([*top, *below, SENT, LETTER]).encode(), "example.org"), (top, below)


@PROVIDER
def test_the_site_is_proposed(provider: str) -> None:
    """Mail shows the site of the provider's servers, unless machines of another site take the mail."""
    form = FORMS[provider]
    mail = [form.mail("pass", f"X-Number: {number}") for number in range(12)]
    assert servers_of(mail, form.site).read == 12
    assert servers_of(mail).agreed == (form.site if form.is_proposed else None)


BORDER = f"Received: from out.shop.example (out.shop.example [9.9.9.7]) by mx.example.org with ESMTPS {AFTER}"
PASSED = "Authentication-Results: mx.example.org; dkim=pass header.d=shop.example"
PAD = "a" * (DEFAULT_LIMITS.field_chars - len("mx.example.org; x=; dkim=pass header.d=shop.example"))
INSIDE = f"Received: from mx.example.org (localhost [127.0.0.1]) by store.example.org with LMTP {AFTER}"


@pytest.mark.parametrize(
    "header",
    [
        # below the Received field of a stranger's machine, or without any machine outside
        [INSIDE, BORDER, SENT, PASSED],
        [INSIDE, BORDER, f"Received: by out.shop.example {AFTER}", SENT, PASSED],
        [INSIDE, PASSED],
        [PASSED],
        # a stranger's machine that calls itself like one of ours, and the field below that it has made up
        [BORDER, BORDER.replace("from out.shop", "from mx.example.org"), PASSED],
        [BORDER.replace("from out", "from mx.example.org"), SENT.replace("out.shop.example", "laptop"), PASSED],
        # from the own system to a friend's, and back: the server has written nothing this time
        [BORDER, f"Received: from mx.example.org (mx.example.org [9.9.9.1]) by out.shop.example {AFTER}", PASSED],
        [BORDER, f"Received: from mx.example.org by out.shop.example with LMTP {AFTER}", SENT, PASSED],
        # a field on both sides of the machine outside
        ["Authentication-Results: mx.example.org; spf=pass", BORDER, PASSED],
        ["Authentication-Results: mx.example.org; x-ptr=pass", INSIDE, BORDER, PASSED],
        # a line that only some programs take for such a field: the own server may not find it when it removes them
        [BORDER, PASSED.replace("Results:", "Results :"), SENT],
        [BORDER, PASSED.replace("Results:", "Results\0:"), SENT],
        [BORDER, f"\ufeff{PASSED}", SENT],
        [BORDER, f"\xa0{PASSED}", SENT],
        [BORDER, f"\0{PASSED}", SENT],
        [BORDER, f">{PASSED}", SENT],
        [BORDER, "no field", PASSED, SENT],
        [BORDER, f"X-Pad: a\r{PASSED}", SENT],
        [BORDER, f"\r{PASSED}", SENT],
        [BORDER, f"X-Pad: a\v{PASSED}", SENT],
        [BORDER, f"X-Pad: a\u2028{PASSED}", SENT],
        [BORDER, "X-Pad: a", f" {PASSED}", SENT],
        # a field that is longer than what is read of it, with a name that goes on behind the end
        [f"{PASSED.replace(' dkim', f' x={PAD}; dkim')}.evil.example", BORDER, SENT],
        # other fields with such results, and one in an attached message
        [BORDER, f"ARC-{PASSED}", f"X-{PASSED}", PASSED.replace("Results", "Results-Original"), SENT],
        [BORDER, SENT, "Content-Type: message/rfc822\n", PASSED],
        # a stranger's field of another site on top
        [BORDER, "Authentication-Results: aaa.example; dkim=none", PASSED],
        ["Authentication-Results: dkim=none", PASSED, BORDER],
    ],
)
def test_a_field_in_a_strangers_place(header: list[str]) -> None:
    """A field counts nothing below a stranger's machine, on the other side of the last own one, or below another."""
    assert not is_vouched_for("\n".join([*header, LETTER]).encode(), "example.org")


@pytest.mark.parametrize(
    "header",
    [
        [PASSED, INSIDE, BORDER],
        [INSIDE, PASSED, BORDER],
        [INSIDE, BORDER, PASSED, SENT],
        ["Authentication-Results: mx2.example.org; spf=pass", INSIDE, PASSED, BORDER],
        ["Authentication-Results: mx.example.org; spf=pass", PASSED, BORDER],
        [BORDER, "Authentication-Results: mx.example.org; x-ptr=pass", PASSED],
        [PASSED.replace(" dkim", f" x={PAD}; dkim"), BORDER],
    ],
)
def test_a_field_in_the_place_of_the_own_system(header: list[str]) -> None:
    """A field counts above the machine outside, or right below it; so do several without a stranger between."""
    assert is_vouched_for("\n".join([*header, LETTER]).encode(), "example.org")


def test_a_very_long_header() -> None:
    """Only so many fields of either kind are looked at."""
    many = "\n".join(f"Authentication-Results: mx.example.org; x-{number}=pass" for number in range(20))
    assert len(read_content(f"{many}\n{PASSED}\n{BORDER}\n{LETTER}".encode()).relations.results) == 10
    moves = "\n".join([INSIDE] * 20)
    assert read_content(f"{moves}\n{PASSED}\n{BORDER}\n{LETTER}".encode()).relations.results == ()
