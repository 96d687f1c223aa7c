"""What the person's own server found out about a message: Authentication-Results (RFC 8601)."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.mail.authentication import Authentication, authentication
from spamnb.mail.reading import read_content
from tests.line_count import lines_run
from tests.table import over_rows

OURS = "mx.example.org"
SENDER = "news@letters.shop.example"
PASSED = Authentication("aligned")
NOTHING = Authentication()


@over_rows(
    ("field", "expected"),
    [
        # OpenDKIM, with a folded line; the signature ends in equals signs
        (
            "mx.example.org;\n\tdkim=pass (2048-bit key; unprotected) header.d=shop.example header.i=@shop.example"
            ' header.a=rsa-sha256 header.s=s1 header.b="AbC+/="',
            PASSED,
        ),
        ("mx.example.org; dkim=pass header.b=AbC== header.d=shop.example", PASSED),
        # OpenDMARC; Rspamd; a version; a quoted name; comments everywhere; capital letters
        (
            "mx.example.org; dmarc=pass (p=reject dis=none) header.from=letters.shop.example",
            Authentication(dmarc="aligned"),
        ),
        (
            "mx.example.org; dkim=pass header.d=shop.example header.s=s1; dmarc=pass (policy=none)"
            " header.from=letters.shop.example; spf=pass (mx: domain of b@shop.example designates 192.0.2.1)"
            " smtp.mailfrom=b@shop.example",
            Authentication("aligned", "pass", "aligned"),
        ),
        # Rspamd quotes addresses, and reasons of several words, in comments too
        (
            'mx.example.org; dkim=fail ("body hash did not verify") header.d=sender.example;'
            " dkim=pass header.d=shop.example header.s=s1;"
            ' spf=pass (mx: domain of "b+you=example.org@shop.example" designates 192.0.2.1 as permitted sender)'
            ' smtp.mailfrom="b+you=example.org@shop.example"',
            Authentication("aligned", "pass"),
        ),
        ('mx.example.org; spf=pass (of "; dkim=pass header.d=shop.example") x=y', Authentication(spf="pass")),
        ("mx.example.org 1; dkim=pass header.d=shop.example", PASSED),
        ("mx.example.org 1; (f) dkim (g) = (h) pass (i) header.d (j (k)) = (l) shop.example (m)", PASSED),
        ("mx.example.org (amavisd-new); dkim=pass (1024-bit key) header.d=shop.example", PASSED),
        ("mx.example.org (d) 1 (e); dkim=pass header.d=shop.example", PASSED),
        ("mx.example.org; dmarc=pass(p=REJECT) header.from=letters.shop.example;", Authentication(dmarc="aligned")),
        ("MX.Example.ORG; DKIM=PASS Header.D=SHOP.example", PASSED),
        ("mx.example.org; dkim/1=pass header.d=shop.example", PASSED),
        ("mx.example.org; dkim=pass header.d=shop.example.", PASSED),
        # a signature for the address alone, or for the domain below or above that of From
        ("mx.example.org; dkim=pass header.i=bounce@shop.example", PASSED),
        ("mx.example.org; dkim=pass header.d=a.letters.shop.example", PASSED),
        # but not for one beside it: these two may be strangers
        ("mx.example.org; dkim=pass header.d=orders.shop.example", Authentication("pass")),
        # several signatures: one of them is enough
        (
            "mx.example.org; dkim=pass header.d=sender.example header.i=@sender.example;"
            " dkim=pass header.d=shop.example",
            PASSED,
        ),
        ('mx.example.org; dkim=fail reason="bad; dkim=pass" header.d=shop.example', Authentication("fail")),
        ("mx.example.org; dkim=fail header.d=a.example; dkim=pass header.d=shop.example", PASSED),
        # another site's signature, or a name that only looks alike
        ("mx.example.org; dkim=pass header.d=sender.example", Authentication("pass")),
        ("mx.example.org; dkim=pass header.d=notshop.example", Authentication("pass")),
        ("mx.example.org; dkim=pass header.d=shop.example.evil.example", Authentication("pass")),
        ("mx.example.org; dkim=pass header.d=example", Authentication("pass")),
        ("mx.example.org; dkim=pass", Authentication("pass")),
        ("mx.example.org; dkim=fail header.d=shop.example", Authentication("fail")),
        ("mx.example.org; dkim=pass (header.d=shop.example)", Authentication("pass")),
        ("mx.example.org; x-dkim=pass header.d=shop.example", NOTHING),
        ("mx.example.org; arc=pass header.d=shop.example", NOTHING),
        ("mx.example.org; dkim=passed header.d=shop.example", Authentication("unknown")),
        # DMARC for another domain, none, or two results, of which one must be forged
        ("mx.example.org; dmarc=pass", Authentication(dmarc="pass")),
        (
            "mx.example.org; dmarc=pass header.from=a.example header.from=letters.shop.example",
            Authentication(dmarc="pass"),
        ),
        ("mx.example.org; dmarc=pass header.from=evil.example", Authentication(dmarc="pass")),
        ("mx.example.org; dmarc=fail header.from=letters.shop.example", Authentication(dmarc="fail")),
        ("mx.example.org; dmarc=pass header.from=letters.shop.example; dmarc=fail", Authentication()),
        # a stranger's words in quotes stay words
        (
            'mx.example.org; spf=pass smtp.mailfrom="a; dkim=pass header.d=shop.example"@evil.example',
            Authentication(spf="pass"),
        ),
        (
            r'mx.example.org; spf=pass smtp.mailfrom="\"; dkim=pass header.d=shop.example"@evil.example',
            Authentication(spf="pass"),
        ),
        # domains that the DNS allows to a stranger, and a selector that looks like one more name
        ("mx.example.org; dkim=pass header.d=shop.example(x).evil.example", Authentication("pass")),
        (
            "mx.example.org; dkim=pass header.d=shop.example(.evil.example header.s=x) header.b=a",
            Authentication("pass"),
        ),
        ("mx.example.org; dkim=pass header.d=shop.example .evil.example header.s=x", Authentication("pass")),
        ("mx.example.org; dkim=pass header.d=shop.example\t.evil.example", Authentication("pass")),
        ("mx.example.org; dkim=pass header.d=shop.example=.evil.example header.s=x", Authentication("pass")),
        ('mx.example.org; dkim=pass header.d=shop.example".evil.example header.s="x', Authentication("pass")),
        ("mx.example.org; dkim=pass header.d=shop.example\u3000.evil.example", Authentication("pass")),
        ("mx.example.org; dkim=pass header.d=shop.example\xa0.evil.example", Authentication("pass")),
        ("mx.example.org; dkim=pass header.d=shop.example\x1c.evil.example", Authentication("pass")),
        ("mx.example.org; dkim=pass header.d=shop.example\0.evil.example", Authentication("pass")),
        ("mx.example.org; dkim=pass header.d=shop.example,.evil.example", Authentication("pass")),
        ("mx.example.org; dkim=pass header.d=evil.example header.s=x header.d=shop.example", Authentication("pass")),
        ("mx.example.org; dkim=pass header.i=@evil.example header.s=x header.d=shop.example", Authentication("pass")),
        ("mx.example.org; dkim=pass header.d=evil.example header.i=@shop.example", Authentication("pass")),
        ("mx.example.org; dkim=pass header.d=shop.example header.i=@evil.example", Authentication("pass")),
        ("mx.example.org; dkim=pass header.d= header.i=@shop.example", Authentication("pass")),
        ("mx.example.org; dmarc=pass header.from=letters.shop.example(x).evil.example", Authentication(dmarc="pass")),
        ("mx.example.org; dmarc=pass header.from=letters.shop.example .evil.example", Authentication(dmarc="pass")),
        ("mx.example.org; dmarc=pass header.from=letters.shop.example=.evil.example", Authentication(dmarc="pass")),
        # words behind a result, where comments belong, change no result
        (
            "mx.example.org; dkim=fail bad key header.d=shop.example; dmarc=fail(x)",
            Authentication("fail", dmarc="fail"),
        ),
        ("mx.example.org; none", NOTHING),
        ("mx.example.org", NOTHING),
        # no field of this server, or a damaged one
        ("other.example; dkim=pass header.d=shop.example", None),
        ("mx.example.org.evil.example; dkim=pass header.d=shop.example", None),
        # the server's name as no server writes it: its own search for strangers' fields may not find it
        ('"mx.example.org" 1; dkim=pass header.d=shop.example', None),
        (r'"mx.ex\ample.org"; dkim=pass header.d=shop.example', None),
        ("(x) mx.example.org; dkim=pass header.d=shop.example", None),
        ("mx.example.org(x); dkim=pass header.d=shop.example", None),
        ("mx.example.org.; dkim=pass header.d=shop.example", None),
        (".mx.example.org; dkim=pass header.d=shop.example", None),
        ("mx.example.org\u3000; dkim=pass header.d=shop.example", None),
        ("mx.example.org\xa0; dkim=pass header.d=shop.example", None),
        ("mx.example.org\x1f; dkim=pass header.d=shop.example", None),
        ("mx.example.org\v; dkim=pass header.d=shop.example", None),
        ("mx.example.org\0; dkim=pass header.d=shop.example", None),
        ("=?utf-8?q?mx=2Eexample=2Eorg?=; dkim=pass header.d=shop.example", None),
        ("mx.example.org 11; dkim=pass header.d=shop.example", None),
        ("mx.example.org 1 1; dkim=pass header.d=shop.example", None),
        ("i=1; mx.example.org; dkim=pass header.d=shop.example", None),
        ("spf=pass smtp.mailfrom=shop.example; dkim=pass header.d=shop.example", None),
        ("mx.example.org 2; dkim=pass header.d=shop.example", None),
        ("mx.example.org other; dkim=pass header.d=shop.example", None),
        ("mx.example.org; dkim=pass header.d=shop.example (", None),
        ("mx.example.org; dkim=pass header.d=shop.example )", None),
        ('mx.example.org; dkim=pass header.d=shop.example reason="', None),
        ('mx.example.org; spf=pass (of "); dkim=pass header.d=shop.example ("@evil.example) x=y', None),
        ('mx.example.org; spf=pass (of "a) b") x=y; dkim=pass header.d=shop.example', None),
        ('mx.example.org; spf=pass (of "(a") b) x=y; dkim=pass header.d=shop.example', None),
        ('mx.example.org; spf=pass (of a"b) x=y; dkim=pass header.d=shop.example', None),
        # "a\"; dkim=pass header.d=shop.example x=\"b"@evil.example, with an escape before each quotation mark alone
        (
            r'mx.example.org; spf=pass smtp.mailfrom="\"a\\"; dkim=pass header.d=shop.example; x=\\"b\"@evil.example"',
            None,
        ),
        (
            r'mx.example.org; spf=pass (of "\"a\\"; dkim=pass header.d=shop.example x=\\"b\"@evil.example") x=y',
            None,
        ),
        ("", None),
        (";", None),
    ],
)
def test_field(field: str, expected: Authentication | None) -> None:
    """A field of the named server says what it found out; only a signature of From's own site is aligned."""
    assert authentication([field], OURS, SENDER) == expected


SHOP = "header.d=shop.example"
FORGED = f"{OURS}; dkim=pass {SHOP}"


@over_rows(
    ("fields", "expected"),
    [
        # one field for each method, by one server or by several of the site, in any order
        ([f"{OURS}; dmarc=pass", f"{OURS}; spf=pass", FORGED], Authentication("aligned", "pass", "pass")),
        (
            [f"{OURS}; bimi=none", "mx2.example.org; arc=none", "example.org; spf=pass", FORGED],
            PASSED._replace(spf="pass"),
        ),
        ([f"{OURS}; x-ptr=pass", f"{OURS} 1; none", FORGED], PASSED),
        # the upper field of a method counts, even if its result is not one
        ([f"{OURS}; dkim=fail", FORGED], Authentication("fail")),
        ([f"{OURS}; dkim=none; spf=pass", FORGED], Authentication("none", "pass")),
        ([f"{OURS}; dkim=passed", FORGED], Authentication("unknown")),
        ([f"{OURS}; dkim=", FORGED], PASSED),
        ([f"{OURS}; dkim=pass header.d=evil.example", FORGED], Authentication("pass")),
        ([f"{OURS}; dmarc=pass; dmarc=fail", f"{OURS}; dmarc=pass"], NOTHING),
        # a field of another site, one without a name or a damaged one: nothing counts from there on
        ([f"{OURS}; spf=pass", "other.example; dkim=none", FORGED], Authentication(spf="pass")),
        ([f"{OURS}; spf=pass", "other.example", FORGED], Authentication(spf="pass")),
        ([f"{OURS}; spf=pass", f"dkim=pass {SHOP}", FORGED], Authentication(spf="pass")),
        ([f"{OURS}; spf=pass", f"{OURS}; dkim=none (", FORGED], Authentication(spf="pass")),
        ([f"{OURS}; spf=pass", "", FORGED], Authentication(spf="pass")),
        ([f"{OURS}; spf=pass", f"{OURS} 2; dkim=none", FORGED], Authentication(spf="pass")),
        (["other.example; dkim=pass", FORGED], None),
        (["other.example; dkim=pass (", FORGED], None),
        ([f"{OURS}; dkim=fail (", FORGED], None),
        (["dkim=none", FORGED], None),
        (["", FORGED], None),
        (["i=1; mx.example.org; dkim=pass", FORGED], None),
        # names that only look like those of the site
        ([f"example.org.evil.example; dkim=pass {SHOP}"], None),
        ([f"notexample.org; dkim=pass {SHOP}"], None),
        ([f"xexample.org; dkim=pass {SHOP}"], None),
        ([f"evil@mx.example.org; dkim=pass {SHOP}"], None),
        ([f"evil.example/mx.example.org; dkim=pass {SHOP}"], None),
        ([f"evil.example:.example.org; dkim=pass {SHOP}"], None),
        ([f"org; dkim=pass {SHOP}"], None),
        ([f"example.com; dkim=pass {SHOP}"], None),
        ([f"mx.example.org@evil.example; dkim=pass {SHOP}"], None),
        ([f"(mx.example.org) evil.example; dkim=pass {SHOP}"], None),
        ([f"evil.example (; mx.example.org;) ; dkim=pass {SHOP}"], None),
        ([f"evil.example mx.example.org; dkim=pass {SHOP}"], None),
        ([f'"evil.example; mx.example.org"; dkim=pass {SHOP}'], None),
        ([f"mx.example.org=evil; dkim=pass {SHOP}"], None),
        ([f"=mx.example.org; dkim=pass {SHOP}"], None),
        ([f"mx.example.orɡ; dkim=pass {SHOP}"], None),
        ([f"mx.example.org\\; dkim=pass {SHOP}"], None),
        ([f"; mx.example.org; dkim=pass {SHOP}"], None),
        ([f"mx.example.org,evil.example; dkim=pass {SHOP}"], None),
        # results that are none
        ([f"{OURS}; dkim=aligned {SHOP}"], Authentication("unknown")),
        ([f"{OURS}; dkim = 'pass' {SHOP}"], Authentication("unknown")),
        ([f"{OURS}; reason=x dkim=pass {SHOP}"], NOTHING),
        ([f"{OURS}; dkim=none (comment; dkim=pass {SHOP})"], Authentication("none")),
        ([f'{OURS}; dkim=none reason="; dkim=pass {SHOP}"'], Authentication("none")),
        ([f"{OURS}; dkim2=pass {SHOP}; arc=pass {SHOP}; x-google-dkim=pass {SHOP}"], NOTHING),
        ([], None),
    ],
)
def test_several_fields(fields: Sequence[str], expected: Authentication | None) -> None:
    """The fields of the site at the top are read together; below a field of anybody else nothing counts."""
    assert authentication(fields, "example.org", SENDER) == expected
    assert authentication(fields, "MX3.Example.org", SENDER) == expected


@over_rows(
    ("named", "server", "is_own"),
    [
        ("mx", "mx", True),
        ("mx", "evil.com.mx", False),
        ("mx.kirk.example", "mx.\u212airk.example", False),  # `lower` makes a k of the Kelvin sign
        ("kirk.example", "MX.KIRK.example", True),
        ("mx.firm.de.com", "mx2.firm.de.com", True),
        ("mx.firm.de.com", "mx.evil.de.com", False),
        ("mx.ville.gouv.fr", "mx.evil.gouv.fr", False),
        ("mx.firm.co.uk", "mx.evil.co.uk", False),
        ("mx01.mail.de", "mx02.mail.de", True),
    ],
)
def test_whose_server_it_is(named: str, server: str, is_own: bool) -> None:
    """A server is of the site of the named one if both have one holder; a name without a dot is no site."""
    assert (authentication([f"{server}; dkim=pass {SHOP}"], named, SENDER) is not None) is is_own


@over_rows(
    ("fields", "expected"),
    [
        ([f"{OURS}; x-ptr=pass", f"{OURS}; bimi=none", FORGED], PASSED),
        ([f"{OURS}; spf=fail", FORGED], Authentication(spf="fail")),
        ([f"{OURS}; spf=fail", "mx2.example.org; dmarc=pass"], Authentication(spf="fail")),
        ([f"{OURS}; dkim=unknown", f"{OURS}; dmarc=pass"], Authentication("unknown")),
        ([OURS, FORGED], NOTHING),
        ([f"{OURS}; none", FORGED], NOTHING),
        ([f"{OURS};", FORGED], NOTHING),
    ],
)
def test_several_fields_below(fields: Sequence[str], expected: Authentication | None) -> None:
    """Where a stranger's field may follow at once, the first with a result of a signature or a path is the last."""
    assert authentication(fields, "example.org", SENDER, are_below=True) == expected


def test_a_field_for_each_method() -> None:
    """iCloud writes a field for each method into every message: there the next ones count, and a stranger's do not."""
    own = ["bimi.icloud.com; bimi=none", "dmarc.icloud.com; dmarc=none", f"dkim-verifier.icloud.com; dkim=pass {SHOP}"]
    assert authentication(own, "icloud.com", SENDER, are_below=True) == Authentication("aligned", dmarc="none")
    failed = [
        *own[:2],
        "dkim-verifier.icloud.com; dkim=none",
        "spf.icloud.com; spf=none",
        own[2],
        "mx.icloud.com; dmarc=pass",
    ]
    assert authentication(failed, "icloud.com", SENDER, are_below=True) == Authentication("none", "none", "none")


NAMELESS = (
    "spf=pass (sender IP is 9.9.9.7) smtp.mailfrom=shop.example; dkim=pass (signature was verified)"
    " header.d=shop.example;dmarc=none action=none header.from=shop.example;compauth=pass reason=100"
)


def test_a_field_without_a_name() -> None:
    """A field without a name counts if the person has named Microsoft, which writes none; then no other counts."""
    for site in ("outlook.com", "Hotmail.com", "namprd11.prod.outlook.com", "live.com"):
        assert authentication([NAMELESS], site, SENDER) == Authentication("aligned", "pass", "none")
        assert authentication([NAMELESS.replace("dkim=pass", "dkim=fail")], site, SENDER) == Authentication(
            "fail", "pass", "none"
        )
        for name in ("outlook.com", "mx.outlook.com", "mx.microsoft.com 1", site):
            assert authentication([f"{name}; {NAMELESS}"], site, SENDER) is None
        assert authentication([f"dkim=pass {SHOP} ("], site, SENDER) is None
        assert authentication([f"; dkim=pass {SHOP}"], site, SENDER) is None
    for site in (OURS, "example.org", "yahoo.com", "outlook.com.example", "notoutlook.com"):
        assert authentication([NAMELESS], site, SENDER) is None


@over_rows(
    ("sender", "domain", "is_aligned"),
    [
        ("a@shop.co.uk", "mail.shop.co.uk", True),
        ("a@mail.shop.co.uk", "shop.co.uk", True),
        ("a@news.shop.co.uk", "mail.shop.co.uk", False),
        ("a@victim.onmicrosoft.com", "evil.onmicrosoft.com", False),
        ("a@impots.gouv.fr", "evil.gouv.fr", False),
        ("a@shop.co.uk", "evil.co.uk", False),
        # from an address right at a name that strangers share
        ("a@gouv.fr", "evil.gouv.fr", False),
        ("a@onmicrosoft.com", "evil.onmicrosoft.com", False),
        ("a@shop.zendesk.com", "zendesk.com", True),
        ("a@bit.example", "bit.example", True),
        ("a@news.dhl.de", "dhl.de", True),
        ("a@dhl.de", "mail.dhl.de", True),
        ("a@bücher.example", "xn--bcher-kva.example", True),
        ("a@bücher.example", "bücher.example", True),
        # letters that two standards of the DNS write differently
        ("a@straße.example", "strasse.example", False),
        ("a@sh\u200dop.example", "shop.example", False),
        ("a@[192.0.2.1]", "192.0.2.1", False),
        ("a@example", "example", False),
        ("", "shop.example", False),
        ("a@", "shop.example", False),
        ("a@..", "..", False),
    ],
)
def test_domains(sender: str, domain: str, is_aligned: bool) -> None:
    """A signature counts if one of the two domains is below the other; two beside each other may be strangers."""
    found = authentication([f"{OURS}; dkim=pass header.d={domain}"], OURS, sender)
    assert found is not None
    assert found.is_aligned is is_aligned


@over_rows(
    ("dmarc", "is_aligned", "is_by_policy"),
    [
        ("fail", False, False),
        ("permerror", False, False),
        ("none", True, False),
        ("temperror", True, False),
        ("bestguesspass", True, False),
        ("pass", True, True),
    ],
)
def test_dmarc_denies(dmarc: str, is_aligned: bool, is_by_policy: bool) -> None:
    """If DMARC fails, or the domain's policy cannot be read, a signature of From's domain does not help.

    Only DMARC that passes is a policy, if the server asks for policies.
    """
    for header_from in (" header.from=shop.example", ""):
        found = authentication([f"{OURS}; dkim=pass {SHOP}; dmarc={dmarc}{header_from}"], OURS, "b@shop.example")
        assert found is not None
        assert (found.is_aligned, found.is_by_policy) == (is_aligned, is_by_policy)
    without = authentication([f"{OURS}; dkim=pass {SHOP}"], OURS, "b@shop.example")
    assert without is not None
    assert without.is_by_policy


@given(st.text(st.sampled_from('mx.example.org;"()\\= \n\tdkim=pass'), max_size=60))
def test_any_text(text: str) -> None:
    """Any text is a field, or none; none raises an error."""
    authentication([text, f"{OURS}{text}", f"{OURS};{text}"], OURS, SENDER)


@pytest.mark.parametrize(
    "unit", ["(", ")(", '"', "\\", ";", "=", "a ", "dkim=pass header.d=a.example;", 'a="b";', "(a)"]
)
def test_a_long_field(unit: str) -> None:
    """A field of twice the length takes at most about twice the work, whatever it holds."""

    def lines(length: int) -> int:
        field = f"{OURS};{unit * (length // len(unit))}"
        return lines_run(lambda: authentication([field], OURS, SENDER))

    assert lines(4000) < 2.2 * lines(2000) + 100


OWN = b"Received: from mx.example.org (localhost [127.0.0.1]) by store.example.org with LMTP; Mon, 1 Jun 2026\n"
BORDER = b"Received: from x (out.b.example [9.9.9.7]) by mx.example.org (Postfix) with ESMTP id 2; Mon, 1 Jun 2026\n"
BEFORE = b"Received: from laptop ([9.9.8.7]) by out.b.example with ESMTP id 3; Mon, 1 Jun 2026\n"
RESULTS = b"Authentication-Results: mx.example.org;\n\tdkim=pass header.d=shop.example\n"
FORGED = b"Authentication-Results: mx.example.org; dkim=pass header.d=forged.example\n"


@pytest.mark.parametrize("header", [RESULTS + OWN + BORDER, OWN + RESULTS + BORDER + BEFORE, OWN + BORDER + RESULTS])
def test_a_field_of_the_own_server(header: bytes) -> None:
    """A field counts above the Received field of the person's server, or right below it."""
    found = read_content(header + BEFORE + FORGED + b"From: a@shop.example\n\nhello\n").relations.results
    assert found == ("mx.example.org; dkim=pass header.d=shop.example",)


@pytest.mark.parametrize(
    "header", [OWN + BORDER + BEFORE + FORGED, OWN + FORGED, FORGED, BORDER + BEFORE + BEFORE + FORGED]
)
def test_a_field_that_came_with_the_mail(header: bytes) -> None:
    """A field below the Received field of another server is a stranger's; so are all if no server is named."""
    assert read_content(header + b"From: a@shop.example\n\nhello\n").relations.results == ()


def test_encoded_words_stay_as_they_are() -> None:
    """A field is not decoded, or a stranger's address could write a result (RFC 8601, 2.2 has no encoded words)."""
    value = b"mx.example.org; spf=pass smtp.mailfrom==?utf-8?q?a=3B_dkim=3Dpass_header=2Ed=3Dshop=2Eexample?=@b.example"
    raw = (
        b"Authentication-Results: "
        + value
        + b"\n"
        + BORDER
        + b"Subject: =?utf-8?q?caf=C3=A9?=\nFrom: a@shop.example\n\nhi\n"
    )
    assert read_content(raw).relations.results == (value.decode(),)
