"""`prune`: what it would forget, and what it forgets."""

from collections import namedtuple
from pathlib import Path
from unittest import mock

import pytest

from spamnb.ledger.file.locks import only_service
from tests.cli.conftest import Run, counts, ledger_file, mail

Usage = namedtuple("Usage", "total used free")


@pytest.mark.thorough
def test_prune(taught: Path, run: Run) -> None:
    """`prune` says what would go, and then makes the file small enough; the counts stay proven."""
    for kind in ("ham", "spam"):
        run("train", f"--{kind}", mail(taught / "more" / kind, kind, 200, 1000))
    size = ledger_file(taught).stat().st_size
    wanted = size * 9 // 10
    before = counts(taught)
    dry = run("prune", "--to", wanted, "--dry-run")
    assert dry.out.startswith("would forget ")
    assert counts(taught) == before
    result = run("prune", "--to", wanted)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("forgot ")
    assert ledger_file(taught).stat().st_size <= wanted
    assert len(counts(taught)) < len(before)
    assert run("verify").code == 0
    assert "nothing to do" in run("prune", "--to", "200M").out
    assert run("-q", "undo", "--yes", "--since", "1h").code == 0
    assert counts(taught) == []


def test_prune_refuses(taught: Path, run: Run) -> None:
    """A size that cannot be reached, and a disk without room, are refused in a line, and nothing is forgotten."""
    before = counts(taught)
    result = run("prune", "--to", "1K")
    assert (result.code, result.out) == (64, "")
    assert "without any token" in result.err
    size = ledger_file(taught).stat().st_size
    with mock.patch("spamnb.ledger.lessons.sqlite.pruning.shutil.disk_usage", return_value=Usage(0, 0, 1_000_000)):
        result = run("prune", "--to", size * 95 // 100)
    assert result.code == 3
    assert "Nothing was forgotten" in result.err
    with (
        mock.patch("spamnb.ledger.lessons.sqlite.pruning._LARGEST_WITH_SERVICE", 1000),
        only_service(str(ledger_file(taught))),
    ):
        result = run("prune", "--to", size * 95 // 100)
    assert result.code == 3
    assert "stop that first" in result.err
    assert counts(taught) == before


@pytest.mark.parametrize("size", ["", "0", "-1", "1T", "M", "1.5M", "9" * 20, "١M"])
def test_no_sizes(taught: Path, run: Run, size: str) -> None:
    """A text that is not a size is a wrong call."""
    assert run("prune", f"--to={size}").code == 64
