"""The state of an earlier version works unchanged: nobody has to do anything for an upgrade."""

import contextlib
import gzip
import json
import re
import sqlite3
from pathlib import Path

import pytest

from spamnb import __version__
from spamnb.base.errors import LedgerNewerError
from spamnb.base.label import Role
from spamnb.cli.common.sample_mail import message
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.acquaintance import Seen
from spamnb.ledger.schema import VERSION, differences, moment
from spamnb.mail.relations import Relations
from spamnb.maildir.folders import create_folder
from spamnb.maildir.messages import deliver, scan
from spamnb.maildir.names import unique_base
from tests.documents import ROOT
from tests.upgrade import kept

UNRELEASED = re.search(rf"^## {re.escape(__version__)} \(unreleased\)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
_MOST_BYTES = 100_000


@pytest.fixture(params=kept.released())
def left(request: pytest.FixtureRequest) -> Path:
    """The state that a version left. The form of the present one's ledger may change until its release."""
    return kept.HERE / request.param


@pytest.fixture
def home(left: Path, tmp_path: Path) -> Path:
    """A home as that version left it."""
    kept.restore(left, tmp_path)
    if left.name == __version__ and UNRELEASED and any(_differences(tmp_path / kept.LEDGER)):
        pytest.fail("the tables have changed since they were kept; keep them again: python -m tests.upgrade.kept")
    return tmp_path


def _differences(ledger: Path) -> tuple[list[str], list[str]]:
    with contextlib.closing(sqlite3.connect(ledger)) as connection, moment(connection):
        return differences(connection)


def messages(home: Path, folder: str) -> int:
    """Return the number of messages in a folder."""
    return len(list(scan(create_folder(str(home / "Maildir"), "maildir++", folder))))


def test_nothing_has_to_be_done(home: Path, left: Path) -> None:
    """The configuration has no fault, what was learned and done is all there, and new spam is moved."""
    assert "no faults" in kept.spamnb(home, "config", "--check")
    assert kept.spamnb(home, "verify") == (left / "verify.txt").read_text()
    before = [json.loads(line) for line in (left / "history.json").read_text().splitlines()]
    now = [json.loads(line) for line in kept.spamnb(home, "history", "--json").splitlines()]
    assert [(one["id"], one["kind"], one["digest"]) for one in now] == [
        (one["id"], one["kind"], one["digest"]) for one in before
    ]
    in_junk = messages(home, "Junk")
    inbox = create_folder(str(home / "Maildir"), "maildir++", "INBOX")
    deliver(inbox, message("spam", 700), unique_base(1_800_000_000, 0, 1, 1, "home"))
    kept.spamnb(home, "run", "--once")
    assert messages(home, "Junk") == in_junk + 1


def test_mail_is_judged_alike(home: Path, left: Path) -> None:
    """Mail that the version judged has the same verdict today, with nearly the same probability."""
    before = [json.loads(line) for line in (left / "scores.json").read_text().splitlines()]
    now = [json.loads(line) for line in kept.spamnb(home, "score", "--json", *kept.unseen(home)).splitlines()]
    assert {one["verdict"] for one in before} >= {"ham", "spam"}
    for was, one in zip(before, now, strict=True):
        assert (Path(one["path"]).name, one["verdict"]) == (Path(was["path"]).name, was["verdict"])
        assert one["probability"] == pytest.approx(was["probability"], abs=0.05)


def test_what_it_did_can_be_taken_back(home: Path, left: Path) -> None:
    """A move of that version is undone, and then all that it learned, exactly: no token is left."""
    moved = next(
        one["id"] for one in map(json.loads, (left / "history.json").read_text().splitlines()) if one["kind"] == "moved"
    )
    in_inbox, in_junk = messages(home, "INBOX"), messages(home, "Junk")
    kept.spamnb(home, "undo", str(moved))
    assert (messages(home, "INBOX"), messages(home, "Junk")) == (in_inbox + 1, in_junk - 1)
    kept.spamnb(home, "undo", "--yes", "--only", "lessons", "--since", "2000-01-01")
    assert "The counts of 0 tokens are the sum of 0 ham and 0 spam messages." in kept.spamnb(home, "verify")


def test_a_ledger_of_a_later_version_is_refused(home: Path) -> None:
    """The former program on the later one's ledger changes nothing, and its error names the copy to go back to."""
    path = home / kept.LEDGER
    copies = path.parent / "copies"
    former, later = (copies / f"ledger-2026-11-{day}.sqlite.gz" for day in (20, 21))
    copies.mkdir()
    kept.spamnb(home, "backup", str(former))
    with contextlib.closing(sqlite3.connect(path)) as ledger:
        ledger.execute(f"PRAGMA user_version = {VERSION + 1}")
    later.write_bytes(gzip.compress(path.read_bytes()))
    before = path.read_bytes()
    for call in (("status",), ("run", "--once"), ("train", "--spam", str(home / "Maildir"))):
        said = kept.spamnb(home, *call, code=3)
        assert "upgrade spamnb" in said
        assert f"spamnb restore {former}" in " ".join(said.split())
    assert path.read_bytes() == before
    kept.spamnb(home, "restore", str(former))
    assert "no faults" in kept.spamnb(home, "config", "--check")
    kept.spamnb(home, "verify")


def test_a_ledger_is_read_before_it_is_upgraded(home: Path) -> None:
    """A program that only reads uses a ledger of the version before, and ends when a service has upgraded it."""
    path, before = str(home / kept.LEDGER), (home / kept.LEDGER).read_bytes()
    unknown = Relations("ann@b.example", "", "9.9.9")
    with Ledger(path, only_read=True) as reader:
        former = _version(path)
        assert reader.lessons.seen([unknown]) == [Seen()]
        assert reader.verify() == []
        assert (home / kept.LEDGER).read_bytes() == before
        with Ledger(path) as writer:
            assert (former, _version(path)) == (former, VERSION)
            assert writer.verify() == []
            assert writer.lessons.seen([unknown]) == [Seen()]
        if former < VERSION:
            with pytest.raises(LedgerNewerError, match="start again"), reader.snapshot():
                pass


def _version(path: str) -> int:
    with contextlib.closing(sqlite3.connect(path)) as ledger:
        return int(ledger.execute("PRAGMA user_version").fetchone()[0])


def test_sent_mail_is_read_again(home: Path) -> None:
    """After the upgrade from version 1 the next start reads all sent mail for its recipients."""
    if _version(str(home / kept.LEDGER)) > 1:
        return
    with contextlib.closing(sqlite3.connect(home / kept.LEDGER)) as ledger, ledger:
        ledger.execute("INSERT INTO sent VALUES (x'01', 7)")
        ledger.execute("UPDATE folder SET sent_read = 1")
    with Ledger(str(home / kept.LEDGER)) as upgraded:
        assert upgraded.lessons.sent() == [b"\x01"], "what was known stays"
        assert upgraded._connection.all("SELECT DISTINCT sent_read FROM folder") == [(0,)]


def test_moves_keep_their_destinations(home: Path) -> None:
    """The numbers of moves by destination are the same before the upgrade, for a reader, and after it."""
    path = str(home / kept.LEDGER)
    with Ledger(path, only_read=True) as reader:
        before = reader.tallies.read()
        moved = [action for action in reader.journal.newest(1000) if action.kind == "moved"]
    assert {tally.first for tally in before if tally.kind == "moved"} >= {"spam"}
    assert {action.goal for action in moved if action.verdict is not None and action.takes_back is None} == {Role.SPAM}
    with Ledger(path) as upgraded:
        assert upgraded.tallies.read() == before
        assert [action for action in upgraded.journal.newest(1000) if action.kind == "moved"] == moved


def test_it_is_small(left: Path) -> None:
    """The kept state of a version takes little room."""
    assert sum(path.stat().st_size for path in left.iterdir()) < _MOST_BYTES


def test_every_release_is_kept() -> None:
    """Each version that the list of changes calls released has a kept state."""
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert set(re.findall(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", changes, re.M)) <= set(kept.released())
