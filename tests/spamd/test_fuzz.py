"""Requests by a stranger: whatever is sent, the answer has its form, others are answered, and nothing is left over."""

import random
import zlib

import pytest

from spamnb.cli.common.sample_mail import message
from tests.patience import until
from tests.spamd.conftest import Service, request

_ANSWERS = (b"SPAMD/1.1 0 EX_OK\r\n", b"SPAMD/1.5 0 PONG\r\n", b"SPAMD/1.0 69 ", b"SPAMD/1.0 76 ", b"SPAMD/1.0 79 ")
_COMMANDS = ["CHECK", "SYMBOLS", "REPORT", "REPORT_IFSPAM", "HEADERS", "PROCESS", "TELL", "PING", "SKIP", "EAT", ""]
_FIELDS = [
    *("Set: local", "Remove: local", "Set: local,remote", "Message-class: spam", "Message-class: ham"),
    *("Message-class: \xff", "Compress: zlib", "Compress: gzip", "Content-length: 5", "Content-length: 99999999999"),
    *("User: ../../x", "User: \x00", ": x", "X" * 9000, "Content-length: -1", "Header: \x1b[2J", ""),
]


def strange_request(choose: random.Random) -> bytes:
    """Return nearly a request: random fields, false lengths, and bytes changed, left out or doubled."""
    mail = message(choose.choice(("ham", "spam")), choose.randrange(50))[: choose.randrange(1, 1000)]
    if choose.random() < 0.2:
        mail = zlib.compress(mail)[: choose.randrange(1, 300)]
    fields = choose.sample(_FIELDS, choose.randrange(4))
    version = choose.choice(("1.5", "1.2", "1.3", "0.0", "99.1", "x"))
    sent = bytearray(request(choose.choice(_COMMANDS), mail, version, *fields, length=choose.random() < 0.7))
    for _ in range(choose.choice((0, 0, 1, 5))):
        at = choose.randrange(len(sent) + 1)
        sent[at : at + choose.randrange(3)] = choose.randbytes(choose.randrange(3))
    return bytes(sent)


def attack(service: Service, number: int, seed: int) -> None:
    """Send so many; every answer is whole or none, and errors have no empty line."""
    choose = random.Random(seed)
    for _ in range(number):
        sent = strange_request(choose)
        got = service.ask(sent)
        assert got == b"" or got.startswith(_ANSWERS), (sent, got)
        if got.startswith(b"SPAMD/1.0"):
            assert got.endswith(b"\r\n"), (sent, got)
            assert got.count(b"\n") == 1, (sent, got)
    assert b"Spam: True" in service.ask(request("CHECK", message("spam", 900)))
    assert service.spamd._running is not None
    server = service.spamd._running[0]
    until(lambda: not server._connections, "all connections to be closed")
    assert server._held == 0
    with service.ledger() as ledger:
        assert ledger.lessons.verify() == []


def test_strange_requests(service: Service) -> None:
    """Hundreds of strange requests do not change the service."""
    attack(service, 400, seed=1)


@pytest.mark.slow
def test_very_many_strange_requests(service: Service) -> None:
    """A hundred thousand strange requests do not change it either."""
    attack(service, 100_000, seed=2)
