"""Asking a service for a verdict by the spamd protocol: the request, and the answers that count."""

from pathlib import Path

import pytest

from spamnb.base.label import Verdict
from spamnb.delivery.spamc import ask
from spamnb.delivery.verdict import Delivered
from tests.delivery.server import Answer, granted, serving, verdict_of

MESSAGE = b"To: you\nSubject: hello\n\nX-Spamnb: not in the header\n"
HEADER = MESSAGE.index(b"\n\n") + 1
SPAM = Delivered(Verdict.SPAM, 0.9987, 8.7)
TOLD = b"X-Spamnb: spam, probability=0.998700, score=8.7, version=0.1.0\n"


def asked(address: str, seconds: float = 10.0) -> Delivered | None:
    """The answer to the message."""
    return ask([address], [MESSAGE[:9], memoryview(MESSAGE)[9:]], HEADER, "anna", seconds)


@pytest.mark.parametrize("by_path", [True, False])
def test_a_verdict(tmp_path: Path, by_path: bool) -> None:
    """The message is sent as HEADERS with its length, and the verdict that comes in the header is taken."""
    with serving(verdict_of(SPAM), tmp_path / "socket" if by_path else None) as requests:
        assert asked(requests.address) == SPAM
    head = b"HEADERS SPAMC/1.5\r\nUser: anna\r\nContent-length: %d\r\n\r\n" % len(MESSAGE)
    assert requests == [head + MESSAGE]


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SPAMD/1.0 76 Bad header line: (why)\r\n",
        b"SPAMD/1.0 69 Service Unavailable: why\r\n\r\n",
        b"220 mail.example ESMTP\r\n\r\n",
        granted(b"To: you\n\n"),
        granted(TOLD + TOLD + b"To: you\n\n"),
        granted(TOLD + b"To: you\n\n", more=1),
        granted(TOLD + b"To: you\n\n", more=-1),
        granted(TOLD + b"To: you\n\n").replace(b"Content-length", b"X-length"),
        granted(TOLD + b"To: you\n\n").replace(b" 0 EX_OK", b" 69 no"),
        granted(TOLD.replace(b"spam", b"unknown", 1) + b"To: you\n\n"),
        granted(TOLD.replace(b"8.7", b"many") + b"To: you\n\n"),
        granted(TOLD + b"To: you\n\n" + b"a" * 100_000),
        granted(TOLD + b"To: you\n\n")[:40],
        b"\0" * 10_000_000,
    ],
    ids=[
        "nothing",
        "76",
        "69",
        "smtp",
        "no-verdict",
        "two-verdicts",
        "cut-short",
        "too-long",
        "no-length",
        "refused",
        "unknown",
        "no-number",
        "too-much",
        "broken-off",
        "endless",
    ],
)
def test_no_verdict(tmp_path: Path, answer: bytes) -> None:
    """An incomplete answer, a refusal, and one with no verdict or two do not count."""
    with serving(lambda _: answer, tmp_path / "socket") as requests:
        assert asked(requests.address) is None


def test_crlf(tmp_path: Path) -> None:
    """The header comes back in the line ends of the message."""
    message = MESSAGE.replace(b"\n", b"\r\n")
    with serving(verdict_of(SPAM), tmp_path / "socket") as requests:
        assert ask([requests.address], [message], HEADER + 2, "anna", 10.0) == SPAM


def test_a_silent_service(tmp_path: Path) -> None:
    """A service that accepts and does not answer is waited for so long, in all."""
    with serving(None, tmp_path / "socket") as requests:
        assert asked(requests.address, 0.2) is None


def test_a_service_that_refuses_at_once(tmp_path: Path) -> None:
    """A refusal that comes before the message is read ends the attempt, however long the message is."""
    with serving(None, tmp_path / "socket", early=b"SPAMD/1.0 69 Service Unavailable: full\r\n") as requests:
        assert ask([requests.address], [b"To: you\n\n", b"a" * 20_000_000], 8, "anna", 10.0) is None


def test_the_first_that_answers(tmp_path: Path) -> None:
    """Addresses are tried in order: one that does not listen or refuses is passed over."""
    refusal: Answer = lambda _: b"SPAMD/1.0 69 no\r\n"  # noqa: E731
    with serving(refusal, tmp_path / "first") as first, serving(verdict_of(SPAM)) as second:
        addresses = [str(tmp_path / "none"), str(tmp_path), "127.0.0.1:1", first.address, second.address]
        assert ask(addresses, [MESSAGE], HEADER, "anna", 10.0) == SPAM
    assert (len(first), len(second)) == (1, 1)
    assert ask([], [MESSAGE], HEADER, "anna", 10.0) is None
