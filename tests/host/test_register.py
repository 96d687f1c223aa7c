"""The register: what is put is found, whoever writes, and no file that may be there ends in more than a sentence."""

import errno
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.base.errors import RegisterBusyError, RegisterDamagedError, RegisterError, RegisterMissingError
from spamnb.base.label import Verdict
from spamnb.base.wording import escaped
from spamnb.host.register import AccountRow, Register, State, Sums
from spamnb.ledger.ledger import Ledger
from tests.dying import killed
from tests.faults.conftest import filled, mounted
from tests.traced import calls, killed_before

ANNA = AccountRow("anna@a.example", "/mail/a.example/anna", State.MOVING, 7, ham=20, spam=30, judged={"ham": 5})
BOB = AccountRow("bob@a.example", "/mail/a.example/bob", State.BROKEN, fault="no inbox", fault_since=5.0, bytes=100)

times = st.none() | st.floats(0, 4e9)
numbers = st.integers(0, 2**40)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
rows = st.builds(
    AccountRow,
    name=names,
    root=st.binary(min_size=1, max_size=30).map(os.fsdecode),
    state=st.sampled_from(State),
    stamp=st.none() | st.integers(-(2**63), 2**63 - 1),
    fault=st.text(max_size=600),
    fault_since=times,
    gone_at=times,
    looked_after_at=times,
    ham=numbers,
    spam=numbers,
    judged=st.dictionaries(st.sampled_from([str(verdict) for verdict in Verdict]), numbers),
    corrected=numbers,
    judged_at=times,
    bytes=numbers,
    polled=st.booleans(),
)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where a register is made, in a directory of its own."""
    return str(tmp_path / "state" / "register.sqlite")


def found(path: str) -> list[AccountRow]:
    """All rows, as a command reads them."""
    with Register(path, only_read=True) as register:
        return register.all()


@contextmanager
def edited(path: str) -> Iterator[sqlite3.Connection]:
    """The register as any program may change it."""
    with closing(sqlite3.connect(path)) as sqlite, sqlite:
        yield sqlite


@given(st.lists(rows, max_size=5, unique_by=lambda row: row.name))
def test_what_is_put_is_found(put: list[AccountRow]) -> None:
    """Any row is found as it was put, with its fault on one line, and the sums are those of all rows."""
    with tempfile.TemporaryDirectory() as directory, Register(os.path.join(directory, "register")) as register:
        register.put(put)
        kept = [replace(row, fault=escaped(row.fault)[:500]) for row in put]
        assert register.all() == sorted(kept, key=lambda row: row.name.encode())
        assert [register.find(row.name) for row in put] == kept
        assert register.sums() == sums_of(kept)
        some = {row.name for row in put[::2]}
        assert register.sums(some.__contains__) == sums_of(kept[::2])


def sums_of(rows: list[AccountRow]) -> Sums:
    """The sums, as one says them."""
    return Sums(
        {state: sum(row.state is state for row in rows) for state in State},
        sum(bool(row.fault) for row in rows),
        sum(row.ham for row in rows),
        sum(row.spam for row in rows),
        {str(verdict): sum(row.judged.get(str(verdict), 0) for row in rows) for verdict in Verdict},
        sum(row.corrected for row in rows),
        max((row.judged_at for row in rows if row.judged_at is not None), default=None),
        sum(row.bytes for row in rows),
    )


def test_in_the_place_of_what_was_known(path: str) -> None:
    """A row takes the place of the one before it, all rows of a put or none, and a forgotten one is gone."""
    with Register(path) as register:
        register.put([ANNA, BOB])
        register.put([replace(BOB, fault="", fault_since=None, state=State.LEARNING)])
        assert [row.state for row in register.all()] == [State.MOVING, State.LEARNING]
        with pytest.raises(OverflowError):
            register.put([replace(ANNA, ham=21), replace(BOB, stamp=2**64)])
        assert register.find(ANNA.name) == ANNA
        register.forget(ANNA.name)
        register.forget("nobody@a.example")
        assert [row.name for row in register.all()] == [BOB.name]
        assert register.find(ANNA.name) is None


def test_for_its_owner_only(path: str) -> None:
    """The file and its directory are made for their owner alone."""
    with Register(path) as register:
        register.put([ANNA])
        files = [*Path(path).parent.iterdir()]
        assert {stat.S_IMODE(file.stat().st_mode) for file in files if not file.name.endswith(".use.lock")} == {0o600}
        assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


def test_the_worst_first(path: str) -> None:
    """Those that need somebody most come first: broken, stopped, with a fault, corrected most; then by name."""
    rows = [
        AccountRow("a", "/a", State.MOVING),
        AccountRow("b", "/b", State.LEARNING, corrected=2),
        AccountRow("c", "/c", State.MOVING, corrected=5),
        AccountRow("d", "/d", State.PAUSED, fault="the disk is full"),
        AccountRow("e", "/e", State.STOPPED),
        AccountRow("f", "/f", State.BROKEN),
        AccountRow("g", "/g", State.STOPPED, corrected=1),
    ]
    with Register(path) as register:
        register.put(rows)
        assert [row.name for row in register.worst()] == ["f", "g", "e", "d", "c", "b", "a"]
        assert [row.name for row in register.worst(2)] == ["f", "g"]
        assert register.worst(0) == []
        assert register.sums().users == 7


def test_several_services(path: str) -> None:
    """What several processes put at once, into a register that none of them has found, is all there."""
    with Register(path) as first:
        first.put([ANNA])
    children = []
    for share in range(3):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with Register(path) as register:
                    for number in range(30):
                        register.put([replace(BOB, name=f"{share}-{number}")])
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert len(found(path)) == 91


def test_only_read(path: str) -> None:
    """Who only reads makes nothing, changes nothing, and is told where there is no register, or one without tables."""
    with pytest.raises(RegisterMissingError, match="no service of this host has started"):
        Register(path, only_read=True)
    assert not os.path.exists(os.path.dirname(path))
    with Register(path) as register:
        register.put([ANNA])
        assert found(path) == [ANNA]
    before = os.listdir(os.path.dirname(path)), Path(path).read_bytes()
    with Register(path, only_read=True) as register:
        assert register.all() == [ANNA]
        with pytest.raises(RegisterError):
            register.put([BOB])
    assert (os.listdir(os.path.dirname(path)), Path(path).read_bytes()) == before
    os.truncate(path, 0)
    with pytest.raises(RegisterMissingError):
        Register(path, only_read=True)


def truncated(path: str) -> None:
    """Its end is gone."""
    os.truncate(path, os.path.getsize(path) * 2 // 3)


def overwritten(path: str) -> None:
    """Its pages hold something else."""
    with open(path, "r+b") as file:
        file.seek(1024)
        file.write(os.urandom(os.path.getsize(path) - 1024))


def no_database(path: str) -> None:
    """It is any other file."""
    Path(path).write_bytes(b"This is no database.\n" * 100)


def changed(statement: str) -> Callable[[str], None]:
    """A statement has made it what spamnb never makes it."""

    def change(path: str) -> None:
        with edited(path) as sqlite:
            sqlite.execute(statement)

    return change


DAMAGES = {
    "truncated": truncated,
    "overwritten": overwritten,
    "no database": no_database,
    "another table": changed("ALTER TABLE account RENAME TO accounts"),
    "a column less": changed("ALTER TABLE account DROP COLUMN spam"),
    "no state": changed("UPDATE account SET state = 'odd'"),
    "no JSON": changed("UPDATE account SET judged = 'odd'"),
    "deep JSON": changed(f"UPDATE account SET judged = '{'[' * 100_000}'"),
    "JSON of another kind": changed("UPDATE account SET judged = '[1]'"),
    "no number in JSON": changed("""UPDATE account SET judged = '{"ham": "many"}'"""),
    "no verdict in JSON": changed("""UPDATE account SET judged = '{"odd": 1}'"""),
    "no number": changed("UPDATE account SET ham = 'many'"),
    "no text": changed("UPDATE account SET fault = x'00ff'"),
    "no UTF-8": changed("UPDATE account SET fault = CAST(x'ff' AS TEXT)"),
    "no path": changed("UPDATE account SET root = 5"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged(path: str, damage: Callable[[str], None]) -> None:
    """A damaged register is said to be so where it is only read; the service has it moved aside and goes on."""
    with Register(path) as register:
        register.put([replace(ANNA, name=f"{number}@a.example") for number in range(40)])
    damage(path)
    content = Path(path).read_bytes()
    with pytest.raises(RegisterDamagedError, match="start the service; it makes a new one"):
        found(path)
    assert Path(path).read_bytes() == content
    with Register(path) as register:
        assert register.all() == []
        register.put([BOB])
    assert found(path) == [BOB]
    (aside,) = Path(path).parent.glob("register.sqlite.damaged-*Z")
    assert aside.read_bytes() == content


def test_damaged_while_several_have_it_open(path: str) -> None:
    """A damaged register is replaced once no process has it open, and each finds that out when it next uses it."""
    with Register(path) as other, Register(path, busy_seconds=0.1) as register:
        other.put([ANNA])
        with edited(path) as sqlite:
            sqlite.execute("UPDATE account SET state = 'odd'")
        with pytest.raises(RegisterBusyError):
            register.all()
        with pytest.raises(RegisterBusyError):
            register.put([BOB])
        other.put([ANNA])
        register.put([BOB])
        other.put([replace(ANNA, ham=21)])
        assert register.all() == other.all() == [replace(ANNA, ham=21), BOB]
    assert len([*Path(path).parent.glob("register.sqlite.damaged-*Z")]) == 1
    assert found(path) == [replace(ANNA, ham=21), BOB]


def test_from_an_earlier_version(path: str) -> None:
    """A register without the column `polled` is read as it is; a service adds the column and keeps all rows."""
    with Register(path) as register:
        register.put([ANNA, BOB])
    with edited(path) as sqlite:
        sqlite.execute("ALTER TABLE account DROP COLUMN polled")
    before = Path(path).read_bytes()
    assert found(path) == [ANNA, BOB]
    assert Path(path).read_bytes() == before
    with Register(path) as register:
        register.put([replace(BOB, polled=True)])
    assert found(path) == [ANNA, replace(BOB, polled=True)]


def test_read_by_an_earlier_version(path: str) -> None:
    """A program that does not know the column `polled` goes on with a register that has it."""
    with Register(path) as register:
        register.put([ANNA, replace(BOB, polled=True)])
        with edited(path) as sqlite:  # as that program puts a row: by the names of its columns
            sqlite.execute("CREATE TEMP TABLE old AS SELECT * FROM account")
            sqlite.execute("ALTER TABLE old DROP COLUMN polled")
            names = ", ".join(row[1] for row in sqlite.execute("PRAGMA table_info(old)"))
            sqlite.execute(f"INSERT OR REPLACE INTO account ({names}) SELECT {names} FROM old")
        assert register.all() == [ANNA, BOB]


def test_removed_while_it_is_open(path: str) -> None:
    """Where the file was moved away by hand, the service goes on with a new one."""
    with Register(path) as register:
        register.put([ANNA])
        os.rename(path, path + ".old")
        register.put([BOB])
        assert register.all() == [BOB]


def of_later_version(path: str) -> None:
    """What a later program has written."""
    with edited(path) as sqlite:
        sqlite.execute("PRAGMA user_version = 2")
        sqlite.execute("ALTER TABLE account ADD COLUMN more TEXT NOT NULL DEFAULT ''")


def test_later_version(path: str) -> None:
    """The register of a later program is refused in words and not touched, also where it was upgraded meanwhile."""
    with Register(path) as register:
        register.put([ANNA])
        of_later_version(path)
        with pytest.raises(RegisterError, match="was upgraded while it was in use: start again"):
            register.put([BOB])
    content = Path(path).read_bytes()
    for only_read in (True, False):
        with pytest.raises(RegisterError, match=r"later spamnb \(its version is 2, this one knows up to 1\)"):
            Register(path, only_read=only_read)
    assert Path(path).read_bytes() == content


def test_database_of_another_program(path: str) -> None:
    """Another program's database, as a ledger in this place, is refused in words and not touched."""
    Ledger(path).close()
    content = Path(path).read_bytes()
    for only_read in (True, False):
        with pytest.raises(RegisterError, match="a database of another program"):
            Register(path, only_read=only_read)
    assert Path(path).read_bytes() == content


def test_busy(path: str) -> None:
    """Where another process writes for longer than is waited, that is said, nothing is lost, and it can go on."""
    with Register(path, busy_seconds=0.05) as register:
        register.put([ANNA])
        with edited(path) as sqlite:
            sqlite.execute("BEGIN IMMEDIATE")
            with pytest.raises(RegisterBusyError, match="try again in a moment") as raised:
                register.put([BOB])
            assert raised.value.exit_code == 75
            assert register.all() == [ANNA]
        register.put([BOB])
        assert register.all() == [ANNA, BOB]


def test_full_disk(tmp_path: Path) -> None:
    """On a full disk that is said, and there is nothing to be done but to make room."""
    with mounted(tmp_path / "disk") as disk:
        path = str(disk / "register.sqlite")
        with filled(disk), pytest.raises(RegisterError, match="is full: free some space"):
            Register(path, busy_seconds=0.1)
        with Register(path) as register:
            register.put([ANNA])
            many = [replace(BOB, name=f"{number}@a.example", root="/" * 4000) for number in range(100)]
            with filled(disk), pytest.raises(RegisterError, match="is full: free some space"):
                register.put(many)
            assert register.all() == [ANNA]
            register.put(many)
            assert len(register.all()) == 101


@pytest.mark.parametrize("only_read", [False, True])
def test_what_is_in_the_way(tmp_path: Path, only_read: bool) -> None:
    """A file in the place of its directory, and a directory in its own, are said in words."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "register.sqlite").mkdir()
    for place in ("file/register.sqlite", "register.sqlite"):
        with pytest.raises(RegisterError, match=r"cannot be used \(.*\): check its directory|does not exist"):
            Register(str(tmp_path / place), only_read=only_read)
    assert sorted(os.listdir(tmp_path)) == ["file", "register.sqlite"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_of_another_owner() -> None:
    """Who may not read or write the register is told so in words."""
    with tempfile.TemporaryDirectory() as state:  # which others can reach, unlike the directories of tests
        path = os.path.join(state, "register.sqlite")
        with Register(path) as register:
            register.put([ANNA])
        for mode in (0o700, 0o755):
            os.chmod(state, mode)
            assert not killed(lambda: refused_to_nobody(path))
        assert found(path) == [ANNA]


def refused_to_nobody(path: str) -> None:
    """What another user is told."""
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    for only_read in (False, True):
        with pytest.raises(RegisterError, match=f"cannot be used .*({os.strerror(errno.EACCES)}|unable to open)"):
            Register(path, only_read=only_read)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize(  # each so many of the calls; all take 10 s
    "every", [16, pytest.param(4, marks=pytest.mark.thorough), pytest.param(1, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("before", ["no register", "a register", "a damaged one"])
def test_killed_at_any_system_call(tmp_path: Path, before: str, every: int) -> None:
    """Killed before any system call of opening, putting and closing, the next process finds a register of whole puts.

    Where it was damaged, it is that, or is made again.
    """
    state, path = tmp_path / "state", str(tmp_path / "state" / "register.sqlite")
    first = [replace(ANNA, name=f"{number}@a.example") for number in range(20)]

    def again() -> None:
        shutil.rmtree(state, ignore_errors=True)
        if before != "no register":
            with Register(path) as register:
                register.put(first)
        if before == "a damaged one":
            truncated(path)

    def work() -> None:
        with Register(path) as register:
            register.put([ANNA, BOB])
            register.put([replace(BOB, ham=1)])

    again()
    points = [(call, at) for call, number in calls(work, tmp_path / "log").items() for at in range(1, number + 1)]
    assert {"pwrite64", "openat", "close"} <= {call for call, _ in points}
    base = first if before == "a register" else []
    whole = [[*base], [*base, ANNA, BOB], [*base, ANNA, replace(BOB, ham=1)]]
    for call, at in points[::every]:
        again()
        assert killed_before(work, call, at), f"lived through {call} {at}"
        with Register(path) as register:
            kept = register.all()
            assert sorted(kept, key=lambda row: row.name) in [sorted(rows, key=lambda row: row.name) for rows in whole]
            register.put([BOB])
            assert BOB in register.all()
