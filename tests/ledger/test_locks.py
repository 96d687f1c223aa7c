"""Locks that a stranger cannot hold against us, and the process that owns the ledger's place."""

import fcntl
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from spamnb.base.errors import LedgerBusyError
from spamnb.ledger.copies.copy import roll
from spamnb.ledger.copies.recovery import recover
from spamnb.ledger.file.locks import open_lock
from spamnb.ledger.file.replacement import holding
from spamnb.ledger.ledger import Ledger
from tests.ledger.test_copies import fill, noon
from tests.ledger.test_schema import unprivileged

LOCK = """
import fcntl, os, sys
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
locked = 0
for path in sys.argv[1:]:
    try:
        fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        continue
    locked += 1
print(locked, flush=True)
sys.stdin.readline()
"""


@contextmanager
def locked_by_a_stranger(*paths: str) -> Iterator[int]:
    """Another user locks all of those paths that it can open; how many."""
    with subprocess.Popen([sys.executable, "-c", LOCK, *paths], stdin=-1, stdout=-1, text=True) as stranger:
        assert stranger.stdin is not None
        assert stranger.stdout is not None
        yield int(stranger.stdout.readline())
        stranger.stdin.close()


@pytest.fixture
def public() -> Iterator[str]:
    """A directory that everybody can reach and list, and only we can write."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield directory


def inside(directory: str) -> list[str]:
    """Return a directory with all its contents."""
    return [directory, *(os.path.join(directory, name) for name in os.listdir(directory))]


@pytest.mark.parametrize("mode", [0o700, 0o770, 0o1777, 0o730])
def test_a_directory_of_our_own(tmp_path: Path, mode: int) -> None:
    """A directory that only its writers can open is locked itself, and no file is made."""
    directory = tmp_path / "ours"
    directory.mkdir()
    os.chmod(directory, mode)
    os.chmod(tmp_path, 0o755)
    lock, is_lock = open_lock(str(directory), "lock")
    assert is_lock
    assert os.path.samestat(os.fstat(lock), os.stat(directory))
    os.close(lock)
    assert os.listdir(directory) == []


@pytest.mark.parametrize(("mode", "file"), [(0o755, 0o600), (0o750, 0o600), (0o775, 0o660), (0o704, 0o600)])
def test_a_directory_that_strangers_open(tmp_path: Path, mode: int, file: int) -> None:
    """If others can open a directory, a file in it is locked that only its writers can open."""
    directory = tmp_path / "public"
    directory.mkdir()
    os.chmod(directory, mode)
    os.chmod(tmp_path, 0o755)
    none, is_lock = open_lock(str(directory), "lock", make=False)
    os.close(none)
    assert not is_lock
    assert os.listdir(directory) == []
    made, is_lock = open_lock(str(directory), "lock")
    again, _ = open_lock(str(directory), "lock")
    assert is_lock
    assert stat.S_IMODE(os.fstat(made).st_mode) == file
    assert os.path.samestat(os.fstat(made), os.fstat(again))
    fcntl.flock(made, fcntl.LOCK_EX)
    with pytest.raises(BlockingIOError):
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(made)
    os.close(again)


def test_nobody_reaches_it(tmp_path: Path) -> None:
    """If others cannot pass the directory above, the directory is our own, whatever its mode."""
    directory = tmp_path / "hidden"
    directory.mkdir()
    os.chmod(directory, 0o755)
    os.chmod(tmp_path, 0o700)
    lock, _ = open_lock(str(directory), "lock")
    os.close(lock)
    assert os.listdir(directory) == []


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_roots_lock_is_the_owners(public: str) -> None:
    """A lock file that root made is the directory's owner's."""
    os.chown(public, 65_534, 65_534)
    lock, _ = open_lock(public, "lock")
    os.close(lock)
    with unprivileged():
        again, is_lock = open_lock(public, "lock")
    os.close(again)
    assert is_lock


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_a_stranger_locks_all_that_is_there(public: str) -> None:
    """A user who locks everything that can be opened blocks neither the ledger nor its replacement."""
    path = os.path.join(public, "ledger.sqlite")
    with Ledger(path) as ledger:
        fill(ledger, "a", 5000)
    roll(path, noon(1), 7)
    with locked_by_a_stranger(*inside(public)) as locked:
        assert locked == 1, "the directory"
        with Ledger(path, busy_seconds=0.5) as ledger, Ledger(path, busy_seconds=0.5, only_read=True):
            fill(ledger, "b")
        os.truncate(path, 5000)
        assert recover(path, noon(9)) is not None


def test_a_reader_without_a_lock(public: str) -> None:
    """A reader makes no lock file, and works without one."""
    path = os.path.join(public, "ledger.sqlite")
    with Ledger(path) as ledger:
        fill(ledger, "a")
    os.unlink(path + ".use.lock")
    with Ledger(path, only_read=True) as ledger:
        assert ledger.lessons.totals()[1] == 1
        assert os.listdir(public).count("ledger.sqlite.use.lock") == 0


def test_in_use_in_a_public_directory(public: str) -> None:
    """There too nothing replaces an open ledger, and several processes can open it."""
    path = os.path.join(public, "ledger.sqlite")
    with Ledger(path) as ledger, Ledger(path, only_read=True), Ledger(path):
        fill(ledger, "a")
        with pytest.raises(LedgerBusyError), holding(path, seconds=0.05):
            pytest.fail("taken")
    with Ledger(path, only_read=True), pytest.raises(LedgerBusyError), holding(path, seconds=0.05):
        pytest.fail("taken")
    with holding(path, seconds=0.05):
        pass


def test_a_sound_ledger_needs_nobody_to_leave(path: str) -> None:
    """A start with a sound ledger waits for nobody, and removes the rest of a killed restore."""
    Path(path + ".restored.part").touch()
    with Ledger(path) as ledger:
        fill(ledger, "a")
        with Ledger(path, only_read=True) as reader, reader.snapshot():
            reader.lessons.totals()
            assert recover(path, noon(1)) is None
    assert not os.path.exists(path + ".restored.part")
