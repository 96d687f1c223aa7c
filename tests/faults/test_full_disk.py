"""Disks that are full, or take no writing."""

import os
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.ledger import schema
from spamnb.maildir.folders import create_folder
from tests.faults.conftest import IMPATIENT, Faulty, filled, mounted, read_only, run
from tests.patience import until

LONG = b"\n".join(b"word%d" % number for number in range(3000))  # new tokens, for which the ledger has to grow


def lessons(directory: Path, count: int = 20) -> Path:
    """Messages with many new words each."""
    directory.mkdir()
    for number in range(count):
        words = LONG.replace(b"word", b"w%dx" % number)
        (directory / f"{number}.eml").write_bytes(message("ham", 5000 + number) + words)
    return directory


def test_ledger_cannot_grow_while_the_service_works(site: Faulty, tmp_path: Path) -> None:
    """Without room for its ledger the service moves nothing, says so once, and does all of it when there is room."""
    with mounted(tmp_path / "state") as disk:
        site.ledger = disk / "ledger.sqlite"
        site.configure("service:\n  reconcile_seconds: 1\n")
        site.teach()
        site.start()
        site.goes_on(800)
        with filled(disk):
            spam = [site.spam(810 + number) for number in range(3)]
            taught = site.deliver(message("ham", 820) + LONG, "TrainSpam")
            until(lambda: "Mail stays where it is until then" in site.log(), "the fault said")
            said = site.log().count("Mail stays where it is")
            assert said == 1
            assert site.is_up()
        until(lambda: all(one in site.contents("Junk") for one in [*spam, taught]), "all of it done")
        until(lambda: site.label(taught) == 1, "the lesson learned")
        until(lambda: site.log().count("the ledger can be used again") == 1, "the end of it said")
        assert len(site.everything()) == 5
        site.goes_on(801)
        site.clean()
        assert site.end() == 0


def test_full_disk_at_the_start(site: Faulty, tmp_path: Path) -> None:
    """A service that starts with its ledger on a full disk says so once, and begins when there is room."""
    with mounted(tmp_path / "state") as disk:
        site.ledger = disk / "ledger.sqlite"
        site.configure()
        site.teach()
        site.program = IMPATIENT
        with filled(disk):
            site.start(wait=False)
            until(lambda: "Waiting for it" in site.log(), "the fault said")
            assert "free s" in site.log()
        until(lambda: "watching" in site.log(), "the start")
        assert site.log().count("Waiting for it") == 1
        site.goes_on(802)
        site.clean()


def test_read_only_ledger_at_the_start(site: Faulty, tmp_path: Path) -> None:
    """A service whose ledger takes no writing ends at its start with 3, and one line that names the place."""
    with mounted(tmp_path / "state") as disk:
        site.ledger = disk / "ledger.sqlite"
        site.configure()
        site.teach()
        with read_only(disk):
            site.start(wait=False)
            assert site.ended() == 3
        (line,) = site.log().splitlines()
        assert str(disk) in line
        assert "Read-only file system" in line


def test_full_disk_in_the_midst_of_training(site: Faulty, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A training that fills the disk ends with 3 and a line that says so; what was learned stays, and it can go on."""
    directory = lessons(tmp_path / "more")
    with mounted(tmp_path / "state", "1m") as disk:
        site.ledger = disk / "ledger.sqlite"
        site.configure()
        site.teach()
        assert site.spamnb("train", "--ham", str(directory)) == 3
        said = capsys.readouterr().err
        assert "is full: free some space" in said
        assert "Traceback" not in said
        assert site.faults() == []
        run("mount", "-o", "remount,size=64m", str(disk))
        assert site.spamnb("train", "--ham", str(directory)) == 0
        assert site.spamnb("verify") == 0


def test_verify_on_a_full_disk(site: Faulty, tmp_path: Path) -> None:
    """A command that only reads needs no room on the disk."""
    with mounted(tmp_path / "state") as disk:
        site.ledger = disk / "ledger.sqlite"
        site.configure()
        site.teach()
        before = {file.name for file in disk.iterdir()}
        with filled(disk):
            assert site.spamnb("verify") == 0
            assert site.spamnb("status") == 0
        assert site.faults() == []
        assert {file.name for file in disk.iterdir()} == before


def test_restore_on_a_full_disk(site: Faulty, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A restore without room says that the ledger's disk is full, and not that of the copy; it changes nothing."""
    with mounted(tmp_path / "state", "64m") as disk:
        site.ledger = disk / "ledger.sqlite"
        site.configure()
        site.teach()
        for copy in (tmp_path / "copy.sqlite", tmp_path / "copy.sqlite.gz"):
            assert site.spamnb("backup", str(copy)) == 0
            before = site.ledger.read_bytes()
            capsys.readouterr()
            with filled(disk):
                assert site.spamnb("restore", str(copy)) == 3
                said = " ".join(capsys.readouterr().err.split())
            wanted = (
                f"The disk that holds the ledger {site.ledger} is full" if copy.suffix == ".sqlite" else "too little"
            )
            assert wanted in said
            assert "free some" in said
            assert site.ledger.read_bytes() == before
            assert site.spamnb("restore", str(copy)) == 0


def test_upgrade_on_a_full_disk(site: Faulty, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An upgrade without room for the copy that comes first says what to do, and the ledger stays as it is."""
    with mounted(tmp_path / "state", "64m") as disk:
        site.ledger = disk / "ledger.sqlite"
        site.configure()
        site.teach()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(schema, "_STEPS", (*schema._STEPS, "CREATE TABLE extra (a)"))
            patch.setattr(schema, "VERSION", schema.VERSION + 1)
            patch.setattr("spamnb.ledger.connection.VERSION", schema.VERSION)
            with filled(disk):
                os.truncate(disk / "block", os.path.getsize(disk / "block") - 300_000)  # for the log
                assert site.spamnb("train", "--ham", str(lessons(tmp_path / "more", 1))) == 3
            said = " ".join(capsys.readouterr().err.split())
            assert f"The ledger {site.ledger} is not upgraded, and nothing is changed" in said
            assert "free" in said
        assert site.faults() == []  # the program of before can use it


@pytest.mark.parametrize("broken", [filled, read_only])
def test_junk_on_a_broken_disk(site: Faulty, tmp_path: Path, broken) -> None:
    """Spam that cannot be written into Junk stays in the inbox, whole, and is moved once it can be."""
    with mounted(site.root / ".Junk") as disk:
        create_folder(str(site.root), "maildir++", "Junk")
        site.teach()
        site.start()
        site.goes_on(830)
        with broken(disk):
            spam = site.spam(831)
            until(lambda: "cannot move a message" in site.log(), "the fault said")
            assert site.contents("INBOX") == [spam]
            ham = site.deliver(message("ham", 831))
            until(lambda: site.log().count("stays in INBOX, ham") == 1, "other mail judged")
            site.compared()
            assert site.log().count("cannot move a message") == 1
            assert site.log().count("cannot be ended yet") == 0
        until(lambda: spam in site.contents("Junk"), "moved when there is room")
        until(lambda: site.contents("INBOX") == [ham], "the original gone: across disks it is removed last")
        assert len(site.everything()) == 3
        assert site.label(spam) is None
        site.clean()


@pytest.mark.parametrize("broken", [filled, read_only])
def test_mailbox_on_a_broken_disk(tmp_path: Path, broken) -> None:
    """In a mailbox that takes no writing nothing is moved and nothing lost, and afterwards all goes on."""
    with mounted(tmp_path / "disk") as disk:
        site = Faulty(tmp_path)
        site.root = disk / "Maildir"
        site.folders = {name: create_folder(str(site.root), "maildir++", name) for name in site.roles}
        site.configure("service:\n  reconcile_seconds: 1\n")
        site.teach()
        site.start()
        try:
            site.goes_on(840)
            spam = site.spam(841)
            with broken(disk):
                until(lambda: len(site.everything()) == 2, "both there")
            until(lambda: spam in site.contents("Junk"), "the spam moved in the end")
            site.goes_on(842)
            site.clean()
        finally:
            site.end()
