"""Signals: they may come at any instruction."""

import subprocess
import sys

import pytest

from tests.patience import PATIENCE

_STORM = """
import signal
from spamnb.service.watcher import Watcher
watcher = Watcher("polling")
signal.signal(signal.SIGALRM, lambda *_: watcher.wake())
signal.setitimer(signal.ITIMER_REAL, 0.00005, 0.00005)
for _ in range(20000):
    watcher.next(0.0)
    watcher.next(0.00001)
signal.setitimer(signal.ITIMER_REAL, 0)
"""


@pytest.mark.thorough
def test_a_signal_may_wake_the_watcher_at_any_instruction() -> None:
    """A signal handler that wakes the watcher never stops it for ever."""
    try:
        done = subprocess.run([sys.executable, "-c", _STORM], timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        pytest.fail("the watcher waits for itself")
    assert done.returncode == 0
