"""The letter under kills at each call, on full and read-only disks, and without its inbox: one or none, never two."""

import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from spamnb.base.errors import SpamnbError
from spamnb.cli.common.sample_mail import message
from spamnb.config import load
from spamnb.ledger.ledger import Ledger
from spamnb.maildir import departures
from spamnb.maildir.folders import create_folder
from spamnb.service.daemon import Daemon
from spamnb.service.letters import Letters
from spamnb.service.notify import Notifier
from spamnb.service.one_person import Person
from tests.dying import killed_at
from tests.faults.conftest import Faulty, filled, mounted, read_only
from tests.service.desk import awake
from tests.traced import calls, killed_before

MONTHLY = "service:\n  reconcile_seconds: 1\n  copies: 0\n  statement: monthly\n"
LATER = 40 * 86_400.0
OURS = b"Auto-Submitted: auto-generated"


class Lettered(Faulty):
    """A site whose month is over: spam was moved, and no letter tells of it yet."""

    def __init__(self, directory: Path, root: Path | None = None) -> None:
        super().__init__(directory)
        if root is not None:
            self.root = root
            self.folders = {name: create_folder(str(root), "maildir++", name) for name in self.roles}
        self.configure(MONTHLY, dwell=0)
        self.teach()
        self.at(0.0)
        self.mail = sorted(self.spam(number) for number in range(700, 706))
        self.at(0.0)
        assert sorted(self.contents("Junk")) == self.mail
        with sqlite3.connect(self.ledger) as ledger:  # all is in one file, so that it can be copied
            ledger.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ledger.close()
        self.before = directory.parent / f"{directory.name} before"
        shutil.copytree(directory, self.before, symlinks=True)

    def at(self, later: float = LATER) -> None:
        """Do what `run --once` does, so many seconds from now."""
        with mock.patch.object(departures, "_AGAIN_SECONDS", (0.001,)):
            Daemon(lambda: Person(load(self.config, {})), Notifier({}), lambda: time.time() + later).run_once()

    def again(self) -> None:
        """All as it was before."""
        for folder in self.folders.values():
            for subdir in ("new", "cur", "tmp"):
                for file in Path(folder.subdir(subdir)).iterdir():
                    file.unlink()
                for file in (self.before / Path(folder.subdir(subdir)).relative_to(self.directory)).iterdir():
                    shutil.copy2(file, folder.subdir(subdir))
        for file in self.directory.glob("ledger*"):
            file.unlink()
        for file in self.before.glob("ledger*"):
            shutil.copy2(file, self.directory)

    def letters(self) -> list[Path]:
        """Return the letters in all folders."""
        return [
            path
            for folder in self.folders.values()
            for subdir in ("new", "cur")
            for path in Path(folder.subdir(subdir)).iterdir()
            if OURS in path.read_bytes()
        ]

    def check(self) -> None:
        """At the moment of death there is one letter or none; after the next starts one, which is the filter's own."""
        assert len(self.letters()) <= 1
        for _ in range(2):
            self.at()
            assert len(self.letters()) == 1
        (letter,) = self.letters()
        assert letter.parent == Path(self.folders["INBOX"].subdir("new"))
        assert list(Path(self.folders["INBOX"].subdir("tmp")).iterdir()) == []
        assert sorted(self.contents("Junk")) == self.mail
        assert self.faults() == []
        with Ledger(str(self.ledger)) as ledger:
            assert ledger.state.letter is None
            (origin,) = ledger.locations._db.all("SELECT origin FROM file WHERE base = ?", (letter.name.encode(),))
            assert origin == ("letter",)
        assert self.verdict(letter.read_bytes()) is None


def points(site: Lettered, log: Path) -> Iterator[tuple[str, int]]:
    """Every call of the run that writes the letter, by name and number."""
    site.again()
    for call, number in calls(site.at, log).items():
        for at in range(1, number + 1):
            yield call, at


@pytest.mark.real_disk
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize(
    ("rare", "any_"), [(4, 40), pytest.param(1, 1, marks=pytest.mark.slow)], ids=["some calls", "each call"]
)
def test_killed_at_a_system_call(tmp_path: Path, rare: int, any_: int) -> None:
    """Killed before a system call that changes the disk, the service leaves one letter or none, and in the end one."""
    site = Lettered(tmp_path / "site")
    every = list(points(site, tmp_path / "log"))
    writing = [point for point in every if point[0] in ("renameat2", "rename", "fsync", "fdatasync", "unlinkat")]
    assert {"renameat2", "fsync", "fdatasync"} <= {call for call, _ in writing}
    for call, at in sorted({*writing[::rare], *every[::any_]}):
        site.again()
        # A run may open and close some files less, such as those of modules.
        assert killed_before(site.at, call, at) or call in ("openat", "close"), f"lived through {call} {at}"
        try:
            site.check()
        except AssertionError as fault:
            raise AssertionError(f"killed before {call} {at}: {fault}") from fault


def test_killed_at_each_call_of_the_ledger_and_the_disk(tmp_path: Path) -> None:
    """Killed before each call that writes the letter or a word about it, the service ends with one letter."""
    site = Lettered(tmp_path / "site")

    def write(ledger: Ledger) -> None:
        job = Letters(awake(load(site.config, {}), ledger, lambda: time.time() + LATER))
        while job.step_if_due(time.time() + LATER):
            pass

    for at in range(1, 200):
        site.again()
        if not killed_at(at, str(site.ledger), write):
            break
        try:
            site.check()
        except AssertionError as fault:
            raise AssertionError(f"killed before call {at}: {fault}") from fault
    assert 12 < at < 199


@pytest.mark.parametrize("broken", [filled, read_only])
def test_inbox_on_a_broken_disk(tmp_path: Path, broken, capsys: pytest.CaptureFixture[str]) -> None:
    """If the inbox takes no letter, mail goes on, doctor and status say it, and the letter comes when it can."""
    with mounted(tmp_path / "site" / "disk") as disk:
        site = Lettered(tmp_path / "site", disk / "Maildir")
        with broken(disk):
            site.at()
            assert site.letters() == []
            assert site.spamnb("status") == 0
            site.spamnb("doctor")
            said = capsys.readouterr().out
            assert said.count("not written:") == 1
            assert "the service could not write its letter into the inbox" in " ".join(said.split())
        site.at()
        assert len(site.letters()) == 1
        assert site.spamnb("status") == 0
        assert "not written:" not in capsys.readouterr().out


def test_ledger_on_a_full_disk(tmp_path: Path) -> None:
    """If the ledger cannot be written, there is no letter, which it could not tell from others; later there is one."""
    with mounted(tmp_path / "state") as disk:
        site = Faulty(tmp_path)
        site.ledger = disk / "ledger.sqlite"
        site.configure(MONTHLY, dwell=0)
        site.teach()
        lettered = object.__new__(Lettered)
        lettered.__dict__ = site.__dict__
        lettered.at(0.0)
        mail = site.spam(700)
        lettered.at(0.0)
        assert site.contents("Junk") == [mail]
        with filled(disk), pytest.raises(SpamnbError):
            lettered.at()
        assert lettered.letters() == []
        lettered.at()
        assert len(lettered.letters()) == 1


def test_inbox_that_is_gone(tmp_path: Path) -> None:
    """Without its inbox nothing is written anywhere; when it is back, the letter comes, once."""
    site = Lettered(tmp_path / "site")
    away = site.root.rename(tmp_path / "away")
    with pytest.raises(SpamnbError):
        site.at()
    assert not site.root.exists()
    away.rename(site.root)
    for _ in range(2):
        site.at()
    assert len(site.letters()) == 1


def test_junk_that_is_gone(tmp_path: Path) -> None:
    """Without Junk the letter is written all the same."""
    site = Lettered(tmp_path / "site")
    shutil.rmtree(site.root / ".Junk")
    site.folders.pop("Junk")
    site.at()
    assert len(site.letters()) == 1


def test_two_months_without_a_service(tmp_path: Path) -> None:
    """A service that comes back after two months writes one letter, and judges new mail beside it."""
    site = Lettered(tmp_path / "site")
    new = site.deliver(message("spam", 800))
    site.at(3 * LATER)
    site.at(3 * LATER)
    assert len(site.letters()) == 1
    assert new in site.contents("Junk")
