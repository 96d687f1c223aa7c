"""What present-day sending systems add to a letter, to honest mail and spam in the same way.

The forms are those of large senders, relays, mailbox providers, code forges and own servers; their names are made up.
Where the reader asks for a public address, it is that of a public resolver.
"""

import re
from collections.abc import Callable
from datetime import timedelta, timezone
from urllib.parse import quote

from tests.mail.today.mime import PERSON, Draft, Ids, content, encoded, encoded_sender, stamp

System = Callable[[Draft], bytes]
_LINK = re.compile(r"\[\[(.*?)\]\]")


def numbered_sender(draft: Draft) -> bytes:
    """A sender for others that numbers its customers in host names: u48300791.ct.mailgrid.example."""
    ids = Ids(draft.name)
    customer = ids.digits(8)
    tracker = f"https://u{customer}.ct.mailgrid.example"
    host = f"o{ids.digits(1)}.ptr{ids.digits(4)}.mailgrid.example"
    pod = f"geopod-ismtp-{ids.digits(2)}"

    def tracked(_: str) -> str:
        return f"{tracker}/ls/click?upn=u001.{ids.mixed(90)}-2F{ids.mixed(60)}-3D-3D"

    pixel = f'<img src="{tracker}/wf/open?upn=u001.{ids.mixed(80)}" alt="" width="1" height="1" border="0">'
    fields = [
        f"Return-Path: <bounces+{customer}-{ids.hexadecimal(4)}-anna.lind=home.example@em{ids.digits(4)}.{draft.site}>",
        _delivered(draft, ids, host, "208.67.222.222"),
        f"Received: by recvd-{ids.hexadecimal(10)}-{ids.mixed(5)} with SMTP id recvd-{ids.hexadecimal(10)}-1-3D\n"
        f"\t{ids.day():%Y-%m-%d %H:%M}:03.917416271 +0000 UTC m=+{ids.digits(6)}.{ids.digits(9)}",
        f"Received: from {ids.mixed(11)} (unknown)\n\tby {pod} (SG) with HTTP\n\tid {ids.mixed(22)}\n"
        f"\t{ids.day():%a, %d %b %Y %H:%M}:02.334 +0000 (UTC)",
        _signature(ids, draft.site, "s1"),
        *_written(draft, f"{ids.mixed(22)}@{pod}"),
        f"Feedback-ID: {customer}:SG",
        f"X-SG-EID: u001.{ids.mixed(100)}",
        f"X-Entity-ID: u001.{ids.mixed(22)}==",
        f"List-Unsubscribe: <{tracker}/asm/unsubscribe/?data={ids.mixed(60)}>",
        "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
    ]
    return _sent(fields, draft, ids.hexadecimal(64), tracked, pixel)


def cloud_sender(draft: Draft) -> bytes:
    """A sender for programs, with a hexadecimal Message-ID and a tracker that has its target."""
    ids = Ids(draft.name)
    host = f"a{ids.digits(1)}-{ids.digits(3)}.smtp-out.eu-west-1.cloudmail.example"
    key = f"0102019{ids.hexadecimal(9)}-{ids.uuid()}-000000"

    def tracker() -> str:
        return f"https://{ids.mixed(8).lower()}.r.eu-west-1.cloudtrack.example"

    def tracked(url: str) -> str:
        return f"{tracker()}/L0/{quote(url, safe='')}/1/{key}/{ids.mixed(27)}=412"

    pixel = (
        f'<img alt="" src="{tracker()}/I0/{key}/{ids.mixed(27)}=412" style="display: none; width: 1px; height: 1px;">'
    )
    fields = [
        f"Return-Path: <{key}@bounce.{draft.site}>",
        _delivered(draft, ids, host, "8.8.4.4"),
        _signature(ids, draft.site, ids.mixed(32).lower()),
        _signature(ids, "cloudmail.example", ids.mixed(32).lower()),
        *_written(draft, f"{key}@eu-west-1.cloudmail.example"),
        f"Feedback-ID: ::1.eu-west-1.{ids.mixed(43)}=:CloudMail",
        "X-CLM-Outgoing: 2026.06.01-8.8.4.4",
    ]
    return _sent(fields, draft, f"----=_Part_{ids.digits(7)}_{ids.digits(9)}.1780300881449", tracked, pixel)


def list_sender(draft: Draft) -> bytes:
    """A sender of newsletters that writes its ids into X-Mailer, List-ID and each link."""
    ids = Ids(draft.name)
    account, audience, campaign, reader = (ids.hexadecimal(length) for length in (25, 10, 10, 10))
    host = f"mail{ids.digits(3)}.suw{ids.digits(2)}.mlist.example"
    pages = f"https://{draft.site.partition('.')[0]}.us13.list-manage.example"

    def tracked(_: str) -> str:
        return f"{pages}/track/click?u={account}&id={ids.hexadecimal(10)}&e={reader}"

    pixel = f'<img src="{pages}/track/open.php?u={account}&id={campaign}&e={reader}" height="1" width="1" alt="">'
    fields = [
        f"Return-Path: <bounce-mc.us13_{ids.digits(8)}.{ids.digits(7)}-{reader}@{host}>",
        _delivered(draft, ids, host, "9.9.9.9"),
        _signature(ids, draft.site, "k1"),
        *_written(draft, f"{account}.{audience}.20260601080121.{reader}.{ids.hexadecimal(8)}@{host}"),
        f"X-Mailer: ListMonkey Mailer - **CID{campaign}{ids.hexadecimal(10)}**",
        f"X-Campaign: listmonkey{account}.{campaign}",
        f"X-MC-User: {account}",
        f"Feedback-ID: {ids.digits(8)}:{ids.digits(8)}.{ids.digits(6)}:us13:mc",
        f"List-ID: {account}mc list <{account}.{ids.digits(6)}.list-id.mlist.example>",
        f"List-Unsubscribe: <{pages}/unsubscribe?u={account}&id={audience}&t=b&e={reader}&c={campaign}>,"
        f" <mailto:unsubscribe-mc.us13_{account}.{campaign}-{reader}@unsubscribe.mlist.example?subject=unsubscribe>",
        "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
    ]
    return _sent(fields, draft, f"_----------=_MCPart_{ids.digits(10)}", tracked, pixel)


def web_mailbox(draft: Draft) -> bytes:
    """A mailbox at a large provider, used by browser or telephone."""
    ids = Ids(draft.name)
    host = f"mail-lf1-f{ids.digits(2)}.webpost.example"
    fields = [
        _delivered(draft, ids, host, "8.8.8.8"),
        f"Received: by {host} with SMTP id 2adb3069b0e04-{ids.hexadecimal(12)}so{ids.digits(7)}e87.1\n"
        f"        for <anna.lind@home.example>; {stamp(ids.day())}",
        _signature(ids, "webpost.example", "20230601"),
        f"X-Gm-Message-State: AOJu0Y{ids.mixed(70)}",
        f"X-Received: by 2002:a05:6512:{ids.hexadecimal(4)}:b0:{ids.hexadecimal(3)}:{ids.hexadecimal(4)} with SMTP id"
        f" {ids.mixed(27)}-{ids.mixed(27)}mr{ids.digits(6)}e87.4",
        *_written(draft, f"CAB+{ids.mixed(5)}={ids.mixed(44)}@mail.webpost.example", 2),
    ]
    return _sent(fields, draft, f"000000000000{ids.hexadecimal(16)}")


def office_server(draft: Draft) -> bytes:
    """A mailbox of an office at a large provider, whose inner hosts are named by machine."""
    ids = Ids(draft.name)
    outer, inner = (f"{place}PR08MB{ids.digits(4)}.eurprd08.prod.outpost.example" for place in ("VI1", "AM0"))
    host = f"mail-vi1eur04on{ids.digits(4)}.outbound.protection.outpost.example"
    machine = inner.partition(".")[0]
    at = stamp(ids.day())
    fields = [
        _delivered(draft, ids, host, "1.1.1.1", "EUR04-VI1-obe.outbound.protection.outpost.example"),
        f"Received: from {inner} (2603:10a6:208:fa::{ids.hexadecimal(2)})\n"
        f" by {outer} (2603:10a6:803:7b::{ids.hexadecimal(2)}) with\n"
        f" Microsoft SMTP Server (version=TLS1_2, cipher=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384)\n"
        f" id 15.20.7611.31; {at}",
        f"Received: from {inner}\n ([fe80::{ids.hexadecimal(4)}:{ids.hexadecimal(4)}:{ids.hexadecimal(4)}%4]) by"
        f" {inner}\n ([fe80::{ids.hexadecimal(4)}:{ids.hexadecimal(4)}%4]) with mapi id 15.20.7611.030; {at}",
        _signature(ids, draft.site, "selector1"),
        *_written(draft, f"{machine}{ids.hexadecimal(24).upper()}@{inner}"),
        f"Thread-Topic: {encoded(draft.subject)}",
        f"Thread-Index: Ada{ids.mixed(20)}==",
        "Accept-Language: en-GB, en-US",
        "Content-Language: en-GB",
        "X-MS-Has-Attach: " + ("yes" if draft.attached else ""),
    ]
    return _sent(fields, draft, f"_004_{machine}{ids.hexadecimal(24).upper()}{inner[:4].lower()}_")


def code_forge(draft: Draft) -> bytes:
    """A forge of code that tells what others wrote about a repository."""
    ids = Ids(draft.name)
    number = ids.digits(3)
    fields = [
        _delivered(draft, ids, f"out-{ids.digits(2)}.smtp.codeforge.example", "208.67.220.220"),
        _signature(ids, "codeforge.example", "pf2023"),
        *_written(draft, f"lind/harbour/issues/{number}/{ids.digits(10)}@codeforge.example"),
        f"In-Reply-To: <lind/harbour/issues/{number}@codeforge.example>",
        f"References: <lind/harbour/issues/{number}@codeforge.example>",
        "Precedence: list",
        "X-CodeForge-Reason: subscribed",
        "List-ID: lind/harbour <harbour.lind.codeforge.example>",
        "List-Archive: https://codeforge.example/lind/harbour",
        f"List-Unsubscribe: <mailto:unsub+{ids.mixed(42).lower()}@reply.codeforge.example>,"
        f" <https://codeforge.example/notifications/unsubscribe/{ids.mixed(42)}>",
    ]
    return _sent(fields, draft, f"--==_mimepart_{ids.hexadecimal(13)}_{ids.hexadecimal(8)}")


def report_sender(draft: Draft) -> bytes:
    """A program of a provider that sends a report a day."""
    ids = Ids(draft.name)
    fields = [
        _delivered(draft, ids, f"mail-qk1-f{ids.digits(2)}.webpost.example", "8.8.8.8"),
        _signature(ids, "webpost.example", "20230601"),
        *_written(draft, f"{ids.digits(20)}@webpost.example"),
        "Auto-Submitted: auto-generated",
    ]
    return _sent(fields, draft, f"00000000000{ids.hexadecimal(17)}")


def own_server(draft: Draft) -> bytes:
    """A server of somebody's own, with Postfix, whose user writes in Thunderbird."""
    ids = Ids(draft.name)
    host = f"mail.{draft.site}"
    fields = [
        _delivered(draft, ids, host, "64.6.64.6"),
        f"Received: from [192.168.178.{ids.digits(2)}] (host-{ids.digits(2)}.dsl.example [9.9.9.{ids.digits(2)}])\n"
        f"\tby {host} (Postfix) with ESMTPSA id 4V{ids.mixed(10)};\n\t{stamp(ids.day())}",
        *_written(draft, f"{ids.uuid()}@{draft.site}", 2),
        "User-Agent: Mozilla Thunderbird",
        "Content-Language: en-GB",
    ]
    return _sent(fields, draft, f"------------{ids.mixed(24)}")


def rented_server(draft: Draft) -> bytes:
    """A rented server with Exim, on which a program of a web site writes."""
    ids = Ids(draft.name)
    host = f"server{ids.digits(2)}.rented.example"
    fields = [
        _delivered(draft, ids, host, "64.6.65.6"),
        f"Received: from {draft.site.partition('.')[0]} by {host} with local (Exim 4.96)\n"
        f"\t(envelope-from <{draft.site.partition('.')[0]}@{host}>)\n\tid 1s{ids.mixed(4)}-00{ids.mixed(4)}-2A\n"
        f"\tfor anna.lind@home.example; {stamp(ids.day())}",
        "X-PHP-Script: www.rented.example/index.php for 192.0.2.7",
        *_written(draft, f"{ids.mixed(43)}@{draft.site}"),
        "X-Mailer: PHPMailer 6.9.1 (https://phpmailer.example/)",
        "X-Priority: 3",
    ]
    return _sent(fields, draft, f"b1_{ids.mixed(43)}")


def over_ipv6(draft: Draft) -> bytes:
    """A relay reached over IPv6, of a server without a name."""
    ids = Ids(draft.name)
    day = stamp(ids.day() + timedelta(minutes=draft.late))
    fields = [
        f"Received: from smtp.{draft.site} (unknown [IPv6:2606:4700:4700::1111])\n"
        f"\tby mx.home.example (Postfix) with ESMTPS id {ids.mixed(11)}\n\tfor <anna.lind@home.example>; {day}",
        f"Received: from authenticated-user (PRIMARY_HOSTNAME [IPv6:2620:fe::fe])\n"
        f"\tby smtp.{draft.site} (Postfix) with ESMTPSA id {ids.hexadecimal(10).upper()}; {day}",
        *_written(draft, f"{ids.digits(14)}.{ids.hexadecimal(10).upper()}@smtp.{draft.site}"),
    ]
    return _sent(fields, draft, f"=_{ids.hexadecimal(32)}")


def _delivered(draft: Draft, ids: Ids, host: str, address: str, calls_itself: str = "") -> str:
    """The field that the person's own server wrote."""
    when = stamp(ids.day() + timedelta(minutes=draft.late, seconds=9))
    return (
        f"Received: from {calls_itself or host} ({host} [{address}])\n"
        f"\t(using TLSv1.3 with cipher TLS_AES_256_GCM_SHA384 (256/256 bits))\n"
        f"\tby mx.home.example (Postfix) with ESMTPS id 4V{ids.mixed(10)}\n"
        f"\tfor <anna.lind@home.example>; {when}"
    )


def _signature(ids: Ids, site: str, selector: str) -> str:
    """A signature (RFC 6376) that nobody can check."""
    return (
        f"DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d={site}; s={selector};\n"
        f"\th=from:to:subject:date:message-id;\n\tbh={ids.mixed(43)}=;\n\tb={ids.mixed(60)}\n\t {ids.mixed(60)}=="
    )


def _written(draft: Draft, message_id: str, zone: int = 0) -> list[str]:
    """The fields of whoever wrote it, so many hours east of Greenwich."""
    fields = [
        f"Date: {stamp(Ids(draft.name).day().astimezone(timezone(timedelta(hours=zone))))}",
        f"From: {encoded_sender(draft.sender)}",
        f"To: {PERSON}",
        f"Message-ID: <{message_id}>",
        f"Subject: {encoded(draft.subject)}",
        "MIME-Version: 1.0",
    ]
    return [*fields, f"Reply-To: {draft.reply_to}"] if draft.reply_to else fields


def _sent(
    fields: list[str], draft: Draft, boundary: str, tracked: Callable[[str], str] = str, pixel: str = ""
) -> bytes:
    text, html = (_LINK.sub(lambda link: tracked(link[1]), written) for written in (draft.text, draft.html))
    if html and pixel:
        html = html.replace("</body>", f"{pixel}\n</body>")
    return "\n".join([*fields, ""]).encode() + content(draft, boundary, text, html)
