"""How the search for slow messages treats its inputs."""

from pathlib import Path

from tests.fuzz.growth import MARK, SIZES, grown
from tests.fuzz.slow import Slowest


def test_what_is_between_the_marks_is_repeated() -> None:
    """An input becomes a message of its size, whose middle is repeated."""
    message = grown(b"\0head" + MARK + b"unit" + MARK + b"end")
    assert message.startswith(b"headunitunit")
    assert message.endswith(b"unitend")
    assert SIZES[0] - 4 <= len(message) <= SIZES[0]
    assert len(grown(b"\1a\nb")) == SIZES[1]
    assert grown(b"") == b"\n" + b"a" * (SIZES[0] - 1)


def test_a_message_that_is_slower_than_all_before_is_kept(tmp_path: Path) -> None:
    """The slowest message so far is kept, and others are not."""
    slowest = Slowest(tmp_path / "slowest", least=0.0)
    slow = b"\1Content-Type: text/html\n\n" + MARK + b"<div>x " + MARK
    slowest(slow)
    slowest(b"\1Subject: x\n\nwords")
    (kept,) = (tmp_path / "slowest").iterdir()
    assert kept.read_bytes() == grown(slow)
