"""`kill -9` before every system call that changes anything on the disk, by the kernel's own hand (strace)."""

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.ledger.ledger import Ledger
from tests.faults.conftest import Faulty, mounted
from tests.traced import calls, killed_before

pytestmark = [
    pytest.mark.real_disk,  # being durable is among what they die at
    pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace"),
]


class Death:
    """A site with spam and a newsletter to move, corrections to learn, and mail to learn and to file; and its mail."""

    def __init__(self, directory: Path, far: bool = False) -> None:
        self.far = far
        self.site = Faulty(directory)
        self.site.configure(dwell=0, newsletters_folder="Lists")
        self.site.add_folder("Lists")
        self.site.teach()
        self.filed = self.site.deliver(message("ham", 700))
        self.missed = self.site.deliver(message("ham", 701))
        self.site.work()  # notes the two as mail from before
        self.kept = self.site.deliver(b"List-Id: <talk.club.example>\n" + message("ham", 704))
        self.site.work()  # moves it
        moves = ((self.filed, "INBOX", "Archive"), (self.missed, "INBOX", "Junk"), (self.kept, "Lists", "INBOX"))
        for content, source, folder in moves:
            target = Path(self.site.folders[folder].subdir("cur")) / f"{next(self.site.bases)}:2,S"
            shutil.move(self.site.path_of(source, content), target)
        self.news = self.site.deliver(b"List-Id: <other.club.example>\n" + message("ham", 705))
        self.spam = self.site.spam(702)
        self.trained = self.site.deliver(message("spam", 703), "TrainSpam")
        self.mail = self.site.everything()
        self.before = directory.parent / "before"
        shutil.copytree(directory, self.before, symlinks=True)

    def again(self) -> None:
        """All as it was before."""
        for name in self.site.folders.values():
            for subdir in ("new", "cur", "tmp"):
                for file in Path(name.subdir(subdir)).iterdir():
                    file.unlink()
                for file in (self.before / Path(name.subdir(subdir)).relative_to(self.site.directory)).iterdir():
                    shutil.copy2(file, name.subdir(subdir))
        for file in self.site.directory.glob("ledger*"):
            file.unlink()
        for file in self.before.glob("ledger*"):
            shutil.copy2(file, self.site.directory)

    def check(self) -> None:
        """After the next start each message is in its place exactly once, and each lesson learned once."""
        lying = self.site.everything()
        if self.far:  # a copy stands beside its source for a moment
            lying = sorted(set(lying))
        assert lying == self.mail, "at the moment of death"
        self.site.work()
        site = self.site
        assert site.everything() == self.mail
        assert sorted(site.contents("Junk")) == sorted([self.missed, self.spam, self.trained])
        assert site.contents("Archive") == [self.filed]
        assert (site.contents("INBOX"), site.contents("Lists")) == ([self.kept], [self.news])
        assert site.faults() == []
        with Ledger(str(site.ledger)) as ledger:
            learned = [action for action in ledger.journal.newest(100) if action.kind == "learned"][: -2 * 25]
            assert Counter((action.after, action.why) for action in learned) == {
                (0, "a person filed it"): 1,
                (0, "a person took it out of newsletters"): 1,
                (1, "a person put it into a spam folder"): 1,
                (1, "put into a folder for training spam"): 1,
            }
            assert ledger.lessons.totals()[:2].tolist() == [27, 27]
            assert [(choice.kind, choice.value) for choice in ledger.choices.standing()] == [
                ("inbox", "list:talk.club.example")
            ]


def points(death: Death, log: Path) -> Iterator[tuple[str, int]]:
    """Every call of a run, by name and number."""
    death.again()
    for call, number in calls(death.site.work, log).items():
        for at in range(1, number + 1):
            yield call, at


def kill_at(death: Death, call: str, at: int) -> None:
    """Die there, start again, and look."""
    death.again()
    died = killed_before(death.site.work, call, at)
    assert died, f"lived through {call} {at}"
    try:
        death.check()
    except AssertionError as fault:
        raise AssertionError(f"killed before {call} {at}: {fault}") from fault


@pytest.mark.parametrize(("rare", "any_"), [(5, 100), pytest.param(2, 25, marks=pytest.mark.thorough)])
def test_killed_at_some_system_calls(tmp_path: Path, rare: int, any_: int) -> None:
    """Killed before any of some system calls, all that the next start has to do is done, once."""
    death = Death(tmp_path / "site")
    every = list(points(death, tmp_path / "log"))
    assert {"renameat2", "fsync", "fdatasync", "pwrite64", "openat"} <= {call for call, _ in every}
    moving = [point for point in every if point[0] in ("renameat2", "rename", "fsync", "fdatasync", "unlink")]
    for call, at in {*moving[::rare], *every[::any_]}:
        kill_at(death, call, at)


@pytest.mark.slow
@pytest.mark.parametrize("far", [False, True], ids=["one disk", "Junk on another disk"])
def test_killed_at_every_system_call(tmp_path: Path, far: bool) -> None:
    """Killed before any system call that changes anything, all that the next start has to do is done, once."""
    if far:
        with mounted(tmp_path / "site" / "Maildir" / ".Junk"):
            _at_every_one(tmp_path, far, least=250)
    else:
        _at_every_one(tmp_path, far, least=200)


def _at_every_one(tmp_path: Path, far: bool, least: int) -> None:
    death = Death(tmp_path / "site", far)
    every = list(points(death, tmp_path / "log"))
    assert len(every) >= least
    for call, at in every:
        kill_at(death, call, at)
