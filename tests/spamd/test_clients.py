"""Clients that cannot be run here: the requests that they are known to send, against what they are known to accept.

The forms are those of recorded sessions (Exim 4.96, spamc 4.0.1) and of the clients' sources (Haraka's
plugins/spamassassin.js, amavisd-new's SpamdClient.pm, npm's spamc 0.0.5 and spamc-stream 1.0.3); the messages
are made up.
"""

import re

import pytest

from spamnb.cli.common.sample_mail import message
from tests.spamd.conftest import Service, exchange, request

SPAM, HAM = message("spam", 900), message("ham", 900)


def lengthy(*lines: str, mail: bytes) -> bytes:
    """A request with its message's length as the last field."""
    return "".join(f"{line}\r\n" for line in (*lines, f"Content-length: {len(mail)}")).encode() + b"\r\n" + mail


@pytest.mark.parametrize(("mail", "is_spam"), [(SPAM, True), (HAM, False)])
def test_exim(service: Service, mail: bytes, is_spam: bool) -> None:
    """Exim's scan of the DATA ACL: spam.c's `sscanf` finds both numbers, and compares them itself."""
    spooled = (
        b"From MAILER-DAEMON Sat Nov 21 19:44:15 2026\nX-Envelope-From: <anna@example.org>\n"
        b"X-Envelope-To: bob@example.net\nReceived: from [192.0.2.1] (helo=x ident=root)\n\tby mx.example.net"
        b" with esmtp (Exim 4.96)\n\tid 1xUr0R-0002sK-2A\n\tfor bob@example.net;\n\tSat, 21 Nov 2026 19:44:15 +0000\n"
        + mail
    )
    got = service.ask(lengthy("REPORT SPAMC/1.2", "User: bob", mail=spooled))
    found = re.match(rb"SPAMD/(\S{1,7}) 0 EX_OK\r\nSpam: \S+ ; (-?[\d.]+) / (-?[\d.]+)\r\n\r\n", got)
    assert found, got
    assert (float(found[2]) >= float(found[3])) == is_spam
    report = got[found.end() :]
    assert len(got) < 32_599
    assert report.startswith(b"spamnb ")
    assert not re.search(rb"^[\w-]+: EX_|^\r?\n\r?\n", report)


@pytest.mark.parametrize(("mail", "is_spam"), [(SPAM, True), (HAM, False)])
def test_haraka(service: Service, mail: bytes, is_spam: bool) -> None:
    """Haraka sends no length, reads lines up to the empty one, then fields that begin with X-Spam."""
    sent = b"HEADERS SPAMC/1.4\r\nUser: bob\r\n\r\n" + mail.replace(b"\n", b"\r\n")
    lines = service.ask(sent).decode().split("\r\n")
    assert re.fullmatch(r"SPAMD/\d\.\d 0 EX_OK", lines[0])
    found = re.search(r"(\w+) ; (-?\d+\.\d) / (-?\d+\.\d)", lines[2])
    assert found
    assert found[1] == str(is_spam)
    fields = {name: value for name, _, value in (line.partition(": ") for line in lines[4:]) if name}
    assert fields["X-Spam-Status"].startswith("Yes" if is_spam else "No")
    assert re.search(r"tests=([^ ]+)", fields["X-Spam-Status"])
    assert ("X-Spam-Flag" in fields) == is_spam


@pytest.mark.parametrize(("mail", "is_spam"), [(SPAM, True), (HAM, False)])
def test_amavis(service: Service, mail: bytes, is_spam: bool) -> None:
    """amavis keeps its half of the stream open, and reads as much as the length says."""
    with service.connect() as client:
        got = exchange(client, lengthy("SYMBOLS SPAMC/1.3", mail=mail), ends=False)
    head, _, body = got.partition(b"\r\n\r\n")
    found = re.search(rb"^Content-length: (\d+)\r\nSpam: (True|False) ; (\S+) / (\S+)$", head, re.MULTILINE)
    assert found, got
    assert int(found[1]) == len(body)
    assert found[2] == str(is_spam).encode()
    assert re.split(rb"\s*,\s*", body) == [b"SPAMNB_SPAM" if is_spam else b"SPAMNB_HAM", b""]  # Perl drops the last


# npm's spamc and spamc-stream take all lines of an answer up to a CR LF for one, and look in this order.
_NPM_NAMES = re.compile(r"[A-Z0-9_]+,")
_NPM_RULES = re.compile(r"[\s-]([0-9.]+)\s([A-Z0-9_]+)\s([^:]+):\s([^\n]+)")


@pytest.mark.parametrize("mail", [SPAM, HAM, message("ham", 5), b"Subject: 1,000 FREE, A_B, 7,\n\nTEN, 20, MORE_,\n"])
def test_npm(service: Service, mail: bytes) -> None:
    """npm's clients find the verdict's name and every rule of a report, whatever the message contains."""
    names = service.ask(request("SYMBOLS", mail)).decode().split("\r\n")
    assert [_NPM_NAMES.findall(line) for line in names if _NPM_NAMES.search(line)] in (
        [["SPAMNB_SPAM,"]],
        [["SPAMNB_HAM,"]],
        [["SPAMNB_UNSURE,"]],
    )
    (text,) = service.ask(request("REPORT", mail)).decode().split("\r\n")[4:]
    assert not _NPM_NAMES.search(text)
    rules = _NPM_RULES.findall(text)
    assert [name for _, name, _, _ in rules] == re.findall(r"^[ -]*[0-9.]+ (SPAMNB_\w+)", text, re.MULTILINE)
    assert {"SPAMNB_START"} <= {name for _, name, _, _ in rules}


_OK = rb"SPAMD/1\.1 0 EX_OK\r\n"
_SPAM = rb"Spam: True ; 9\.9 / 5\.0\r\n\r\n"
_LONG = _OK + rb"Content-length: \d+\r\n" + _SPAM


@pytest.mark.parametrize(
    ("lines", "accepted"),
    [
        (["CHECK SPAMC/1.5"], _OK + _SPAM),
        (["SYMBOLS SPAMC/1.5"], _LONG + b"SPAMNB_SPAM,"),
        (["REPORT_IFSPAM SPAMC/1.5"], _LONG + b"spamnb .*"),
        (["PROCESS SPAMC/1.5"], _LONG + b"X-Spamnb: .*"),
        (["TELL SPAMC/1.5", "Message-class: spam", "Set: local"], _OK + rb"DidSet: local\r\n\r\n"),
        (["TELL SPAMC/1.5", "Remove: local"], _OK + rb"\r\n"),
        (["TELL SPAMC/1.5", "Message-class: spam", "Set: local,remote"], _OK + rb"DidSet: local\r\n\r\n"),
    ],
)
def test_spamc(service: Service, lines: list[str], accepted: bytes) -> None:
    """spamc's requests are read field by field in its order, and answered as it expects."""
    got = service.ask(lengthy(*lines, "User: bob@example.net", mail=SPAM))
    assert re.fullmatch(accepted, got, re.DOTALL), got
