"""Copies of the ledger: whole, of one moment, and never mistaken for one when they are not."""

import errno
import gzip
import os
import shutil
import stat
from collections import namedtuple
from datetime import datetime, timedelta
from pathlib import Path
from unittest import mock

import pytest

from spamnb.base.errors import LedgerDamagedError, LedgerError
from spamnb.ledger.copies.copy import copy, faults_of_copy, roll, write
from spamnb.ledger.file.parts import Sizes, directory_of, rolling, sizes
from spamnb.ledger.file.readonly import faults_of
from spamnb.ledger.ledger import Ledger
from tests.dying import DeathError, Fuse, dead
from tests.lessons import known, learn, lesson

Usage = namedtuple("Usage", "total used free")


def noon(day: int) -> float:
    """Return noon of a day in local time, in seconds since the epoch; day 1 is 2 January 1970."""
    return (datetime(1970, 1, 1, 12) + timedelta(days=day)).timestamp()


def fill(ledger: Ledger, name: str, tokens: int = 50) -> None:
    """Learn a message with tokens of its own."""
    learn(ledger, [lesson(name, 1, {"x": 1} | {f"{name}.{i}": 1 for i in range(tokens)})])


def plain(made: str) -> str:
    """Unpack a compressed copy as any program does, into a directory of its own."""
    unpacked = Path(made).parents[1] / "unpacked" / "ledger.sqlite"
    unpacked.parent.mkdir(exist_ok=True)
    unpacked.write_bytes(gzip.decompress(Path(made).read_bytes()))
    return str(unpacked)


def test_a_copy_is_a_ledger(ledger: Ledger, path: str) -> None:
    """A copy holds what the ledger holds, commits in its log among it, in one file for the owner alone."""
    fill(ledger, "a")
    made = roll(path, noon(1), 7)
    assert os.path.exists(path + "-wal")
    assert stat.S_IMODE(os.stat(made).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(directory_of(path)).st_mode) == 0o700
    assert os.listdir(directory_of(path)) == ["ledger-1970-01-02.sqlite.gz"]
    with Ledger(plain(made)) as copied:
        assert known(copied, "x") == [0, 1, 0, 1]
        assert copied.lessons.verify() == []


def test_the_newest_stay(ledger: Ledger, path: str) -> None:
    """The newest seven copies stay; files of other names beside them are left alone."""
    fill(ledger, "a")
    os.mkdir(directory_of(path))
    Path(directory_of(path), "ledger-of-old.sqlite").touch()
    for day in range(1, 11):
        roll(path, noon(day), 7)
    names = [os.path.basename(one) for one in rolling(path)]
    assert names == [f"ledger-1970-01-{day:02}.sqlite.gz" for day in range(11, 4, -1)]
    assert Path(directory_of(path), "ledger-of-old.sqlite").exists()


def test_copies_of_later_days(ledger: Ledger, path: str) -> None:
    """Copies of days to come, which a wrong clock has made, count as the oldest, and make room for those of today."""
    for day in (1001, 1002, 1, 2):
        roll(path, noon(day), 2)
    assert [os.path.basename(one) for one in rolling(path)] == [f"ledger-1970-01-0{day}.sqlite.gz" for day in (3, 2)]


def test_a_disk_that_damages_the_copy(ledger: Ledger, path: str) -> None:
    """A copy that its disk has damaged is not stored, and says nothing against the ledger."""
    fill(ledger, "a", 3000)

    def damaging(source: str, target: str, alive: object) -> None:
        copy(source, target)
        garble(target)

    with (
        mock.patch("spamnb.ledger.file.pages.copy", damaging),
        pytest.raises(LedgerError, match="the ledger itself is sound: check the disk of") as raised,
    ):
        roll(path, noon(1), 7)
    assert not isinstance(raised.value, LedgerDamagedError)
    assert rolling(path) == []


def test_of_one_moment(ledger: Ledger, path: str) -> None:
    """Lessons of others during the copying are wholly in the copy or not at all, and do not restart it."""
    fill(ledger, "first", 30_000)
    steps = 0

    def learn_more() -> None:
        nonlocal steps
        steps += 1
        assert steps < 200, "it begins anew, again and again"
        with Ledger(path) as other:
            fill(other, f"step {steps}", 3000)

    with mock.patch("spamnb.ledger.file.pages._PAGES", 50):
        made = roll(path, noon(1), 7, learn_more)
    assert steps > 3
    with Ledger(plain(made)) as copied:
        assert copied.lessons.verify() == []
        assert copied.lessons.totals()[1] == 1
    assert ledger.lessons.totals()[1] == steps + 1


@pytest.mark.parametrize("at", [1, 20, -1], ids=["of its first pages", "in the midst", "of its last compressed bytes"])
def test_killed_while_copying(ledger: Ledger, path: str, at: int) -> None:
    """A copy that is killed at any step leaves no copy of that name, and the older ones; later its rest is removed."""
    fill(ledger, "a", 20_000)
    steps: list[None] = []
    directory = Path(directory_of(path))
    rest = directory / ".ledger-1970-01-03.sqlite.gz.77.part"

    def die() -> None:
        steps.append(None)
        if len(steps) == at:
            shutil.copy(max(directory.glob(".*.part"), key=os.path.getmtime), rest)  # as it lies there at death
            raise DeathError

    with mock.patch("spamnb.ledger.file.pages._PAGES", 20), mock.patch("spamnb.ledger.file.pages._CHUNK", 50_000):
        old = roll(path, noon(1), 7, lambda: steps.append(None))
        at = at if at > 0 else len(steps)
        steps.clear()
        with pytest.raises(DeathError):
            roll(path, noon(2), 7, die)
    assert rest.exists()
    assert rolling(path) == [old]
    os.utime(rest, (0, 0))
    roll(path, noon(3), 7)
    assert sorted(os.listdir(directory)) == ["ledger-1970-01-02.sqlite.gz", "ledger-1970-01-04.sqlite.gz"]


def test_killed_before_any_call(ledger: Ledger, path: str) -> None:
    """Killed before any call that makes a copy durable or gives it its name, each copy with a name is whole."""
    fill(ledger, "a")
    old = roll(path, noon(1), 7)
    outcomes = set()
    for at in range(1, 100):
        fuse = Fuse(at, dead)
        calls = {name: fuse.through(getattr(os, name)) for name in ("rename", "fsync", "unlink")}
        try:
            with mock.patch.multiple(os, **calls):
                roll(path, noon(2), 1)
            killed = False
        except DeathError:
            killed = True
        copies = rolling(path)
        assert [faults_of_copy(one) for one in copies] == [[]] * len(copies)
        outcomes.add((killed, len(copies), old in copies))
        if not killed:
            break
        for one in Path(directory_of(path)).iterdir():
            if str(one) != old:
                one.unlink()
        assert os.path.exists(old)
    assert outcomes == {(True, 1, True), (True, 2, True), (False, 1, False)}


def test_full_disk(ledger: Ledger, path: str) -> None:
    """If a copy would fill the disk none is begun, and the older ones stay."""
    fill(ledger, "a")
    old = roll(path, noon(1), 1)
    with (
        mock.patch("spamnb.ledger.copies.copy.shutil.disk_usage", return_value=Usage(0, 0, 1000)),
        pytest.raises(LedgerError, match=r"too little space in .*: free \d+ MB"),
    ):
        roll(path, noon(2), 1)
    assert rolling(path) == [old]


@pytest.mark.parametrize("call", ["rename", "fsync", "makedirs"])
def test_disk_that_refuses(ledger: Ledger, path: str, call: str) -> None:
    """A disk that fails at any point is an error that names the copy, and the older ones stay."""
    fill(ledger, "a")
    old = roll(path, noon(1), 1)
    with (
        mock.patch(f"spamnb.ledger.copies.copy.os.{call}", side_effect=OSError(28, "No space left on device")),
        pytest.raises(LedgerError, match=r"could not be copied to .*1970-01-03.*No space left.*; free some space"),
    ):
        roll(path, noon(2), 1)
    assert rolling(path) == [old]
    assert os.listdir(directory_of(path)) == [os.path.basename(old)]


@pytest.mark.parametrize(
    ("number", "step"),
    [
        (errno.EACCES, "check who owns that directory: this user may not write to it"),
        (errno.EROFS, "mount its disk for writing"),
        (errno.EIO, "check its disk"),
    ],
)
def test_what_to_do_about_a_copy(ledger: Ledger, path: str, number: int, step: str) -> None:
    """The error of a copy that cannot be made says what to do."""
    fill(ledger, "a")
    with (
        mock.patch("spamnb.ledger.copies.copy.os.makedirs", side_effect=OSError(number, os.strerror(number))),
        pytest.raises(LedgerError, match=rf"copied to .*: {os.strerror(number)}; {step}$"),
    ):
        roll(path, noon(1), 1)


def test_damaged_ledger_is_not_copied(path: str) -> None:
    """A damaged ledger makes no copy, so that it cannot push the sound ones out."""
    with Ledger(path) as ledger:
        fill(ledger, "a", 5000)
    old = roll(path, noon(1), 1)
    garble(path)
    assert faults_of(path)
    with pytest.raises(LedgerError, match="damaged"):
        roll(path, noon(2), 1)
    assert rolling(path) == [old]


def garble(path: str) -> None:
    """Overwrite pages in the middle of a file."""
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 4096 // 2 * 4096)
        file.write(b"\xff" * 4096 * 8)


def test_a_file_that_is_there(ledger: Ledger, path: str, tmp_path: Path) -> None:
    """A file that is not to be replaced is not, even if it appears while the copy is made."""
    fill(ledger, "a")
    target = tmp_path / "target"
    with pytest.raises(FileExistsError):
        write(path, str(target), lambda: target.write_text("theirs"), replace=False)
    assert target.read_text() == "theirs"
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize("name", ["copy.sqlite", "copy.sqlite.gz"])
def test_where_there_are_no_hard_links(
    ledger: Ledger, path: str, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a file system without hard links, as on a memory stick, a copy is made, and replaces nothing unasked."""

    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refused)
    fill(ledger, "a")
    final = tmp_path / "stick" / name
    final.parent.mkdir()
    write(path, str(final), replace=False)
    assert faults_of_copy(str(final)) == []
    with pytest.raises(FileExistsError):
        write(path, str(final), replace=False)
    assert list(final.parent.iterdir()) == [final]


def test_looking_changes_nothing(path: str) -> None:
    """Reading a ledger neither changes it nor makes a file beside it, with a full log or without one."""
    ledger = Ledger(path)
    fill(ledger, "a")
    directory = os.path.dirname(path)
    before = {name: Path(directory, name).read_bytes() for name in os.listdir(directory) if not name.endswith("-shm")}
    assert f"{os.path.basename(path)}-wal" in before
    with Ledger(path, only_read=True) as reader:
        assert known(reader, "x") == [0, 1, 0, 1]
        assert reader.lessons.verify() == []
        with pytest.raises(LedgerError):
            reader.state.restored_at = 1.0
    assert faults_of(path) == []
    assert before == {
        name: Path(directory, name).read_bytes() for name in os.listdir(directory) if not name.endswith("-shm")
    }
    ledger.close()
    before = {name: Path(directory, name).read_bytes() for name in os.listdir(directory)}
    with Ledger(path, only_read=True) as reader:
        assert known(reader, "x") == [0, 1, 0, 1]
    assert before == {name: Path(directory, name).read_bytes() for name in os.listdir(directory)}


def test_nothing_to_read(tmp_path: Path) -> None:
    """A missing ledger is an error for a reader, and is not made."""
    with pytest.raises(LedgerError, match="There is no ledger"):
        Ledger(str(tmp_path / "a" / "ledger"), only_read=True)
    assert list(tmp_path.iterdir()) == []


def test_sizes(ledger: Ledger, path: str, tmp_path: Path) -> None:
    """The sizes of the ledger, its log and its copies; 0 for missing ones."""
    fill(ledger, "a")
    made = [roll(path, noon(day), 7) for day in (1, 2)]
    expected = Sizes(os.path.getsize(path), os.path.getsize(path + "-wal"), sum(map(os.path.getsize, made)))
    assert sizes(path) == expected
    assert min(expected.ledger, expected.wal, expected.copies) > 0
    assert sizes(str(tmp_path / "not" / "there")) == Sizes(0, 0, 0)
