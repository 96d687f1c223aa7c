"""The copy of a ledger that an upgrade makes first."""

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from unittest import mock

import pytest

from spamnb.base.errors import LedgerNewerError, LedgerSpaceError, LedgerUnavailableError
from spamnb.ledger import schema
from spamnb.ledger.copies.copy import faults_of_copy, roll
from spamnb.ledger.copies.recovery import restore
from spamnb.ledger.file.parts import before_upgrade, newest_of, rolling, sizes
from spamnb.ledger.file.removal import remove
from spamnb.ledger.ledger import Ledger
from tests.dying import DeathError, Fuse, dead
from tests.lessons import learn, sample_lessons

NOW = 1.8e9
Later = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    """Gives the program of the next version, with one more step, as long as it is used."""

    @contextlib.contextmanager
    def program() -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(schema, "_STEPS", (*schema._STEPS, "CREATE TABLE extra (a)"))
            patch.setattr(schema, "VERSION", schema.VERSION + 1)
            patch.setattr("spamnb.ledger.connection.VERSION", schema.VERSION)
            patch.setattr("time.time", lambda: NOW)
            yield

    return program


def version_of(path: str) -> int:
    """The version of the tables in a file."""
    with contextlib.closing(sqlite3.connect(path)) as ledger:
        return int(ledger.execute("PRAGMA user_version").fetchone()[0])


def learned(path: str) -> list[int]:
    """How many ham and spam messages are learned."""
    with Ledger(path) as ledger:
        assert ledger.verify() == []
        return list(ledger.lessons.totals()[:2].tolist())


@pytest.mark.parametrize("has_copy", [True, False], ids=["a copy of the day before", "no copy"])
def test_back_without_loss(path: str, later: Later, has_copy: bool) -> None:
    """Who goes back to the program of before finds all that was learned until the upgrade, in the copy it names."""
    with Ledger(path) as ledger:
        learn(ledger, sample_lessons(3))
    if has_copy:
        roll(path, NOW - 86_400, 7)
    with Ledger(path) as ledger:
        learn(ledger, sample_lessons(9))
    with later():
        Ledger(path).close()
    assert version_of(path) == schema.VERSION + 1
    copy = before_upgrade(path, schema.VERSION + 1)
    with pytest.raises(LedgerNewerError, match=f"spamnb restore {copy}"):
        Ledger(path)
    assert (newest_of(path, schema.VERSION), faults_of_copy(copy)) == (copy, [])
    assert os.path.samefile(rolling(path)[0], copy), "programs of before 2026-11-29 name only copies of a day"
    assert len(rolling(path)) == 1 + has_copy
    restore(path, copy, NOW)
    assert learned(path) == [9, 9]


def test_a_later_upgrade_copies_again(path: str, later: Later) -> None:
    """After going back and learning more, the next upgrade copies all of it; removing the ledger removes the copy."""
    with Ledger(path) as ledger:
        learn(ledger, sample_lessons(3))
    with later():
        Ledger(path).close()
    copy = before_upgrade(path, schema.VERSION + 1)
    restore(path, copy, NOW)
    with Ledger(path) as ledger:
        learn(ledger, sample_lessons(9))
    with later():
        Ledger(path).close()
        Ledger(path).close()
        assert sizes(path).copies == os.path.getsize(copy), "two names of one file"
    restore(path, copy, NOW)
    assert learned(path) == [9, 9]
    remove(path)
    assert not os.path.exists(copy)


def test_a_reader_copies_nothing(path: str, later: Later) -> None:
    """A program that only reads upgrades nothing, and copies nothing."""
    with Ledger(path) as ledger:
        learn(ledger, sample_lessons(3))
    with later(), Ledger(path, only_read=True) as reader:
        assert reader.lessons.totals()[:2].tolist() == [3, 3]
    assert not os.path.exists(os.path.dirname(before_upgrade(path, 4)))


@pytest.mark.parametrize(("fault", "what"), [(28, "free some space"), (13, "check who owns that directory")])
def test_no_copy_no_upgrade(path: str, later: Later, fault: int, what: str) -> None:
    """If the copy cannot be made, the error says what to do, and the ledger stays as it is."""
    with Ledger(path) as ledger:
        learn(ledger, sample_lessons(3))
    with later():
        with (
            mock.patch("gzip.GzipFile", side_effect=OSError(fault, os.strerror(fault))),
            pytest.raises(LedgerUnavailableError, match=f"is not upgraded, and nothing is changed.*{what}"),
        ):
            Ledger(path)
        full = shutil.disk_usage(os.path.dirname(path))._replace(free=0)
        with (
            mock.patch.object(shutil, "disk_usage", return_value=full),
            pytest.raises(LedgerSpaceError, match=r"is not upgraded, and nothing is changed.*free \d+ MB more"),
        ):
            Ledger(path)
    assert version_of(path) == schema.VERSION
    assert os.listdir(os.path.dirname(before_upgrade(path, 4))) == []
    assert learned(path) == [3, 3]


def test_killed_at_any_call(later: Later, tmp_path: Path) -> None:
    """After a kill the ledger is one of either version, and one that is upgraded has its copy."""
    home, before = tmp_path / "home", tmp_path / "before"
    path = str(home / "ledger.sqlite")
    with Ledger(path) as ledger:
        learn(ledger, sample_lessons(3))
    shutil.copytree(home, before)
    versions = set()
    for at in range(1, 100):
        shutil.rmtree(home)
        shutil.copytree(before, home)
        fuse = Fuse(at, dead)
        with contextlib.ExitStack() as stack:
            stack.enter_context(later())
            for name in ("rename", "link", "unlink", "fsync"):
                stack.enter_context(mock.patch.object(os, name, fuse.through(getattr(os, name))))
            stack.enter_context(contextlib.suppress(DeathError))
            Ledger(path).close()
        copy, version = before_upgrade(path, schema.VERSION + 1), version_of(path)
        versions.add(version)
        if version > schema.VERSION:
            restore(path, copy, NOW)
        assert learned(path) == [3, 3]
        if fuse.passed < at:
            break
    assert versions == {schema.VERSION, schema.VERSION + 1}
    assert at > 4
