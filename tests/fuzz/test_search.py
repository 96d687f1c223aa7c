"""The search for examples that break a property, by many more examples than the daily run tries."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.profiles import SEARCH


@pytest.mark.slow
def test_many_examples() -> None:
    """Each property holds for 25 times as many examples as are tried each day, and for others in each run."""
    marked = ["-m", "hypothesis and not slow and not real_system", f"--hypothesis-profile={SEARCH}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "auto", *marked],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
