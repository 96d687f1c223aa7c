"""Tests started in the background, for which some shells and build systems ignore SIGINT."""

import signal
import subprocess
import sys

import pytest

from tests.documents import ROOT
from tests.patience import PATIENCE


def test_a_process_that_a_test_starts_ends_by_an_interrupt() -> None:
    """A process that a test starts has SIGINT at its default."""
    with subprocess.Popen(["sleep", "600"]) as started:
        started.send_signal(signal.SIGINT)
        try:
            assert started.wait(PATIENCE) == -signal.SIGINT
        finally:
            started.kill()


@pytest.mark.thorough
@pytest.mark.parametrize("workers", ["0", "1"])
def test_started_with_interrupts_ignored(workers: str) -> None:
    """The same holds if the tests themselves were started with SIGINT ignored, in workers too."""
    test = f"{__file__}::{test_a_process_that_a_test_starts_ends_by_an_interrupt.__name__}"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", workers, test]
    ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command]
    done = subprocess.run(ignoring, cwd=ROOT, capture_output=True, text=True, timeout=3 * PATIENCE, check=False)
    assert done.returncode == 0, done.stdout
