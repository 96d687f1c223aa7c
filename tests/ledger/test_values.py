"""Values that no statement of ours writes into a ledger: every command refuses them in words, in each column."""

import contextlib
import itertools
import shutil
import sqlite3
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.base.errors import LedgerDamagedError, LedgerError
from spamnb.ledger.copies.copy import held_of
from spamnb.ledger.copies.recovery import restore
from spamnb.ledger.history.state import Job, MissedSpam, State
from spamnb.ledger.ledger import Ledger
from tests.cli.conftest import Run, home, run
from tests.ledger.test_export_format import carry
from tests.lessons import learn, lesson

__all__ = ["home", "run"]  # fixtures
DAY = 86_400.0
ODD = {
    "INTEGER": ("'x'", "9e999", "-7", "x'00'"),
    "REAL": ("'x'", "9e999", "-9e999", "x'00'"),
    "TEXT": ("x'41'", "CAST(x'ff' AS TEXT)", "printf('%.*c', 70000, 'x')"),
    "BLOB": ("'x'", "7", "zeroblob(70000)"),
}
WORDS = {"verdict", "kind", "state", "origin", "gone_by", "by", "how", "goal"}
ANY_NUMBER = {
    ("directory", "device"),
    ("directory", "inode"),
    ("lesson", "sender_over_path"),
    ("lesson", "signed_by"),
    ("sent", "answer"),
    ("recipient", "address"),
}
FILLED = {  # tables that the lessons below leave empty
    "mailbox": "1, x'2f', 1.0, 3.0",
    "folder": "1, 1, 'INBOX', 3.0, 1",
    "early_verdict": "x'01', 'ham', 0.1, -2.0, 'a', 'pipe', 1.0",
    "directory": "1, 2, 1",
    "choice": "1, 'allow', '*@b.example', NULL, 'page'",
    "tally": "'judged', 'ham', '', 1",
    "trained_directory": "1, x'2f'",
    "trained_file": "1, x'61', 1, 0",
    "sent": "x'02', 5",
    "recipient": "x'02', 6",
    "file": "1, x'61', 1, 'appeared', x'', '', 1.0, 2.0, 'filter'",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound ledger with a row in every table; each of its columns that may be NULL has a value in some row."""
    path = tmp_path_factory.mktemp("whole") / "ledger.sqlite"
    with Ledger(str(path)) as ledger, Ledger(str(path) + ".other") as other:
        learn(ledger, [lesson("a", 0, {"x": 2, "y": 1}), lesson("b", 1, {"x": 1, "z": 3})])
        learn(other, [lesson("c", 1, {"z": 1})])
        carry(other, ledger)
        one = ledger.messages.ensure(b"c", "c", header_digest=b"h")
        ledger.messages.judged(one.id, "ham", 0.25, 900.0)
        db = ledger._connection
        for table, values in FILLED.items():
            if not db.row(f"SELECT 1 FROM {table}"):
                db.execute(f"INSERT INTO {table} VALUES ({values})")
        db.execute(
            "INSERT INTO sender (id, is_list, name, messages, judged_ham) VALUES (1, 0, 'a@b.example', 0, 0),"
            " (2, 1, 'list', 0, 0)"
        )
        db.execute("UPDATE message SET rescued_at = 5.0, sender = 1, list = 2 WHERE digest = ?", (b"c",))
        db.execute(
            "INSERT INTO action (at, message, kind, state, why, how, takes_back, answer, verdict, probability, before,"
            " before_weak, after, after_weak, source, source_base, destination, destination_base, goal, owner)"
            " VALUES (1.0, 1, 'moved', 'done', '', 'pipe', 1, 1, 'ham', 0.5, 0, 0, 1, 0, 1, x'61', 1, x'62', 'spam',"
            " '9')"
        )
        db.execute("INSERT INTO choice VALUES (2, 'spam_cutoff', NULL, 0.9, 'prompt')")
        db.execute("INSERT INTO action (at, choice, kind, state, why) VALUES (1.0, 2, 'chosen', 'done', '')")
        db.execute("UPDATE lesson SET takes_back = 1, sender_over_path = 5, signed_by = 6 WHERE digest = ?", (b"a",))
        db.execute("UPDATE import SET takes_back = 1")
        db.execute("INSERT INTO state VALUES ('restored at', '1.0')")
        assert ledger.verify() == []
    return path


@contextlib.contextmanager
def changing(path: Path) -> Iterator[sqlite3.Connection]:
    """The file as a program changes it that knows of no constraint and no trigger."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        for setting in ("ignore_check_constraints = ON", "foreign_keys = OFF", "synchronous = OFF"):
            db.execute(f"PRAGMA {setting}")
        db.execute("BEGIN")
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        yield db
        for _, statement in triggers:
            db.execute(statement)
        db.execute("COMMIT")


def columns(path: Path) -> list[tuple[str, str, str, bool]]:
    """Table, column, declared type, and whether it is the number of the row, which is always one."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute(
            "SELECT m.name, c.name, c.type, c.type = 'INTEGER' AND c.pk = 1"
            " AND (SELECT count(*) FROM pragma_table_info(m.name) WHERE pk) = 1 AND m.sql NOT LIKE '%WITHOUT ROWID%'"
            " FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'"
        ).fetchall()


def oddities(path: Path, table: str, how_many: int | None) -> Iterator[tuple[str, str]]:
    """Columns of a table, and odd values for each as SQL, the first so many."""
    for of, column, kind, is_row in columns(path):
        values = ("-7",) if is_row else (*(("'hello'",) if column in WORDS and table != "tally" else ()), *ODD[kind])
        if (table, column) in ANY_NUMBER:
            values = ("'x'", "9e999")  # any whole number is one of theirs
        if of == table:
            yield from ((column, value) for value in values[:how_many])


def make_odd(path: Path, table: str, column: str, value: str) -> None:
    """Write a value into the first row that has one in this column."""
    with changing(path) as db:
        keys = [row[0] for row in db.execute("SELECT name FROM pragma_table_info(?) WHERE pk", (table,))]
        key = ", ".join(keys)
        db.execute(
            f"UPDATE {table} SET {column} = {value}"
            f" WHERE ({key}) = (SELECT {key} FROM {table} WHERE {column} IS NOT NULL LIMIT 1)"
        )
        assert db.execute("SELECT changes()").fetchone() == (1,), f"{table}.{column} has no value to change"


TABLES = [
    "action", "choice", "counts", "directory", "early_verdict", "file", "folder", "import", "lesson", "mailbox",
    "message", "recipient", "sender", "sent", "state", "tally", "token", "total", "trained_directory", "trained_file",
]  # fmt: skip


def test_all_tables_are_tried(whole: Path) -> None:
    """The tables that are tried below are all of them."""
    assert sorted({table for table, *_ in columns(whole)}) == TABLES


COMMANDS = [
    ("status",), ("import", "--force", "counts"), ("score", "mail"), ("explain", "mail"), ("history",), ("doctor",),
    ("train", "--spam", "mail"), ("undo", "--yes", "1"), ("export", "--force", "counts"),
]  # fmt: skip
HOW_MANY = pytest.mark.parametrize("how_many", [1, pytest.param(None, marks=pytest.mark.slow)], ids=["one", "all"])


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("message", "summary"),
        ("action", "why"),
        ("state", "value"),
        ("token", "text"),
        ("file", "base"),
        ("lesson", "tokens"),
    ],
)
@pytest.mark.thorough
def test_no_copy_with_endless_values_is_restored(whole: Path, tmp_path: Path, table: str, column: str) -> None:
    """A copy with a value of 10 MB is refused in a few words, without reading it into memory."""
    path, copy = tmp_path / "ledger.sqlite", tmp_path / "copy.sqlite"
    shutil.copy(whole, copy)
    make_odd(
        copy, table, column, "zeroblob(10000000)" if column in {"base", "tokens"} else "printf('%.*c', 10000000, 'x')"
    )
    tracemalloc.start()
    try:
        with pytest.raises(LedgerError, match=rf"not restored, it is damaged \({table}\.{column} holds ") as raised:
            restore(str(path), str(copy), DAY)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(str(raised.value)) < 500
    assert most < 2_000_000
    assert not path.exists()


@pytest.mark.thorough
@pytest.mark.parametrize("table", TABLES)
@HOW_MANY
def test_no_copy_with_odd_values_is_sound(whole: Path, tmp_path: Path, table: str, how_many: int | None) -> None:
    """An odd value in any column of a copy is found, and reported in one line."""
    copy = tmp_path / "copy.sqlite"
    for column, value in oddities(whole, table, how_many):
        shutil.copy(whole, copy)
        make_odd(copy, table, column, value)
        with pytest.raises(LedgerDamagedError) as raised:
            held_of(str(copy))
        assert len(str(raised.value).splitlines()) == 1, f"{table}.{column} = {value}: {raised.value}"


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [("lesson", "label", "7"), ("lesson", "learned_at", "9e999"), ("counts", "block", "-1"), ("token", "id", "'x'")],
)
def test_no_copy_with_odd_values_is_restored(whole: Path, tmp_path: Path, table: str, column: str, value: str) -> None:
    """A copy with an odd value is refused in one line with the next step; the ledger is unchanged."""
    path, copy = tmp_path / "ledger.sqlite", tmp_path / "copy.sqlite"
    for one in (path, copy):
        shutil.copy(whole, one)
    make_odd(copy, table, column, value)
    with pytest.raises(LedgerError, match=r"copy\.sqlite is not restored, it is damaged \(.*\): try another copy$"):
        restore(str(path), str(copy), DAY)
    assert path.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("how_many", "step"),
    [
        pytest.param(1, 6, id="a sample"),
        pytest.param(1, 1, id="one", marks=pytest.mark.thorough),
        pytest.param(None, 1, id="all", marks=pytest.mark.slow),
    ],
)
def test_no_command_stumbles_over_odd_values(
    whole: Path, home: Path, run: Run, table: str, how_many: int | None, step: int
) -> None:
    """`verify` tells of an odd value; `status` and `import` end in words too, whatever the ledger holds."""
    path = home / ".local/share/spamnb/ledger.sqlite"
    path.parent.mkdir(parents=True)
    shutil.copy(whole, path)
    assert run("export", "counts").code == 0
    Path("mail").write_bytes(b"Subject: x y z\n\nx y z\n")
    for column, value in itertools.islice(oddities(whole, table, how_many), 0, None, step):
        for rest in path.parent.glob("ledger.sqlite-*"):
            rest.unlink()
        shutil.copy(whole, path)
        make_odd(path, table, column, value)
        said = run("verify")
        assert (said.code, "ledger" in said.err) == (3, True), f"{table}.{column} = {value}: {said}"
        for command in COMMANDS if how_many is None else COMMANDS[:2]:
            said = run(*command)
            assert said.code in (0, 1, 2, 3, 64, 78), f"{command}, {table}.{column} = {value}: {said}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("restored at", "yesterday"), ("restored at", ""), ("restored at", "inf"), ("restored at", "nan"),
        ("recorded", "1,2"), ("stopped at", "x"), ("paused until", "x"), ("paused until", "nan"),
        ("paused until", "-inf"), ("missed spam", "7"), ("begun with", "1.5"), ("tallied", "x"),
        ("forgetting done at", "x"), ("mark", "x" * 70_000), ("log", "x" * 70_000),
        ("notmuch seen", "[]"), ("notmuch seen", '["spam", "m", "1", ""]'), ("notmuch seen", '["spam", "m", 1, "?"]'),
        ("notmuch seen", '["spam", "m", 1, "AAAA"]'), ("notmuch seen", '["spam", "m", 1, 7]'),
    ],
)  # fmt: skip
def test_state(whole: Path, home: Path, run: Run, name: str, value: str) -> None:
    """A value that is not what its name promises is refused in a copy; `verify` names it, `status` ends in words."""
    path = home / ".local/share/spamnb/ledger.sqlite"
    path.parent.mkdir(parents=True)
    shutil.copy(whole, path)
    with changing(path) as db:
        db.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (name, value))
    with pytest.raises(LedgerDamagedError, match=name):
        held_of(str(path))
    assert name in run("verify").err
    run("status")
    run("doctor")


def test_tables_of_others(whole: Path, home: Path, run: Run) -> None:
    """Tables of other programs, with any names and types, do not count as odd values."""
    path = home / ".local/share/spamnb/ledger.sqlite"
    path.parent.mkdir(parents=True)
    shutil.copy(whole, path)
    with changing(path) as db:
        db.execute('CREATE TABLE "of others" (x VARCHAR(10), "a b" TEXT, untyped)')
        db.execute("""INSERT INTO "of others" VALUES (1, 'a', x'00')""")
    assert run("verify").code == 0


def test_state_of_ours(ledger: Ledger) -> None:
    """Each value is read as it was set, by this process or another; setting the first value removes the row."""
    state, first = ledger.state, State(ledger._connection)
    empty = {name: getattr(first, name) for name in VALUES}
    for name, value in VALUES.items():
        setattr(state, name, value)
        assert getattr(first, name) == value
    for job in Job:
        assert first.done_at(job) == 0.0
        state.set_done(job, 12.25)
        assert first.done_at(job) == 12.25
    assert ledger.verify() == []
    with Ledger(ledger.path, only_read=True) as reader:
        assert {name: getattr(reader.state, name) for name in VALUES} == VALUES
    for name, value in empty.items():
        setattr(state, name, value)
    for job in Job:
        state.set_done(job, 0.0)
    assert ledger._connection.all("SELECT name FROM state") == [("mark",)], "which it has from the start"


VALUES = {
    "stopped_at": 12.5, "resumed_at": 12.5, "paused_until": float("inf"), "begun_with": 20, "restored_at": 0.5,
    "missed_spam": MissedSpam.IS_LEFT, "recorded": 7, "tallied": 1,
}  # fmt: skip


def test_state_of_later_programs(ledger: Ledger) -> None:
    """A value of a name that is not known here was written by a later program, and is left alone."""
    ledger._connection.execute("INSERT INTO state VALUES ('of later', '[1, ')")
    assert ledger.verify() == []
