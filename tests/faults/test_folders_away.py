"""Folders and whole mailboxes that go away and come back while the service runs."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import Folder, create_folder
from tests.faults.conftest import IMPATIENCE, IMPATIENT, Faulty, mounted, run
from tests.patience import until


def delete(site: Faulty, name: str) -> None:
    """Delete a folder at one stroke: on a slow machine it might be made again before the last of it is gone."""
    (site.root / name).rename(site.directory / name)
    shutil.rmtree(site.directory / name)


def test_junk_deleted(site: Faulty) -> None:
    """A Junk that is deleted is made again, though not at once, and spam goes there as before."""
    site.program = IMPATIENT
    site.teach()
    site.start()
    site.goes_on(600)
    since = time.monotonic()
    delete(site, ".Junk")
    spam = site.spam(608)
    until(lambda: all((site.root / ".Junk" / subdir).is_dir() for subdir in ("new", "cur")), "made again")
    assert time.monotonic() - since >= IMPATIENCE
    until(lambda: spam in site.contents("Junk"), "spam moved into a new one")
    delete(site, ".Junk")
    until(lambda: (site.root / ".Junk" / "cur").is_dir() and (site.root / ".Junk" / "new").is_dir(), "made again")
    site.goes_on(601)
    site.goes_on(602)
    ham = site.deliver(message("ham", 602))
    until(lambda: "stays in INBOX, ham" in site.log(), "ham judged")
    site.move(ham, "INBOX", "Junk")
    until(lambda: site.label(ham) == 1, "what a person puts into the new one learned")
    site.clean()


def test_folder_deleted_into_the_trash(site: Faulty) -> None:
    """A Junk that a mail program deletes by moving it into the trash teaches nothing."""
    site.program = IMPATIENT
    site.teach()
    site.start()
    site.goes_on(603)
    spam = site.contents("Junk")
    (site.root / ".Junk").rename(site.root / ".Trash.Junk")
    until((site.root / ".Junk" / "cur").is_dir, "Junk made again")
    marker = site.deliver(message("spam", 604), "TrainSpam")
    site.end()
    assert site.once() == 0
    assert site.label(marker) == 1
    assert [site.label(one) for one in spam] == [None]


def test_archive_deleted_and_made_again(site: Faulty) -> None:
    """A folder that is deleted and made again is watched again."""
    site.configure("service:\n  reconcile_seconds: 3600\n")
    site.teach()
    site.start()
    shutil.rmtree(site.root / ".Archive")
    create_folder(str(site.root), "maildir++", "Archive")
    ham = site.deliver(message("ham", 605))
    until(lambda: "stays in INBOX, ham" in site.log(), "ham judged")
    site.move(ham, "INBOX", "Archive")
    until(lambda: site.label(ham) == 0, "the filed message learned")


def removed(path: Path) -> bool:
    """Whether nothing is left of a directory after another try."""
    shutil.rmtree(path, ignore_errors=True)
    return not path.exists()


@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_removed_while_it_runs(site: Faulty, tmp_path: Path, mode: int) -> None:
    """A Maildir is removed, slowly and in any order, while it is watched; when it is back, the service goes on."""
    if shutil.which("strace") is None:
        pytest.skip("needs strace, which slows the removal down")
    slowly = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=unlinkat:delay_enter=30000"]
    site.root.chmod(mode)
    tmp_path.chmod(mode)  # so that others can reach the inbox where they may read it, and a lock file is made
    (site.root / "cur").chmod(mode)
    site.teach()
    site.start()
    site.goes_on(640)
    for number, first in enumerate((".Junk", ".Archive", "cur"), start=641):
        run("cp", "--archive", str(site.root), f"{tmp_path}/copy")
        said = len(site.log())
        names = sorted(os.listdir(site.root), key=lambda name: (name != first, not name.startswith("."), name))
        subprocess.run([*slowly, "rm", "-rf", *(str(site.root / name) for name in names)], check=False)
        until(lambda: removed(site.root), "the rest removed: a lock file of the service may have come in between")
        until(lambda said=said: "cannot list the mail directory" in site.log()[said:], "the fault said")  # type: ignore[misc]
        assert not site.root.exists()
        (tmp_path / "copy").rename(site.root)
        site.goes_on(number)
        until(lambda said=said: "can be used again" in site.log()[said:], "the end of it said")  # type: ignore[misc]
    assert "made the folder" not in site.log()
    site.clean()


@pytest.mark.parametrize("name", ["Junk", "Archive"])
def test_replaced_by_a_link(site: Faulty, tmp_path: Path, name: str) -> None:
    """A folder that is replaced by a symbolic link is named with what to do; that is no limit of inotify."""
    site.teach()
    site.start()
    site.goes_on(650)
    folder, elsewhere = site.root / f".{name}", tmp_path / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    until(lambda: "a symbolic link, is in the way" in site.log(), "said what it is")
    if name == "Archive":
        site.goes_on(651)
    folder.unlink()
    elsewhere.rename(folder)
    site.goes_on(652)
    filed = site.deliver(message("ham", 653), "TrainHam")
    until(lambda: filed in site.contents("INBOX"), "the rest goes on too")
    assert site.log().count("a symbolic link, is in the way") == 1
    assert "mount --bind" in site.log()
    assert "the limit of inotify" not in site.log()
    assert "polling" not in site.log()
    site.clean()


def test_inbox_away(tmp_path: Path) -> None:
    """An inbox that is renamed is waited for, said once, and nothing is made in its place."""
    site = Faulty(tmp_path, "fs")
    inbox, away = site.root / "Inbox", tmp_path / "away"
    inbox.mkdir()
    for subdir in ("new", "cur", "tmp"):
        (site.root / subdir).rename(inbox / subdir)
    site.folders["INBOX"] = Folder("INBOX", str(inbox))
    site.configure("service:\n  reconcile_seconds: 1\n")
    site.teach()
    site.start()
    try:
        site.goes_on(606)
        inbox.rename(away)
        until(lambda: "has no folder 'INBOX'" in site.log(), "the fault said")
        assert not inbox.exists()
        assert site.is_up()
        away.rename(inbox)
        until(lambda: "can be used again" in site.log(), "the end of it said")
        assert site.log().count("has no folder 'INBOX'") == 1
        site.goes_on(607)
        site.clean()
    finally:
        site.end()


def bare(point: Path) -> None:
    """Nothing lies below the mount point."""


def skeleton(point: Path) -> None:
    """Below the mount point lies an empty mailbox, as it is made for a new user."""
    for name in ("INBOX", "Junk", "Archive", "Trash"):
        create_folder(str(point), "maildir++", name)


@pytest.mark.parametrize("below", [bare, skeleton])
def test_unmounted_and_mounted_again(tmp_path: Path, below: Callable[[Path], None]) -> None:
    """A mailbox that is unmounted and mounted again teaches nothing, is not judged again, and is watched again."""
    point = tmp_path / "Maildir"
    point.mkdir()
    below(point)
    with mounted(point):
        site = Faulty(tmp_path)
        site.configure("service:\n  reconcile_seconds: 1\n")
        site.teach()
        old = site.deliver(message("spam", 610)), site.deliver(message("ham", 610))
        in_junk = site.deliver(message("ham", 611), "Junk")
        site.start()
        try:
            site.goes_on(612)
            ham = site.deliver(message("ham", 612))
            until(lambda: "stays in INBOX, ham" in site.log(), "ham judged")
            mail, lessons = site.everything(), learned(site)
            with mounted(tmp_path / "same") as same:
                run("cp", "--archive", f"{point}/.", str(same))
                run("umount", "--lazy", str(point))
                if below is bare:
                    until(lambda: "mount its disk" in site.log(), "the fault said")
                    assert list(point.iterdir()) == [], "nothing is made below a mount point"
                else:
                    site.compared()
                assert site.is_up()
                run("mount", "--bind", str(same), str(point))
                late = site.spam(613)
                until(lambda: late in site.contents("Junk"), "new spam moved")
                site.compared()
                assert site.everything() == sorted([*mail, late])
                assert learned(site) == lessons
                assert {*old, ham} <= set(site.contents("INBOX"))
                assert in_junk in site.contents("Junk")
                if below is bare:
                    assert site.log().count("mount its disk") == 1
                assert site.log().count("stays in INBOX") == 1, "nothing is judged twice"
                site.clean()
        finally:
            site.end()


def learned(site: Faulty) -> list[int]:
    """How much was learned."""
    with Ledger(str(site.ledger)) as ledger:
        totals: list[int] = ledger.lessons.totals().tolist()
        return totals


def test_not_there_yet(site: Faulty, tmp_path: Path) -> None:
    """A mailbox that was watched before and is not there at the start is waited for."""
    site.teach()
    site.start()
    site.goes_on(620)
    site.end()
    site.root.rename(tmp_path / "away")
    site.root.mkdir()
    site.start()
    assert site.is_up()
    assert site.log().count("mount its disk") == 1
    os.rmdir(site.root)
    until(lambda: "cannot list the mail directory" in site.log(), "without the mount point")
    (tmp_path / "away").rename(site.root)
    site.goes_on(621)
    site.clean()


def test_never_there(site: Faulty, tmp_path: Path) -> None:
    """A mailbox that was never there ends the start with 3 and a line that names it: the path may be wrong."""
    site.root.rename(tmp_path / "away")
    site.start(wait=False)
    assert site.ended() == 3
    (line,) = site.log().splitlines()
    assert str(site.root) in line


def test_one_of_two_is_away(tmp_path: Path) -> None:
    """A mailbox that is away does not keep the other one waiting."""
    from spamnb.config import Mailbox
    from spamnb.config.writing import render

    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = Faulty(tmp_path / "one"), Faulty(tmp_path / "two")
    mailboxes = [Mailbox(path=site.root, roles=site.roles) for site in (two, one)]
    rest = "\nlearning:\n  dwell_seconds: 0.3\nservice:\n  reconcile_seconds: 1\n"
    one.config.write_text(render(mailboxes, one.ledger) + rest)
    one.teach()
    one.start()
    try:
        two.root.rename(tmp_path / "away")
        until(lambda: "cannot list the mail directory" in one.log(), "the fault said")
        one.goes_on(630)
        trained = one.deliver(message("spam", 631), "TrainSpam")
        until(lambda: one.label(trained) == 1, "learned after its dwell")
        (tmp_path / "away").rename(two.root)
        spam = two.spam(632)
        until(lambda: spam in two.contents("Junk"), "the other one goes on")
        one.clean()
    finally:
        one.end()
