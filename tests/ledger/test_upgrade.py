"""From version 1 to this one, by version 2, with a ledger that version 1 has left."""

import contextlib
import os
import re
import shutil
import signal
import sqlite3
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.errors import LedgerBusyError, LedgerError, LedgerUnavailableError
from spamnb.ledger import schema
from spamnb.ledger.connection import Connection
from spamnb.ledger.copies import directory_of, roll, rolling
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


def test_written_anew(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the upgrade no room is left free in the file and no log beside it; where that fails, all else is done."""
    fresh = Path(old).read_bytes()
    with Ledger(old) as ledger:
        assert ledger._connection.row("PRAGMA freelist_count") == (0,)
        assert Path(old + "-wal").stat().st_size == 0
    Path(old).write_bytes(fresh)
    with monkeypatch.context() as full:

        def fails(_: Connection) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        full.setattr(Connection, "_write_anew", fails)
        with Ledger(old) as ledger:
            assert ledger._connection.row("PRAGMA freelist_count") != (0,)
            assert ledger.learned.verify() == []
    assert version(old) == schema.VERSION


def test_too_little_room(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the disk has not the room for an upgrade none is begun: it may pass, and the error says what is missing."""
    fresh = Path(old).read_bytes()
    usage = shutil.disk_usage(old)
    free = len(fresh) * 4
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=free))
    with pytest.raises(
        LedgerUnavailableError, match=r"too little room in .* for an upgrade of the ledger: free 1 MB more"
    ):
        Ledger(old)
    assert Path(old).read_bytes() == fresh
    assert rolling(old) == []
    free = len(fresh) * 6
    Ledger(old).close()
    assert version(old) == schema.VERSION


def test_two_at_once(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two processes that want to upgrade one does it and the other waits, so the copy is of the old version."""
    tried = []

    def roll_while_another_opens(path: str, at: float, keep: int) -> str:
        if not tried:
            tried.append(path)
            with pytest.raises(LedgerBusyError):
                Ledger(old, busy_seconds=0.05)
        return roll(path, at, keep)

    monkeypatch.setattr("spamnb.ledger.connection.roll", roll_while_another_opens)
    Ledger(old).close()
    assert tried
    (copy,) = rolling(old)
    assert version(copy) == 1
    assert version(old) == schema.VERSION


def test_upgraded_while_it_is_opened(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later program that upgrades the ledger while it is being opened is noticed before anything is written."""
    use_wal = Connection._use_wal

    def upgraded(self: Connection, seconds: float) -> None:
        use_wal(self, seconds)
        with contextlib.closing(sqlite3.connect(old)) as later:
            later.execute(f"PRAGMA user_version = {schema.VERSION + 1}")

    monkeypatch.setattr(Connection, "_use_wal", upgraded)
    with Ledger(old) as ledger, pytest.raises(LedgerError, match="start again"):
        ledger.learned.learn([lesson("after", 1, {"lunch": 1})])


@pytest.fixture
def in_use(old: str) -> Iterator[str]:
    """The same, open elsewhere."""
    with contextlib.closing(sqlite3.connect(old)) as other:
        other.execute("SELECT count(*) FROM token").fetchone()
        yield old


def upgraded_by_another(path: str) -> None:
    """Another program upgrades it now, however many read."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        schema.migrate(other, lambda: None)


def test_upgraded_while_it_is_only_read(in_use: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever begins to read while the ledger is upgraded reads it as one or the other, or is told to start again."""
    run = schema._run

    def upgrade_first(connection: sqlite3.Connection, script: str) -> None:
        with monkeypatch.context() as as_ever:
            as_ever.setattr(schema, "_run", run)
            upgraded_by_another(in_use)
        run(connection, script)

    monkeypatch.setattr(schema, "_run", upgrade_first)
    with Ledger(in_use, only_read=True) as ledger, pytest.raises(LedgerError, match="start again"):
        ledger.learned.counts(["lunch"])
    assert version(in_use) == schema.VERSION


def test_examined_while_it_is_upgraded(in_use: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that is upgraded while it is examined is not taken for a damaged one."""
    view = schema.view

    def upgrade_then(connection: sqlite3.Connection) -> int:
        found = view(connection)
        upgraded_by_another(in_use)
        return found

    monkeypatch.setattr("spamnb.ledger.reading.view", upgrade_then)
    assert faults_of(in_use) == []
    assert version(in_use) == schema.VERSION


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
            schema.migrate(db, lambda: None)
            db.close()
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


def test_killed_while_upgrading(old: str) -> None:
    """Killed before any statement of the upgrade, the ledger is of the old version or of this one, and wholly so."""
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
    assert seen == {1, schema.VERSION}
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
