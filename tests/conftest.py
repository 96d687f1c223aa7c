"""What every test stands on: nothing left behind, and a Maildir to work in."""

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from spamnb.maildir.folders import Folder, Layout, create_folder

settings.register_profile("spamnb", deadline=None)  # on a shared machine a slow example proves nothing
settings.load_profile("spamnb")

# Some build systems start the tests in the background with SIGINT ignored, and each process that a test starts would
# inherit that. A handler is reset to the default in them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _descriptors() -> dict[int, str]:
    found = {}
    for number in os.listdir("/proc/self/fd"):
        try:
            found[int(number)] = os.readlink(f"/proc/self/fd/{number}")
        except OSError:  # the listing's own
            continue
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


@pytest.fixture
def maildir(tmp_path: Path) -> Callable[..., dict[str, Folder]]:
    """Makes a Maildir with folders of these names; returns them by their names."""

    def make(*names: str, layout: Layout = "maildir++", root: Path = tmp_path / "Maildir") -> dict[str, Folder]:
        return {name: create_folder(str(root), layout, name) for name in ("INBOX", *names)}

    return make
