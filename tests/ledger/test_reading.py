"""Reading a ledger that others open, write and replace at the same time."""

import gzip
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest import mock

import pytest

from spamnb.base.errors import LedgerBusyError, LedgerError
from spamnb.ledger.copies.copy import copy, faults_of_copy, held_of, roll
from spamnb.ledger.copies.recovery import recover, restore
from spamnb.ledger.file.parts import rolling
from spamnb.ledger.file.readonly import faults_of, look_into
from spamnb.ledger.ledger import Ledger
from tests.ledger.test_copies import fill, noon
from tests.ledger.test_schema import unprivileged
from tests.lessons import learn, lesson, wrong_count
from tests.patience import PATIENCE

WRITE = """
import sys
from spamnb.ledger.ledger import Ledger
from tests.lessons import learn, lesson
with Ledger(sys.argv[1]) as ledger:
    tokens = {f"{sys.argv[2]}.{i}": 1 for i in range(4000)} | {f"first.{i}": 1 for i in range(0, 30_000, 7)}
    learn(ledger, [lesson(sys.argv[2], 1, tokens)])
"""  # and is the last to close it, unless another has it open: then SQLite empties the log into the file


def written_by_another(path: str, name: str) -> None:
    """Another process opens the ledger, commits, and closes it."""
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", WRITE, path, name], check=True, cwd=root, timeout=PATIENCE)


@pytest.fixture
def closed(path: str) -> str:
    """A ledger that nobody has open, without a log."""
    with Ledger(path) as ledger:
        fill(ledger, "first", 30_000)
    assert not os.path.exists(path + "-wal")
    return path


def beside(path: str) -> set[str]:
    """Return the files in the ledger's directory."""
    return set(os.listdir(os.path.dirname(path)))


def test_copied_while_another_opens_it(closed: str, tmp_path: Path) -> None:
    """A copy begun while nobody had the ledger open is of one moment, though another opens, writes and closes it."""
    steps: list[None] = []

    def write_once() -> None:
        steps.append(None)
        if len(steps) == 1:
            written_by_another(closed, "meanwhile")

    target = str(tmp_path / "copy")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spamnb.ledger.file.pages._PAGES", 20)
        copy(closed, target, write_once)
    assert len(steps) > 3
    assert held_of(target).spam == 1
    assert held_of(closed).spam == 2
    assert beside(closed) == {"ledger.sqlite", "copy"}, "no log is left"


def test_examined_while_another_opens_it(closed: str) -> None:
    """A read of one moment stays right, even if another process opens, writes and closes the ledger."""
    with Ledger(closed, only_read=True) as reader:
        with reader.snapshot():
            before = reader.lessons.totals().tolist()
            written_by_another(closed, "meanwhile")
            assert reader.lessons.totals().tolist() == before
            assert reader.lessons.verify() == []
        assert reader.lessons.totals()[1] == 2, "and afterwards what was written is seen"
    assert faults_of(closed) == []
    assert beside(closed) == {"ledger.sqlite"}


@contextmanager
def not_to_be_written(directory: str) -> Iterator[None]:
    """Make the directory and its files read-only for us."""
    os.chmod(os.path.join(directory, "ledger.sqlite"), 0o444)
    os.chmod(directory, 0o555)
    try:
        with unprivileged():
            yield
    finally:
        os.chmod(directory, 0o755)
        os.chmod(os.path.join(directory, "ledger.sqlite"), 0o644)


@contextmanager
def its_owner(directory: str) -> Iterator[None]:
    """For a while act as the user who may write there."""
    user = os.geteuid()
    if os.getuid() == 0:
        os.seteuid(0)
    os.chmod(directory, 0o755)
    os.chmod(os.path.join(directory, "ledger.sqlite"), 0o644)
    yield
    os.chmod(os.path.join(directory, "ledger.sqlite"), 0o444)
    os.chmod(directory, 0o555)
    os.seteuid(user)


@pytest.fixture
def public(closed: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The ledger in a directory that everybody reaches, and that we may not write."""
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        os.rename(closed, path := os.path.join(directory, "ledger.sqlite"))
        with not_to_be_written(directory):
            yield path


def test_where_nothing_may_be_written(public: str) -> None:
    """A ledger in a directory that we may not write is read, and nothing is made there."""
    assert faults_of(public) == []
    with Ledger(public, only_read=True) as reader, reader.snapshot():
        assert reader.lessons.totals()[1] == 1
        assert reader.lessons.verify() == []
        with pytest.raises(LedgerError):
            reader.state.restored_at = 1.0
    assert beside(public) == {"ledger.sqlite"}


@pytest.mark.thorough
def test_its_owner_writes_meanwhile(public: str) -> None:
    """If SQLite cannot separate readers and writers, a read during a write does not count."""
    looks = 0

    def look(sqlite: sqlite3.Connection) -> int:
        nonlocal looks
        looks += 1
        with its_owner(os.path.dirname(public)):
            if looks < 3:
                written_by_another(public, f"at look {looks}")
        return int(sqlite.execute("SELECT count(*) FROM message").fetchone()[0])

    assert look_into(public, look) == 3
    assert looks == 3


def test_its_owner_writes_again_and_again(public: str) -> None:
    """A ledger written at each look is reported as busy, not as damaged."""
    looks = 0

    def look(sqlite: sqlite3.Connection) -> None:
        nonlocal looks
        looks += 1
        with its_owner(os.path.dirname(public)):
            os.utime(public, ns=(looks, looks))
        raise sqlite3.DatabaseError("database disk image is malformed")

    with pytest.raises(LedgerBusyError, match="is being written"):
        look_into(public, look)
    with Ledger(public, only_read=True) as reader:
        assert reader.lessons.totals()[1] == 1
        with its_owner(os.path.dirname(public)):
            written_by_another(public, "meanwhile")
        with pytest.raises(LedgerBusyError, match="is being written"):
            reader.lessons.totals()


def test_a_log_that_a_kill_left(closed: str) -> None:
    """The commits in a log that a killed process left are read, and stay in the log."""
    with Ledger(closed) as ledger:
        fill(ledger, "late")
        log, kept = Path(closed + "-wal").read_bytes(), Path(closed).read_bytes()
    Path(closed).write_bytes(kept)
    Path(closed + "-wal").write_bytes(log)
    with Ledger(closed, only_read=True) as reader:
        assert reader.lessons.totals()[1] == 2
    assert faults_of(closed) == []
    assert (Path(closed).read_bytes(), Path(closed + "-wal").read_bytes()) == (kept, log)


# --- what only another program can have put into the file --------------------------------------------------

FOREIGN = {
    "a trigger": "CREATE TRIGGER evil AFTER INSERT ON message BEGIN DELETE FROM counts; END",
    "a view": "CREATE VIEW evil AS SELECT * FROM message",
    "an index": "CREATE INDEX evil ON message (summary)",
    "a table": "CREATE TABLE evil (a)",
}


def change(path: str, *statements: str) -> None:
    """As another program does."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        for statement in statements:
            other.execute(statement)


@pytest.mark.parametrize("statement", FOREIGN.values(), ids=FOREIGN)
def test_parts_of_another_program(closed: str, tmp_path: Path, statement: str) -> None:
    """A ledger with a foreign part cannot be restored, copied or started with."""
    evil = str(tmp_path / "evil.sqlite")
    copy(closed, evil)
    change(evil, statement)
    before = Path(closed).read_bytes()
    with pytest.raises(LedgerError, match=r"evil\.sqlite has parts that spamnb did not make .*evil"):
        restore(closed, evil, noon(9))
    assert Path(closed).read_bytes() == before
    change(closed, statement)
    with pytest.raises(LedgerError, match="did not make"):
        recover(closed, noon(9))
    with pytest.raises(LedgerError, match="did not make"):
        roll(closed, noon(9), 7)
    assert rolling(closed) == []


def test_a_changed_table(closed: str) -> None:
    """A table whose definition was changed is damage: the newest copy that has none takes the ledger's place."""
    sound = roll(closed, noon(1), 7)
    changed = sound.replace("1970-01-02.sqlite.gz", "1970-01-03.sqlite")
    copy(closed, changed)
    for path in (closed, changed):
        change(path, "ALTER TABLE state ADD COLUMN more DEFAULT 7")
        assert faults_of(path) == ["its table state is not as it should be"]
    done = recover(closed, noon(9))
    assert done is not None
    assert done.source == sound


def test_statistics_are_no_harm(closed: str) -> None:
    """The tables that SQLite's own ANALYZE adds do not count as foreign."""
    change(closed, "ANALYZE")
    assert faults_of(closed) == []


def test_a_damaged_packed_copy(closed: str) -> None:
    """A compressed copy that was changed or cut short anywhere is found to be, without unpacking it to the disk."""
    packed = Path(roll(closed, noon(1), 7))
    whole = packed.read_bytes()
    assert faults_of_copy(str(packed)) == []
    for damaged in (
        b"",
        whole[:-1],
        whole[: len(whole) // 2],
        whole + b"x",
        b"x" + whole[1:],
        whole[: len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 1]) + whole[len(whole) // 2 + 1 :],
    ):
        packed.write_bytes(damaged)
        assert len(faults_of_copy(str(packed))) == 1
        with pytest.raises(LedgerError, match="is damaged"):
            restore(closed, str(packed), noon(9))
    assert held_of(closed).spam == 1
    assert beside(closed) == {"ledger.sqlite", "copies"}


def test_a_packed_copy_that_unpacks_without_end(closed: str) -> None:
    """A copy that unpacks to a hundred times its size is damaged, and is not unpacked further."""
    bomb = Path(closed).parent / "bomb.sqlite.gz"
    bomb.write_bytes(gzip.compress(bytes(1 << 24), 9) * 8)
    with mock.patch("spamnb.ledger.copies.copy._SPARE", 1 << 20):
        assert faults_of_copy(str(bomb)) == ["it holds more than 100 times its size, which no copy does"]
        with pytest.raises(LedgerError, match="not restored, it is damaged"):
            restore(closed, str(bomb), noon(9))
    assert held_of(closed).spam == 1


def test_examining_is_broken_off(closed: str) -> None:
    """An exception between the steps ends an examination, and leaves the ledger unchanged."""

    class StopError(Exception):
        pass

    def stop() -> None:
        raise StopError

    with mock.patch("spamnb.ledger.file.readonly._STEPS", 100), pytest.raises(StopError):
        faults_of(closed, stop)
    assert held_of(closed).spam == 1
    assert beside(closed) == {"ledger.sqlite"}


def test_plain_copies_of_before(closed: str) -> None:
    """Uncompressed copies are readable; of one day the compressed one comes first."""
    packed = roll(closed, noon(1), 7)
    older, same = (packed.replace("1970-01-02.sqlite.gz", f"1970-01-0{day}.sqlite") for day in (1, 2))
    for plain in (older, same):
        copy(closed, plain)
    assert rolling(closed) == [packed, same, older]
    os.unlink(packed)
    os.truncate(same, 5000)
    os.truncate(closed, 5000)
    done = recover(closed, noon(9))
    assert done is not None
    assert done.source == older
    assert held_of(closed).spam == 1


def test_counts_of_a_copy_are_compared(closed: str) -> None:
    """A ledger whose counts are not the sum of its lessons makes no daily copy."""
    for statement in (
        wrong_count(7),
        "UPDATE total SET vocabulary = vocabulary - 1",
        "DELETE FROM lesson WHERE label = 1",
    ):
        with closing(sqlite3.connect(closed, isolation_level=None)) as other:
            other.execute("BEGIN")
            kept = Path(closed).read_bytes()
            other.execute("ROLLBACK")
        change(closed, "PRAGMA journal_mode = DELETE", statement)
        with pytest.raises(LedgerError, match=r"was not copied, it is damaged \(totals: counted"):
            roll(closed, noon(1), 7)
        Path(closed).write_bytes(kept)
    assert rolling(closed) == []
    roll(closed, noon(1), 7)


# --- the log ------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_large_log_is_emptied(path: str) -> None:
    """After many lessons no large log is left, even if another process has the ledger open."""
    with Ledger(path) as service:
        fill(service, "first")
        with Ledger(path) as command:
            with command.transaction():
                for number in range(3):
                    fill(command, f"lot {number}", 40_000)
            assert os.path.getsize(path + "-wal") > 1_000_000
        assert os.path.getsize(path + "-wal") == 0
        assert service.lessons.verify() == []


def test_a_log_that_is_read(path: str) -> None:
    """A log that a reader uses stays, and the next process to open the ledger empties it."""
    with Ledger(path) as service:
        fill(service, "first")
        with Ledger(path, only_read=True) as reader, reader.snapshot():
            assert reader.lessons.totals()[1] == 1
            with Ledger(path) as command, command.transaction():
                for number in range(3):
                    fill(command, f"lot {number}", 40_000)
            assert os.path.getsize(path + "-wal") > 1_000_000
            service.empty_log()
            assert os.path.getsize(path + "-wal") > 1_000_000
            assert reader.lessons.totals()[1] == 1
        service.empty_log()
        assert os.path.getsize(path + "-wal") == 0
        assert service.lessons.totals()[1] == 4


def test_a_log_that_cannot_be_emptied(path: str) -> None:
    """If the log cannot be emptied nothing else changes: a writer waits for others as long as before."""
    with Ledger(path) as ledger:
        fill(ledger, "a", 60_000)
        before = ledger._connection.row("PRAGMA busy_timeout")
        with ledger.transaction():
            ledger.empty_log()  # SQLite refuses it here
        assert ledger._connection.row("PRAGMA busy_timeout") == before
        assert os.path.getsize(path + "-wal") > 1_000_000


def test_read_while_it_is_written(path: str) -> None:
    """A reader keeps seeing one moment of a ledger with a log, and leaves the log unchanged."""
    with Ledger(path) as service:
        fill(service, "first")
        with Ledger(path, only_read=True) as reader:
            with reader.snapshot():
                assert reader.lessons.totals()[1] == 1
                learn(service, [lesson("b", 1, {"x": 1})])
                assert reader.lessons.totals()[1] == 1
            assert reader.lessons.totals()[1] == 2
        size = os.path.getsize(path + "-wal")
        assert size > 0
        Ledger(path, only_read=True).close()
        assert os.path.getsize(path + "-wal") == size
