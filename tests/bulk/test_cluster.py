"""Bulk work by the workers of a Dask scheduler."""

import subprocess
import sys
from pathlib import Path

import pytest

from spamnb.base.errors import SpamnbError
from spamnb.bulk import cluster
from spamnb.bulk.mapping import executor_at
from tests.patience import PATIENCE


def test_only_processes_need_no_executor() -> None:
    """By default work runs in processes of this machine, if there is enough of it."""
    with executor_at("processes") as executor:
        assert executor is None


def test_another_tokenizer_is_refused() -> None:
    """A task is refused by a worker with a different tokenizer."""
    assert cluster._with_version(cluster.VERSION, len, "abc") == 3
    with pytest.raises(SpamnbError, match="install the same"):
        cluster._with_version(cluster.VERSION + 1, len, "abc")


@pytest.mark.slow
def test_workers_that_are_killed_change_nothing(tmp_path: Path) -> None:
    """If workers are killed during the work, a ledger equals one made without a cluster, to the last count."""
    pytest.importorskip("distributed")
    command = [sys.executable, "-m", "tests.bulk.on_a_cluster", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=5 * PATIENCE, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    same, relative, at_once, refused = done.stdout.splitlines()
    assert same == "the same after two workers were killed"
    assert relative == "a relative path is the same file"
    assert at_once == "all threads of a worker have work"
    assert "install the same spamnb" in refused


@pytest.mark.slow
def test_no_scheduler(tmp_path: Path) -> None:
    """If no scheduler answers, the error says so."""
    pytest.importorskip("distributed")
    script = (
        "import sys\nfrom spamnb.bulk import cluster\ncluster._PATIENCE = 1\nfrom spamnb.cli.main import main\n"
        "main(['train', '--executor', 'dask://127.0.0.1:9', '--ham', sys.argv[1]])"
    )
    (tmp_path / "message").write_text("Subject: x\n\nhello\n")
    command = [sys.executable, "-c", script, str(tmp_path / "message")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert "no Dask scheduler answers at 127.0.0.1:9" in done.stderr
