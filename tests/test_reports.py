"""The last lines of `.ci/run`, by `.ci/reports.py`."""

import subprocess
import sys
from pathlib import Path

from tests.documents import ROOT
from tests.patience import PATIENCE

_README = """
import pytest

def test_of_the_readme():
    assert False

@pytest.mark.parametrize("at", [1, 2])
def test_shut(at):
    pytest.skip("/root is shut")
"""
_REAL = """
import os, pytest

@pytest.fixture
def slow_to_come():
    assert "AGAIN" in os.environ

def test_of_a_server(slow_to_come):
    pass

def test_of_a_broken_server():
    assert False

def test_away():
    pytest.skip("needs a server")
"""


def test_the_last_lines(tmp_path: Path) -> None:
    """The last lines say how many tests were skipped and why, which passed at the second try, and which failed."""
    (tmp_path / "test_readme.py").write_text(_README)
    (tmp_path / "test_real.py").write_text(_REAL)
    for name, file, more in (
        ("readme", "test_readme.py", ()),
        ("real", "test_real.py", ()),
        ("again", "test_real.py", ("--last-failed",)),
    ):
        subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:xdist", f"--junitxml={name}.xml", file, *more],
            cwd=tmp_path,
            env={"AGAIN": ""} if name == "again" else {},
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    assert _last_lines(tmp_path, "readme.xml", "real.xml", "again.xml") == [
        "skipped: 3",
        "     2: /root is shut",
        "     1: needs a server",
        "passed at the second try: 1",
        "  test_real test_of_a_server",
        "failed: 2",
        "  test_readme test_of_the_readme",
        "  test_real test_of_a_broken_server",
    ]


def test_without_a_second_try(tmp_path: Path) -> None:
    """Without a second try, or without a report, the lines say "none"."""
    assert _last_lines(tmp_path, "readme.xml", "real.xml") == [
        "skipped: none",
        "passed at the second try: none",
        "failed: none",
    ]


def _last_lines(directory: Path, *reports: str) -> list[str]:
    """Return the lines after those of the slowest tests."""
    command = [sys.executable, str(ROOT / ".ci/reports.py"), *reports]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=PATIENCE, check=True)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("the slowest tests: ")
    return lines[lines.index(next(line for line in lines if line.startswith("skipped: "))) :]
