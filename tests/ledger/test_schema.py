"""Opening a ledger: new, of a different version or program, or not a ledger."""

import os
import re
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from spamnb.base.errors import LedgerBusyError, LedgerError
from spamnb.base.label import JUDGED_BY, LEARNED_BY, How
from spamnb.ledger import schema
from spamnb.ledger.ledger import Ledger
from tests.lessons import known, learn, lesson
from tests.patience import PATIENCE

NOBODY = 65_534


def test_new(tmp_path: Path) -> None:
    """A new ledger is made with its directories, for its owner only."""
    path = tmp_path / "a" / "b" / "ledger.sqlite"
    with Ledger(str(path)) as ledger:
        learn(ledger, [lesson("a", 0, {"x": 1})])
        assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    assert [stat.S_IMODE(one.stat().st_mode) for one in (path.parent, path.parent.parent)] == [0o700, 0o700]


def test_made_whole_or_by_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new ledger is complete when its file gets its name; without the means for that, SQLite makes the same parts."""
    Ledger(str(tmp_path / "first")).close()  # makes what the others are copied from
    kinds, run = [], schema._run_steps
    for name in ("whole", "by steps"):
        steps: list[str] = []
        path = str(tmp_path / name)
        with monkeypatch.context() as patch:
            patch.setattr(schema, "_run_steps", lambda *of, steps=steps: (steps.append("run"), run(*of)))
            if name == "by steps":
                patch.setattr(schema, "_unmarked", lambda _: sqlite3.serialize)  # as without that method
            Ledger(path).close()
        assert steps == ([] if name == "whole" else ["run"])
        with closing(sqlite3.connect(path)) as made:
            assert schema.differences(made) == ([], [])
            ((mark,),) = made.execute("SELECT value FROM state WHERE name = 'mark'").fetchall()
            kinds.append(
                (mark, *(made.execute(f"PRAGMA {one}").fetchone() for one in ("journal_mode", "user_version")))
            )
    assert len({mark for mark, *_ in kinds}) == 2
    assert {tuple(others) for _, *others in kinds} == {(("wal",), (schema.VERSION,))}
    assert {file.name for file in tmp_path.iterdir()} == {"first", "whole", "by steps"}


def test_the_list_of_how(path: str) -> None:
    """The schema lists the values of `How`: a new one needs a step of the schema."""
    assert [*How] == [*JUDGED, *LEARNED], "frozen"
    assert (JUDGED_BY, LEARNED_BY) == (JUDGED, LEARNED)
    lists = {"lesson": LEARNED, "action": (*JUDGED, *LEARNED), "early_verdict": JUDGED[1:]}
    with Ledger(path) as ledger:
        for table, words in lists.items():
            (text,) = ledger._connection.row("SELECT sql FROM sqlite_master WHERE name = ?", (table,))
            (found,) = re.findall(r"how IN \(([^)]*)\)", text)
            assert re.findall(r"'([a-z]+)'", found) == [*words], table


JUDGED = ("maildir", "spamd", "pipe")
LEARNED = ("move", "keyword", "kept", "silence", "seen", "hand", "tell", "import")


def test_any_name(tmp_path: Path) -> None:
    """A ledger may have any name that a file may have."""
    path = str(tmp_path / "a?mode=ro&#%20\udcff")
    with Ledger(path) as ledger:
        learn(ledger, [lesson("a", 0, {"x": 1})])
    assert os.path.getsize(path) > 0


def test_empty_file(path: str) -> None:
    """A file of no bytes, as a process killed at its first moment leaves it, becomes a ledger."""
    Path(path).touch()
    with Ledger(path) as ledger:
        assert ledger.lessons.verify() == []


def test_opened_again(path: str) -> None:
    """Lessons are still there at the next opening, and the version is the present one."""
    with Ledger(path) as ledger:
        learn(ledger, [lesson("a", 0, {"x": 1})])
    with Ledger(path) as ledger:
        assert known(ledger, "x") == [1, 0, 1, 0]
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
        assert other.execute("PRAGMA application_id").fetchone() == (0x736E6232,)


@pytest.mark.real_disk
def test_durable(path: str) -> None:
    """Each commit is durable: a lost intent would make the filter's own move look like a person's."""
    with Ledger(path) as ledger:
        assert ledger._connection.row("PRAGMA synchronous") == (2,)
        assert ledger._connection.row("PRAGMA journal_mode") == ("wal",)
        assert ledger._connection.row("PRAGMA foreign_keys") == (1,)


def test_migration(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger of an earlier version becomes one of this version, with all its contents."""
    with Ledger(path) as ledger:
        learn(ledger, [lesson("a", 0, {"x": 1})])
    more = "CREATE TABLE extra (a); INSERT INTO extra VALUES (1); INSERT INTO extra VALUES (2)"
    monkeypatch.setattr(schema, "_STEPS", (*schema._STEPS, more))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    monkeypatch.setattr("spamnb.ledger.connection.VERSION", schema.VERSION)
    for _ in range(2):
        with Ledger(path) as ledger:
            assert ledger._connection.row("SELECT count(*) FROM extra") == (2,)
            assert known(ledger, "x") == [1, 0, 1, 0]


def test_migration_that_fails(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed migration leaves the ledger unchanged."""
    with Ledger(path) as ledger:
        learn(ledger, [lesson("a", 0, {"x": 1})])
    with monkeypatch.context() as patch:
        patch.setattr(schema, "_STEPS", (*schema._STEPS, "DELETE FROM token; CREATE nonsense"))
        patch.setattr(schema, "VERSION", schema.VERSION + 1)
        with pytest.raises(LedgerError, match="cannot be used"):
            Ledger(path)
    with Ledger(path) as ledger:
        assert known(ledger, "x") == [1, 0, 1, 0]


def test_later_version(path: str) -> None:
    """A ledger of a later version is left alone, and the error says to upgrade."""
    Ledger(path).close()
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA user_version = 99")
    before = Path(path).read_bytes()
    with pytest.raises(LedgerError, match="upgrade spamnb"):
        Ledger(path)
    assert Path(path).read_bytes() == before


@pytest.mark.parametrize("mark", [0, 77])
def test_another_program(path: str, mark: int) -> None:
    """Another program's database is left alone to the last byte, and the error says what to configure."""
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs (a)")
        other.execute(f"PRAGMA application_id = {mark}")
    before = Path(path).read_bytes()
    with pytest.raises(LedgerError, match="set `ledger` in the configuration"):
        Ledger(path)
    assert Path(path).read_bytes() == before
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]


def test_no_database(path: str) -> None:
    """A file that is not a database stays unchanged, and the error says what to configure."""
    Path(path).write_text("my diary\n" * 500)
    with pytest.raises(LedgerError, match="set `ledger` in the configuration"):
        Ledger(path)
    assert Path(path).read_text() == "my diary\n" * 500


@pytest.mark.parametrize("pages", [0.5, 1, 2, 5, 9])
def test_cut_short(path: str, pages: float) -> None:
    """A ledger that was cut short is an error that says what to do, or is found by `verify`; never a traceback."""
    with Ledger(path) as ledger:
        learn(ledger, [lesson(f"m{i}", i % 2, {f"t{i}.{j}": 1 for j in range(200)}) for i in range(20)])
    os.truncate(path, int(pages * 4096))
    with pytest.raises(LedgerError, match=r"restore a copy|free space"), Ledger(path) as ledger:
        faults = ledger.lessons.verify()
        assert faults
        raise LedgerError("restore a copy")


def test_garbled(path: str) -> None:
    """Garbled pages are found by `verify` or are of no consequence; no fault is other than one for a person."""
    with Ledger(path) as ledger:
        learn(ledger, [lesson(f"m{i}", i % 2, {f"t{i}.{j}": 1 for j in range(200)}) for i in range(20)])
    whole, found = Path(path).read_bytes(), 0
    for start in range(4096, len(whole), 4096 * 3):
        Path(path).write_bytes(whole[: start + 16] + b"\xff" * 2048 + whole[start + 2064 :])
        with ExitStack() as stack:
            try:
                ledger = stack.enter_context(Ledger(path))
                is_well = ledger.lessons.verify() == []
            except LedgerError:
                is_well = False
            if not is_well:
                found += 1
                continue
            ledger.lessons.counts([f"t{i}.{j}" for i in range(20) for j in range(0, 200, 10)])
            ledger.lessons.teachers(["t1.1"])
            ledger.messages.find(b"m1")
    assert found >= 5


def test_in_a_files_place(tmp_path: Path) -> None:
    """A path through a file, and one that is a directory, are errors that say what to configure."""
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "ledger", tmp_path):
        with pytest.raises(LedgerError, match="set `ledger` in the configuration"):
            Ledger(str(path))


@contextmanager
def unprivileged() -> Iterator[None]:
    """Work without rights if the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_no_permission() -> None:
    """In a read-only directory the error names it and says to look at its owner."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o555)
        try:
            with unprivileged(), pytest.raises(LedgerError, match=r"check who owns .*here"):
                Ledger(f"{directory}/here/ledger")
            with unprivileged(), pytest.raises(LedgerError, match=r"check who owns .*ledger"):
                Ledger(f"{directory}/ledger")
        finally:
            os.chmod(directory, 0o755)


def test_read_only_directory() -> None:
    """A ledger in a directory that became read-only says so, and nothing is lost."""
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/ledger"
        with Ledger(path) as ledger:
            learn(ledger, [lesson("a", 0, {"x": 1})])
        os.chmod(path, 0o666)
        os.chmod(directory, 0o555)
        try:
            with unprivileged(), pytest.raises(LedgerError, match=r"check who owns .* and its directory"):
                Ledger(path)
        finally:
            os.chmod(directory, 0o755)
        with Ledger(path) as ledger:
            assert known(ledger, "x") == [1, 0, 1, 0]


def test_locked(path: str) -> None:
    """While another process writes, a writer waits for the given time, and then says to try again."""
    with Ledger(path, busy_seconds=0.05) as ledger, closing(sqlite3.connect(path)) as other:
        learn(ledger, [lesson("a", 0, {"x": 1})])
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerBusyError, match="try again") as raised:
            learn(ledger, [lesson("b", 1, {"x": 1})])
        assert raised.value.exit_code == 75
        assert known(ledger, "x") == [1, 0, 1, 0]  # reading goes on
        other.rollback()
        learn(ledger, [lesson("b", 1, {"x": 1})])
        assert ledger.lessons.verify() == []


def test_locked_when_opened(path: str) -> None:
    """A new file that another process holds is an error that says to try again."""
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerBusyError, match="try again"):
            Ledger(path, busy_seconds=0.05)


def test_disk_full(path: str) -> None:
    """When the disk is full nothing is learned by half: what was there stays, and the error says to free space."""
    with Ledger(path) as ledger:
        learn(ledger, [lesson("a", 0, {"x": 1})])
        pages = ledger._connection.row("PRAGMA page_count")[0]
        ledger._connection.row(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(LedgerError, match="free some space"):
            learn(ledger, [lesson("b", 1, {f"token {i}": 1 for i in range(20_000)})])
        assert ledger.messages.find(b"b") is None
        assert known(ledger, "x") == [1, 0, 1, 0]
        assert ledger.lessons.verify() == []
        ledger._connection.row("PRAGMA max_page_count = 1000000")
        learn(ledger, [lesson("b", 1, {f"token {i}": 1 for i in range(20_000)})])
        assert ledger.lessons.verify() == []


OPEN_AND_LEARN = """
import sys
from spamnb.ledger.ledger import Ledger
from tests.lessons import learn, lesson
print("ready", flush=True)
sys.stdin.readline()
with Ledger(sys.argv[1]) as ledger:
    for number in range(5):
        learn(ledger, [lesson(f"{sys.argv[2]}.{number}", number % 2, {"x": 1, f"{sys.argv[2]}.{number}": 2})])
"""


def child(script: str, *arguments: str) -> subprocess.Popen[str]:
    """A process that runs a script, with its standard streams as pipes."""
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
    )


@pytest.mark.thorough
def test_opened_by_several_at_once(path: str) -> None:
    """Processes that open a new ledger at the same moment make it once, and all of them can learn."""
    with ExitStack() as stack:
        children = [stack.enter_context(child(OPEN_AND_LEARN, path, name)) for name in "abcd"]
        for one in children:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        for one in children:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        assert [one.wait(PATIENCE) for one in children] == [0] * 4
    with Ledger(path) as ledger:
        assert known(ledger, "x") == [12, 8, 12, 8]
        assert ledger.lessons.verify() == []


TRAIN = """
import sys
from spamnb.ledger.ledger import Ledger
from tests.lessons import learn, lesson
with Ledger(sys.argv[1]) as ledger:
    for line in sys.stdin:
        learn(ledger, [lesson(line.strip(), 1, {"x": 1})])
        print("learned", flush=True)
"""


def test_one_trains_while_another_scores(path: str) -> None:
    """Lessons of another process count at the next look, without opening the ledger anew."""
    with Ledger(path) as ledger, child(TRAIN, path) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        for number in range(1, 4):
            assert known(ledger, "x") == [0, number - 1, 0, number - 1]
            other.stdin.write(f"m{number}\n")
            other.stdin.flush()
            assert other.stdout.readline() == "learned\n"
            assert known(ledger, "x") == [0, number, 0, number]
            assert ledger.lessons.verify() == []
