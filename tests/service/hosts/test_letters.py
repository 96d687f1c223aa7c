"""Letters for a user of a host, if the administrator switches them on in this user's settings."""

from collections.abc import Callable
from pathlib import Path

from spamnb.ledger.ledger import Ledger
from spamnb.review.period import Month
from tests.service.hosts.inn import DAY, Desk

ONE, OTHER = "u00@one.example", "u01@two.example"
OURS = b"Auto-Submitted: auto-generated"


def letters(desk: Desk, name: str) -> list[Path]:
    """The files of letters in a user's inbox."""
    inbox = desk.root(name)
    files = [path for subdir in ("new", "cur") for path in (inbox / subdir).iterdir()]
    return [path for path in files if OURS in path.read_bytes()]


def test_for_one_user(desk_of: Callable[[int], Desk]) -> None:
    """The user gets a letter after the month, without commands in it, and others none; the row says if it was read."""
    desk = desk_of(2)
    own = desk.directory / "own"
    own.mkdir(mode=0o700)
    (own / f"{ONE}.yaml").write_text("service: {statement: monthly}\n")
    desk.configure("service: {reconcile_seconds: 1800}", users=f"own: '{own}/{{user}}.yaml'")
    desk.ahead += Month.of(desk.now()).next.since - desk.now() + DAY
    desk.start()
    desk.settle()
    desk.pass_time(DAY)
    desk.deliver_to_all()
    desk.settle()
    desk.ahead += Month.of(desk.now()).next.since - desk.now()
    desk.pass_time(DAY)
    (letter,) = letters(desk, ONE)
    assert letters(desk, OTHER) == []
    text = letter.read_bytes()
    assert b"1 message moved to Junk" in text
    assert b"spamnb statement" not in text
    assert desk.rows()[ONE].letter_at is not None
    assert not desk.rows()[ONE].letter_read
    letter.rename(letter.parent.parent / "cur" / f"{letter.name}:2,S")
    desk.pass_time(DAY)
    assert desk.rows()[ONE].letter_read
    assert desk.rows()[OTHER].letter_at is None
    with Ledger(str(desk.ledger(ONE)), only_read=True) as ledger:
        assert ledger.state.told is not None
