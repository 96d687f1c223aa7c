"""The register: what is written is read, whoever writes, and no file in its place ends in more than a sentence."""

import errno
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.base.errors import RegisterError
from spamnb.base.label import Verdict
from spamnb.base.wording import escaped
from spamnb.host.register import (
    AccountRow,
    FilterState,
    Sums,
    by_need,
    drop,
    files_in,
    line_of,
    path_of,
    read,
    remove_of_other_shares,
    write,
)
from spamnb.host.shares import Share
from tests.dying import killed
from tests.faults.conftest import filled, mounted
from tests.table import over_rows
from tests.traced import calls, killed_before

ONLY = Share()
ANNA = AccountRow("anna@a.example", "/mail/a.example/anna", FilterState.MOVING, 7, ham=20, spam=30, judged={"ham": 5})
BOB = AccountRow(
    "bob@a.example", "/mail/a.example/bob", FilterState.BROKEN, fault="no inbox", fault_since=5.0, bytes=100
)

times = st.none() | st.floats(0, 4e9)
numbers = st.integers(0, 2**40)
rows = st.builds(
    AccountRow,
    name=st.text(st.characters(codec="utf-8"), min_size=1, max_size=20),
    root=st.binary(min_size=1, max_size=30).map(os.fsdecode),
    state=st.sampled_from(FilterState),
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
    copied_at=times,
    uncopied_since=times,
)


def put(directory: Path, *some: AccountRow, share: Share = ONLY) -> Path:
    """Write the file of a share. Returns its path."""
    write(path_of(directory, share), map(line_of, some))
    return path_of(directory, share)


@given(st.lists(rows, max_size=5, unique_by=lambda row: row.name))
def test_what_is_written_is_read(some: list[AccountRow]) -> None:
    """Any row is read as it was written, with its fault on one line."""
    with tempfile.TemporaryDirectory() as directory:
        put(Path(directory), *some)
        kept = [replace(row, fault=escaped(row.fault)[:500]) for row in some]
        assert read(Path(directory)) == sorted(kept, key=lambda row: row.name)


def test_sums() -> None:
    """The sums are over all rows, with each state and each verdict."""
    found = Sums.of([ANNA, BOB, replace(ANNA, judged_at=9.0, corrected=2)])
    assert (
        found.users,
        found.states[FilterState.MOVING],
        found.states[FilterState.BROKEN],
        found.states[FilterState.GONE],
    ) == (
        3,
        2,
        1,
        0,
    )
    assert (found.faulty, found.ham, found.spam, found.corrected, found.bytes) == (1, 40, 60, 2, 100)
    assert (found.judged, found.judged_at) == ({"ham": 10, "spam": 0, "unsure": 0}, 9.0)
    assert (Sums.of([]).judged_at, Sums.of([]).uncopied_since) == (None, None)
    waiting = [replace(BOB, uncopied_since=since) for since in (7.0, 3.0)]
    assert Sums.of([ANNA, *waiting]).uncopied_since == 3.0


def test_the_worst_first() -> None:
    """Those that need somebody most come first: broken, stopped, with a fault, corrected most; then by name."""
    some = [
        AccountRow("a", "/a", FilterState.MOVING),
        AccountRow("b", "/b", FilterState.LEARNING, corrected=2),
        AccountRow("c", "/c", FilterState.MOVING, corrected=5),
        AccountRow("d", "/d", FilterState.PAUSED, fault="the disk is full"),
        AccountRow("e", "/e", FilterState.STOPPED),
        AccountRow("f", "/f", FilterState.BROKEN),
        AccountRow("g", "/g", FilterState.STOPPED, corrected=1),
    ]
    assert [row.name for row in by_need(some)] == ["f", "g", "e", "d", "c", "b", "a"]


def test_several_services(tmp_path: Path) -> None:
    """The rows of all services are read together; if several files have a user, the one written last counts."""
    old = put(tmp_path, ANNA, replace(BOB, ham=5), share=Share(1, 2))
    os.utime(old, (1e9, 1e9))
    put(tmp_path, BOB, share=Share(2, 2))
    assert read(tmp_path) == [ANNA, BOB]


def test_other_shares(tmp_path: Path) -> None:
    """The files of a former number of services are removed once each service of today has written its own."""
    former = put(tmp_path, ANNA, BOB)
    put(tmp_path, ANNA, share=Share(1, 2))
    remove_of_other_shares(tmp_path, Share(1, 2))
    assert former.exists()
    put(tmp_path, share=Share(2, 2))
    remove_of_other_shares(tmp_path, Share(2, 2))
    assert read(tmp_path) == [ANNA]


def test_dropped(tmp_path: Path) -> None:
    """A user who is dropped is in no file, and the others stay."""
    put(tmp_path, ANNA, BOB, share=Share(1, 2))
    put(tmp_path, ANNA, share=Share(2, 2))
    drop(tmp_path, ANNA.name)
    drop(tmp_path, "nobody@a.example")
    assert read(tmp_path) == [BOB]


def test_for_its_owner_only(tmp_path: Path) -> None:
    """The file is made for its owner alone, and nothing else stays beside it."""
    assert stat.S_IMODE(put(tmp_path, ANNA).stat().st_mode) == 0o600
    assert len(os.listdir(tmp_path)) == 1


def test_before_a_service_has_begun(tmp_path: Path) -> None:
    """Without a file, or without its directory, nobody is known, and nothing is made."""
    assert read(tmp_path) == read(tmp_path / "none") == []
    assert files_in(tmp_path) == os.listdir(tmp_path) == []


def without(key: str) -> bytes:
    """A line without a key."""
    return json.dumps({name: value for name, value in json.loads(line_of(BOB)).items() if name != key}).encode()


def but(key: str, value: object) -> bytes:
    """A line with another value."""
    return json.dumps(json.loads(line_of(BOB)) | {key: value}).encode()


DAMAGES = {
    "nothing": b"",
    "another file": b"This is no register.",
    "no UTF-8": b'{"name": "\xff"}',
    "cut short": line_of(BOB).encode()[:-9],
    "a list": b"[1]",
    "deep": b"[" * 100_000,
    "no name": without("name"),
    "no state": but("state", "odd"),
    "no number": but("ham", "many"),
    "a truth for a number": but("ham", True),
    "a number for a truth": but("polled", 1),
    "no time": but("gone_at", "today"),
    "no end of time": but("gone_at", float("inf")),
    "judged otherwise": but("judged", [1]),
    "no verdict": but("judged", {"odd": 1}),
    "no number of a verdict": but("judged", {"ham": "many"}),
    "no path": but("root", 5),
}


@over_rows("damage", DAMAGES.values())
def test_damaged(tmp_path: Path, damage: bytes) -> None:
    """A line that spamnb did not write counts as missing, and all others are read."""
    path = put(tmp_path, ANNA)
    path.write_bytes(damage + b"\n" + path.read_bytes())
    assert read(tmp_path) == [ANNA]


def test_earlier_version(tmp_path: Path) -> None:
    """What an earlier version did not write has its default, so nobody is unknown after an upgrade."""
    path_of(tmp_path, Share()).write_bytes(without("new_since") + b"\n")
    assert read(tmp_path) == [BOB]


def test_later_version(tmp_path: Path) -> None:
    """What a later version adds to a line is passed over."""
    path_of(tmp_path, Share()).write_bytes(but("more", {"than": "today"}) + b"\n")
    assert read(tmp_path) == [BOB]


def test_odd_files(tmp_path: Path) -> None:
    """Only regular files with the name of a share are read."""
    put(tmp_path, ANNA)
    (tmp_path / "register-2-of-3.jsonl").mkdir()
    (tmp_path / "register-3-of-3.jsonl").symlink_to(tmp_path / "none")
    os.mkfifo(tmp_path / "register-1-of-3.jsonl")
    (tmp_path / "register-x-of-3.jsonl").write_text(line_of(BOB))
    assert read(tmp_path) == [ANNA]


def test_full_disk(tmp_path: Path) -> None:
    """On a full disk the old file stays, and the error says to free space."""
    with mounted(tmp_path / "disk") as disk:
        put(disk, ANNA)
        many = [replace(BOB, name=f"{number}@a.example", root="/" * 4000) for number in range(100)]
        with filled(disk), pytest.raises(RegisterError, match="is full: free some space"):
            put(disk, *many)
        assert read(disk) == [ANNA]
        put(disk, *many)
        assert len(read(disk)) == 100


def test_what_is_in_the_way(tmp_path: Path) -> None:
    """A file in the place of the directory, and a directory in the place of the file, are reported in words."""
    (tmp_path / "file").write_text("x")
    path_of(tmp_path, Share()).mkdir()
    for directory in (tmp_path / "file", tmp_path, tmp_path / "none"):
        with pytest.raises(RegisterError, match=r"cannot be used \(.*\): check its directory"):
            put(directory, ANNA)
    assert len(os.listdir(tmp_path)) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_of_another_owner() -> None:
    """Who may not read or write the register gets an error in words."""
    with tempfile.TemporaryDirectory() as state:  # which others can reach, unlike the directories of tests
        directory = Path(state)
        put(directory, ANNA)
        for mode in (0o700, 0o755):
            os.chmod(state, mode)
            assert not killed(lambda: refused_to_nobody(directory))
        assert read(directory) == [ANNA]


def refused_to_nobody(directory: Path) -> None:
    """What another user is told."""
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    todo: tuple[Callable[[], object], ...] = (lambda: read(directory), lambda: put(directory, BOB))
    for do in todo:
        with pytest.raises(RegisterError, match=f"cannot be used .*{os.strerror(errno.EACCES)}"):
            do()


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_killed_at_any_system_call(tmp_path: Path) -> None:
    """Killed before any system call of writing, the file is the old one or the new one, and is written again."""
    state = tmp_path / "state"

    def again() -> None:
        shutil.rmtree(state, ignore_errors=True)
        state.mkdir()
        put(state, ANNA)

    def work() -> None:
        put(state, ANNA, BOB)

    again()
    points = [(call, at) for call, number in calls(work, tmp_path / "log").items() for at in range(1, number + 1)]
    assert {"write", "openat", "rename"} <= {call for call, _ in points}
    for call, at in points:
        again()
        assert killed_before(work, call, at), f"lived through {call} {at}"
        assert read(state) in ([ANNA], [ANNA, BOB])
        put(state, BOB)
        assert read(state) == [BOB]
