"""`demo`: what a stranger types first."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, Run
from tests.documents import block
from tests.patience import PATIENCE, until


def test_demo_works_and_leaves_nothing(home: Path, process: Run) -> None:
    """The demonstration says what it does, ends with 0, and leaves nothing behind, whatever the locale and the home."""
    (home / "tmp").mkdir()
    result = process("demo", TMPDIR=str(home / "tmp"), HOME="/proc/nowhere", LC_ALL="C", PYTHONIOENCODING="ascii")
    assert (result.code, result.err) == (0, "")
    for step in ("moved from INBOX to Junk", "learned as ham", "learned as spam", "the next day: it moves mail from"):
        assert step in result.out
    assert set(block("README.md", "demo-output").splitlines()) - {"…"} <= set(result.out.splitlines())
    assert result.out.splitlines()[-1] == f"Every step worked. Next, your own mail: {sys.executable} -m spamnb init"
    assert os.listdir(home / "tmp") == []
    assert os.listdir(home) == ["tmp"]


@pytest.mark.thorough
def test_demo_cut_short_leaves_nothing(home: Path) -> None:
    """A demonstration that is stopped in its midst stops its service and removes its files."""
    (home / "tmp").mkdir()
    running = subprocess.Popen(
        [*COMMAND, "demo"], env=os.environ | {"TMPDIR": str(home / "tmp")}, stdout=subprocess.PIPE
    )
    assert running.stdout is not None
    until(lambda: b"Started the service" in running.stdout.readline(), "the service to be started")
    (service,) = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=PATIENCE)
    assert running.returncode == 143
    assert os.listdir(home / "tmp") == []
    assert not Path(f"/proc/{service}").exists()
