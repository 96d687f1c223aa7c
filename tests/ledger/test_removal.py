"""Removing the ledger of a forgotten user: all of its files, and no others."""

import contextlib
import os
import shutil
from pathlib import Path
from unittest import mock

import pytest

from spamnb.base.errors import LedgerBusyError, LedgerUnavailableError
from spamnb.ledger.copies.copy import roll
from spamnb.ledger.copies.recovery import recover, restore
from spamnb.ledger.file.removal import remove
from spamnb.ledger.ledger import Ledger
from tests.dying import DeathError, Fuse, dead, kill, killed
from tests.lessons import learn, sample_lessons


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory with a ledger that has copies, a former ledger, drafts and locks, and with files of others."""
    path = tmp_path / "home" / "ledger.sqlite"
    with Ledger(str(path)) as ledger:
        learn(ledger, sample_lessons(3))
    for at in (1e9, 1.1e9):
        roll(str(path), at, 7)
    restore(str(path), roll(str(path), 1.2e9, 7), 1.3e9)
    for name in ("copies/.x.part", ".y.part", "ledger.sqlite.restored.part", "ledger.sqlite.damaged-2026"):
        (path.parent / name).write_bytes(b"words")
    for name in ("ledger.sqlite.lock", "copies/ledger-2026-01-01.sqlite.gz.mine", "ledger.sqlite2", "config.yaml"):
        (path.parent / name).write_bytes(b"")
    return path.parent


def names(home: Path) -> set[str]:
    """All files."""
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}


def test_all_that_belongs_to_it_goes(home: Path) -> None:
    """The ledger goes with its log, its copies, drafts and former ledgers; locks and files of others stay."""
    assert len(names(home)) >= 12
    remove(str(home / "ledger.sqlite"))
    stay = {"ledger.sqlite.lock", "copies/ledger-2026-01-01.sqlite.gz.mine", "ledger.sqlite2", "config.yaml"}
    assert names(home) - {"ledger.sqlite.use.lock"} == stay
    remove(str(home / "ledger.sqlite"))
    with Ledger(str(home / "ledger.sqlite")) as ledger:
        assert ledger.lessons.totals().tolist() == [0] * 7


def test_not_while_others_have_it(home: Path) -> None:
    """While another process has the ledger open nothing is removed."""
    before = names(home)
    path = str(home / "ledger.sqlite")
    with Ledger(path), pytest.raises(LedgerBusyError):
        remove(path, seconds=0.1)
    assert names(home) == before


def test_what_cannot_be_removed_is_named(home: Path) -> None:
    """If the system refuses to remove a file, the error names it."""
    with (
        mock.patch.object(os, "unlink", side_effect=PermissionError(1, "Operation not permitted", "/the/file")),
        pytest.raises(LedgerUnavailableError, match=r"/the/file cannot be removed \(Operation not permitted\)"),
    ):
        remove(str(home / "ledger.sqlite"))


def test_killed_at_any_call(home: Path, tmp_path: Path) -> None:
    """After a kill the ledger is complete or gone, no copy replaces it, and a repetition ends the removal."""
    before = tmp_path / "before"
    shutil.copytree(home, before)
    path = str(home / "ledger.sqlite")
    for at in range(1, 100):
        shutil.rmtree(home)
        shutil.copytree(before, home)
        fuse = Fuse(at, dead)
        with (
            mock.patch.object(os, "unlink", fuse.through(os.unlink)),
            mock.patch.object(os, "fsync", fuse.through(os.fsync)),
            contextlib.suppress(DeathError),
        ):
            remove(path)
        is_there = os.path.exists(path)
        restored = recover(path, 2e9)
        if restored is not None:
            assert not is_there, "a sound ledger is not replaced"
            pytest.fail(f"killed at {at}, a copy came in the place of the ledger")
        if is_there:
            with Ledger(path) as ledger:
                assert ledger.lessons.totals().tolist()[:2] == [3, 3]
        remove(path)
        assert not os.path.exists(path)
        if fuse.passed < at:
            break
    assert at > 10


def test_a_log_that_is_left_is_of_nothing(home: Path) -> None:
    """If the ledger is gone but its log is left, its contents do not return."""
    path = str(home / "ledger.sqlite")

    def die_with_a_log() -> None:
        learn(Ledger(path), sample_lessons(9))
        kill()

    assert killed(die_with_a_log)
    assert os.path.getsize(path + "-wal") > 10_000
    with mock.patch("spamnb.ledger.file.removal.SQLITE_PARTS", ()):
        remove(path)
    assert os.path.exists(path + "-wal")
    with Ledger(path) as ledger:
        assert ledger.lessons.totals().tolist() == [0] * 7
        assert ledger.verify() == []
