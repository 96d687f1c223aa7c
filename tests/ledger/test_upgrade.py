"""From version 1 to this one, by version 2, with a ledger that version 1 has left."""

import contextlib
import os
import re
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
    """All that version 1 knew: its rows, and the tokens with their counts wherever a version keeps them."""
    counted = "ham_messages, spam_messages, ham_occurrences, spam_occurrences"
    with contextlib.closing(sqlite3.connect(path)) as db:
        lines = [line for line in db.iterdump() if line.startswith("INSERT")]
        tables = "token JOIN count ON count.token = token.id" if version(path) > 2 else "token"
        tokens = db.execute(f"SELECT id, text, {counted} FROM {tables}")
        return sorted(
            [*map(str, tokens), *(line for line in lines if not re.match(r'INSERT INTO "(token|count)"', line))]
        )


def test_upgraded(old: str) -> None:
    """A ledger of version 1 is upgraded with all that it holds; it can be learned on, undone, and imported to."""
    before = content(old)
    with Ledger(old) as ledger:
        assert version(old) == schema.VERSION
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
    """Killed before any statement of the upgrade, the ledger is of one of the versions, and wholly so."""
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
            tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
        assert ("import" in tables, "count" in tables, "former" in tables) == (found > 1, found > 2, False)
        assert content(old) == before
        assert faults_of(old) == []
        if not killed:
            break
    assert not killed
    assert seen == {1, 2, 3}
    assert at > 15


def test_upgraded_under_its_hands(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that has the ledger open while a later one upgrades it says to start again, and writes nothing."""
    with Ledger(old) as former:
        former.learned.learn([lesson("before", 1, {"lunch": 1})])
        with monkeypatch.context() as later:
            later.setattr(schema, "_STEPS", (*schema._STEPS, "ALTER TABLE count RENAME TO counts_of_another_kind"))
            later.setattr(schema, "VERSION", schema.VERSION + 1)
            later.setattr("spamnb.ledger.connection.VERSION", schema.VERSION)
            Ledger(old).close()
        before = content(rolling(old)[0])
        for ask in (lambda: former.learned.learn([lesson("after", 1, {"lunch": 1})]), former.learned.verify):
            with pytest.raises(LedgerError, match="start again"):
                ask()
        with contextlib.closing(sqlite3.connect(old)) as db:
            assert db.execute("SELECT count(*) FROM message WHERE digest = x'6166746572'").fetchone() == (0,)
    assert any("'before'" in line for line in before)
    with pytest.raises(LedgerError, match="upgrade spamnb"):
        Ledger(old)
