"""The needs of every test: nothing is left behind, no test waits for the disk, and a Maildir and a ledger."""

import gc
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import settings

from spamnb.ledger import connection
from spamnb.ledger.ledger import Ledger
from spamnb.maildir import departures
from spamnb.maildir.folders import Folder, Layout, create_folder
from tests import warm
from tests.profiles import DAILY

settings.load_profile(DAILY)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile` a process gets the tests of one file, or all those of the one booted machine."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByWorld(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path, *_ = nodeid.split("::")
            return "a booted machine" if path.startswith("tests/systemd/") else path

    return ByWorld(config, log)


# These two are for this run, not for what its tests start. A pytest would write over the result files of this run, and
# a Python that may not write bytecode takes five times as long: it compiles the program each time.
os.environ.pop("PYTEST_ADDOPTS", None)
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    _BYTECODE = tempfile.TemporaryDirectory(prefix="spamnb-bytecode-")
    os.chmod(_BYTECODE.name, 0o755)  # for what tests run as another user
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = _BYTECODE.name
    sys.dont_write_bytecode = False

_MEMORY = "/dev/shm"
_ROOM = 1 << 30  # bytes; a run takes a twentieth of that


def pytest_configure(config: pytest.Config) -> None:
    """Let the tests write to memory, which halves what they take in the kernel. Real mail servers get a real disk."""
    if "not real_system" in config.option.markexpr and "TMPDIR" not in os.environ and _has_room(_MEMORY):
        os.environ["TMPDIR"] = tempfile.tempdir = _MEMORY


def _has_room(directory: str) -> bool:
    if not os.access(directory, os.W_OK | os.X_OK):
        return False
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize >= _ROOM


# Some build systems start the tests in the background with SIGINT ignored, and each process that a test starts would
# inherit that. A handler is reset to the default in them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Let no collection of garbage go through what the tests are made of: 5 % of their processor time."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Let the processor time of forked processes count as that of the tests."""
    warm.end()


def _descriptors() -> dict[int, str]:
    found = {}
    for number in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink(f"/proc/self/fd/{number}")
        except OSError:  # the listing's own
            continue
        if "/libffi.so" not in path:  # libffi keeps its own file open from the first callback on
            found[int(number)] = path
    return found


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """No thread runs and no file is open after a test that did not before it."""
    threads, descriptors = set(threading.enumerate()), _descriptors()
    yield
    left = {number: path for number, path in _descriptors().items() if descriptors.get(number) != path}
    if left:
        gc.collect()  # a cycle may hold what would be closed with it
        left = {number: path for number, path in _descriptors().items() if descriptors.get(number) != path}
    assert not left, f"files left open: {left}"
    assert not (running := set(threading.enumerate()) - threads), f"threads left running: {running}"


@pytest.fixture(autouse=True)
def without_waiting(request: pytest.FixtureRequest) -> Iterator[None]:
    """Nothing of this process waits until the disk has written it, or until a mail server has looked at a folder.

    A test with the marker `real_disk` waits for the disk. With the environment variable SPAMNB_REAL_DISK everything
    waits, as in use: for a run at night.
    """
    if os.environ.get("SPAMNB_REAL_DISK") or request.node.get_closest_marker("real_disk"):
        yield
        return
    with (
        mock.patch.object(os, "fsync", lambda descriptor: None),
        mock.patch.object(connection, "_DURABLE", "PRAGMA synchronous = OFF"),
        mock.patch.object(departures, "_END_SECONDS", 0.0),
    ):
        yield


@pytest.fixture
def far_directory(tmp_path: Path) -> Iterator[Path]:
    """A directory on another file system than `tmp_path`."""
    here = os.stat(tmp_path).st_dev
    for place in (_MEMORY, "/var/tmp", Path.home()):
        if os.access(place, os.W_OK) and os.stat(place).st_dev != here:
            with tempfile.TemporaryDirectory(dir=place) as made:
                yield Path(made)
            return
    pytest.skip("no second file system that may be written")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """An empty ledger."""
    with Ledger(str(tmp_path / "ledger.sqlite")) as opened:
        yield opened


@pytest.fixture
def maildir(tmp_path: Path) -> Callable[..., dict[str, Folder]]:
    """Makes a Maildir with folders of these names; returns them by their names."""

    def make(*names: str, layout: Layout = "maildir++", root: Path = tmp_path / "Maildir") -> dict[str, Folder]:
        return {name: create_folder(str(root), layout, name) for name in ("INBOX", *names)}

    return make
