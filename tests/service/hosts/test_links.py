"""A user of a host puts a link to a neighbour's mail in the place of an own directory while the service is at work."""

from collections.abc import Callable
from pathlib import Path

import pytest

from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import create_folder
from tests.service.hosts.inn import ROLES, Desk

ATTACKER, NEIGHBOUR = "u03@two.example", "u01@two.example"


class Swap:
    """A directory of the attacker, and the neighbour's of the same name. at: a part of the work to wait for."""

    def __init__(self, desk: Desk, where: str, at: str = "") -> None:
        self.desk = desk
        self.own, self.other = (_place(desk.root(name), where) for name in (ATTACKER, NEIGHBOUR))
        self.aside = desk.directory / "aside"
        self._at = f"{at} {desk.root(ATTACKER)}"
        self.is_done = False

    def during(self, status: str) -> None:
        """Put the link there when the service gives turns to others in that part of its work."""
        if not self.is_done and status.startswith(self._at):
            self.put()

    def put(self) -> None:
        """Put the link there."""
        self.is_done = True
        self.own.rename(self.aside)
        self.own.symlink_to(self.other)

    def take_back(self) -> None:
        """Put the directory there again."""
        self.own.unlink()
        self.aside.rename(self.own)


def _place(root: Path, where: str) -> Path:
    return root.parent if where == ".." else root / where


def is_unharmed(desk: Desk) -> Callable[[], None]:
    """Mail for the neighbour that is in its place; the check that it is there later, and unknown to the attacker."""
    mail = [
        desk.deliver(NEIGHBOUR, kind, folder) for kind in ("ham", "spam") for folder in ("INBOX", "Archive", "Junk")
    ]
    desk.settle()
    mail += [desk.deliver(NEIGHBOUR, "ham") for _ in range(2)]
    desk.settle()
    before = {folder: sorted(desk.contents(NEIGHBOUR, folder)) for folder in ROLES}

    def check() -> None:
        assert {folder: sorted(desk.contents(NEIGHBOUR, folder)) for folder in ROLES} == before
        with Ledger(str(desk.ledger(ATTACKER))) as ledger:
            assert not [content for content in mail if ledger.messages.find(identity(content)) is not None]
            assert not [content for content in mail if ledger.lessons.find(identity(content)) is not None]
        assert desk.faults(ATTACKER) == []

    return check


@pytest.mark.parametrize("where", ["", "..", "new", "cur", ".Junk", ".Archive"])
@pytest.mark.parametrize("at", ["looking for renamed folders in", "looking at the folders of"])
def test_during_a_comparison(desk: Desk, where: str, at: str) -> None:
    """A link that takes a directory's place during a comparison is not followed, above the Maildir neither."""
    check, swap = is_unharmed(desk), Swap(desk, where, at)
    desk.alive = swap.during
    create_folder(str(desk.root(ATTACKER)), "maildir++", "More")
    desk.until(lambda: swap.is_done, "the link")
    desk.pass_time(700.0)
    check()
    desk.alive = lambda _: None
    swap.take_back()
    late = desk.deliver(ATTACKER)
    desk.pass_time(700.0)
    assert late in desk.contents(ATTACKER, "Junk")


@pytest.mark.parametrize("where", ["", "..", "new", ".Archive"])
def test_at_a_hint(desk: Desk, where: str) -> None:
    """A name that the attacker's own directory reports does not lead to the neighbour's file of that name."""
    check = is_unharmed(desk)
    desk.deliver(ATTACKER)
    desk.until(lambda: desk.judgements(ATTACKER).count("moved") == 1, "the account is awake")
    folder = "Archive" if where == ".Archive" else "INBOX"
    own, other = (Path(desk.folder(name, folder).subdir("new")) for name in (ATTACKER, NEIGHBOUR))
    for path in other.iterdir():
        (own / path.name).write_bytes(b"Subject: x\n\ny\n")
    Swap(desk, where).put()
    desk.pass_time(700.0)
    check()
