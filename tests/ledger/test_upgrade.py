"""From version 1 to version 2, with a ledger that version 1 has left."""

import contextlib
import os
import signal
import sqlite3
import warnings
from pathlib import Path

import pytest

from spamnb.errors import LedgerError
from spamnb.ledger import schema
from spamnb.ledger.copies import directory_of, rolling
from spamnb.ledger.exchange import parse
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.reading import faults_of
from tests.ledger.lessons import lesson

OLD = Path(__file__).parent / "version-1.sql"
TOTALS = [4, 3, 375, 239, 379, 240, 386]


@pytest.fixture
def old(path: str) -> str:
    """A ledger of version 1."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(OLD.read_text())
        db.execute("PRAGMA journal_mode = WAL")
    os.chmod(path, 0o600)
    return path


def version(path: str) -> int:
    """The version of a ledger's file."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        found: int = db.execute("PRAGMA user_version").fetchone()[0]
        return found


def content(path: str) -> list[str]:
    """All of version 1's rows."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        return sorted(line for line in db.iterdump() if line.startswith("INSERT") and '"import"' not in line)


def test_upgraded(old: str) -> None:
    """A ledger of version 1 is upgraded with all that it holds; it can be learned on, undone, and imported to."""
    before = content(old)
    with Ledger(old) as ledger:
        assert version(old) == 2
        assert content(old) == before
        assert ledger.learned.verify() == []
        assert ledger.learned.totals().tolist() == TOTALS
        ledger.learned.learn([lesson("new", 1, {"lunch": 1})])
        last = next(ledger.journal.newest(1))
        ledger.learned.set_label(last.message, last.before, 1.0, f"undo of {last.id}")
        forgotten = next(one for one in ledger.journal.newest(99) if one.why == "forgotten by hand")
        ledger.learned.set_label(forgotten.message, forgotten.before, 1.0, f"undo of {forgotten.id}")
        assert ledger.learned.totals()[:2].tolist() == [4, 4]
        counts = parse((line.encode() for line in ledger.imports.export()), "x")
        action = ledger.imports.add(counts, "x", 2.0)
        assert ledger.learned.totals()[:2].tolist() == [8, 8]
        ledger.imports.take_back(action, 3.0)
        assert ledger.learned.verify() == []
        assert len(ledger.journal.intents()) == 1


def test_copied_first(old: str) -> None:
    """Before the upgrade a copy is made, of version 1 still; a new ledger and one of this version need none."""
    before = content(old)
    Ledger(old).close()
    (copy,) = rolling(old)
    assert version(copy) == 1
    assert content(copy) == before
    os.unlink(copy)
    Ledger(old).close()
    assert rolling(old) == []
    Ledger(old + ".new").close()
    assert rolling(old + ".new") == []


def test_no_copy_no_upgrade(old: str) -> None:
    """Where the copy cannot be made the ledger stays of version 1, and the error says why."""
    Path(directory_of(old)).write_text("in the way")
    with pytest.raises(LedgerError, match="could not be copied"):
        Ledger(old)
    assert version(old) == 1
    assert faults_of(old) == []


def test_only_read(old: str) -> None:
    """A ledger of version 1 that is only read is not upgraded, and its counts can be proven."""
    with Ledger(old, only_read=True) as ledger:
        assert ledger.learned.verify() == []
        assert ledger.learned.totals().tolist() == TOTALS
    assert version(old) == 1


def upgrade_and_die(path: str, at: int) -> bool:
    """Upgrade in a child that is killed before its `at`th statement; whether it was."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # no thread of ours runs, and the child starts none
        child = os.fork()
    if child == 0:
        left = at

        class Mortal(sqlite3.Connection):
            def execute(self, *arguments: object) -> sqlite3.Cursor:  # type: ignore[override]
                nonlocal left
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return super().execute(*arguments)  # type: ignore[arg-type]

        try:
            db = sqlite3.connect(path, isolation_level=None, factory=Mortal)
            schema.migrate(db)
            db.close()
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


def test_killed_while_upgrading(old: str) -> None:
    """Killed before any statement of the upgrade, the ledger is of version 1 or of version 2, and wholly so."""
    before = content(old)
    fresh = Path(old).read_bytes()
    seen = set()
    for at in range(1, 50):
        for part in ("-wal", "-shm"):
            Path(old + part).unlink(missing_ok=True)
        Path(old).write_bytes(fresh)
        killed = upgrade_and_die(old, at)
        found = version(old)
        seen.add(found)
        with contextlib.closing(sqlite3.connect(old)) as db:
            tables = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'import'").fetchone()[0]
        assert tables == found - 1
        assert content(old) == before
        assert faults_of(old) == []
        if not killed:
            break
    assert not killed
    assert seen == {1, 2}
    assert at > 8


def test_former_program_goes_on(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service of the former program that has the ledger open while it is upgraded goes on learning rightly."""
    with monkeypatch.context() as former:
        former.setattr(schema, "VERSION", 1)
        former.setattr("spamnb.ledger.connection.VERSION", 1)
        service = Ledger(old)
    try:
        assert version(old) == 1
        with Ledger(old) as newer:
            assert version(old) == 2
            counts = parse((line.encode() for line in newer.imports.export()), "x")
            newer.imports.add(counts, "x", 2.0)
            service.learned.learn([lesson("by the former", 1, {"lunch": 1, "never met": 2})])
            found = service.messages.find(b"by the former")
            assert found is not None
            service.learned.set_label(found.id, 0, 3.0, "a test")
            newer.learned.learn([lesson("by the newer", 0, {"never met": 2})])
            assert newer.learned.verify() == []
            assert newer.learned.totals()[:2].tolist() == [10, 6]
    finally:
        service.close()
    with monkeypatch.context() as former:
        former.setattr(schema, "VERSION", 1)
        with pytest.raises(LedgerError, match="upgrade spamnb"):
            Ledger(old)
