"""The file that tells another program of the filter's moves."""

import errno
import logging
import os
from pathlib import Path
from unittest import mock

import pytest

from spamnb.acts import moves
from spamnb.acts.answers import Answers
from spamnb.acts.undo import since
from spamnb.base.label import Label
from spamnb.cli.common.sample_mail import message
from spamnb.cli.main import main
from spamnb.config import load
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from tests.patience import until
from tests.service.conftest import Site


@pytest.fixture
def file(site: Site) -> Path:
    """The file, named in the configuration of a filter that moves spam."""
    site.teach()
    path = site.directory / "moved"
    site.configure(f"service:\n  moved_file: {path}\n")
    site.work()
    return path


def test_after_a_move(site: Site, file: Path) -> None:
    """The file is made after a move by the filter, and again once it was removed; ham and a person's move make none."""
    ham = site.deliver(message("ham", 501))
    site.work()
    site.move(ham, "INBOX", "Archive")
    site.work()
    assert not file.exists()
    for number in (501, 502):
        site.deliver(message("spam", number))
        site.work()
        assert (len(site.contents("Junk")), file.stat().st_size) == (number - 500, 0)
        assert file.stat().st_mode & 0o777 == 0o600
        file.unlink()
    site.work()
    assert not file.exists()


def test_since_when(site: Site, file: Path) -> None:
    """A file that is there stays as it is, so its time is that of the first move that nobody has carried on."""
    file.touch()
    os.utime(file, (1000, 1000))
    site.deliver(message("spam", 501))
    site.work()
    assert (len(site.contents("Junk")), file.stat().st_mtime) == (1, 1000)


def test_out_of_a_training_folder(site: Site, file: Path) -> None:
    """A message that is learned in a training folder, and then moved on, makes the file too."""
    site.deliver(message("spam", 501), "TrainSpam")
    until(lambda: site.work() or site.contents("Junk"), "the message to dwell")
    assert file.exists()


@pytest.mark.parametrize("act", ["undo", "an answer"])
def test_beside_the_service(site: Site, file: Path, act: str) -> None:
    """A command or a page that moves mail makes the file too, also while no service runs."""
    spam = message("spam", 501)
    site.deliver(spam)
    site.work()
    file.unlink()
    with Ledger(str(site.ledger)) as ledger:
        if act == "undo":
            (moved,) = since(ledger, 0.0, ["moved"])
            assert site.spamnb("undo", str(moved.id)) == 0
        else:
            Answers(ledger, load(site.config)).call(identity(spam), Label.HAM)
    assert (len(site.contents("INBOX")), file.exists()) == (1, True)


def test_undo_with_a_file_that_cannot_be_made(site: Site, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Undo moves mail back all the same, and says in one line that the file cannot be made."""
    for number in (501, 502):
        site.deliver(message("spam", number))
    site.work()
    file.unlink()
    file.mkdir()
    assert main(["--config", str(site.config), "undo", "--only", "moves", "--since", "1h"]) == 0
    assert len(site.contents("INBOX")) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(f"{file} cannot be made after a move (Is a directory): correct `moved_file`")


def test_after_a_full_disk(site: Site, file: Path) -> None:
    """A move that was left open makes the file when it is made."""
    site.deliver(message("spam", 501))
    with mock.patch.object(moves, "move", side_effect=OSError(errno.ENOSPC, "No space left on device")):
        site.work()
    assert (len(site.contents("Junk")), file.exists()) == (0, False)
    site.work()
    assert (len(site.contents("Junk")), file.exists()) == (1, True)


@pytest.mark.parametrize("what", ["no directory", "a directory", "a pipe that nobody reads", "a link"])
def test_a_file_that_cannot_be_made(site: Site, file: Path, what: str, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever is wrong with the file delays no mail; the log says it once."""
    outside = site.directory / "outside"
    if what == "no directory":
        site.configure(f"service:\n  moved_file: {site.directory}/away/moved\n")
    elif what == "a directory":
        file.mkdir()
    elif what == "a link":
        file.symlink_to(outside)
    else:
        os.mkfifo(file)
    for number in range(501, 504):
        site.deliver(message("spam", number))
    with caplog.at_level(logging.WARNING):
        site.work()
    assert len(site.contents("Junk")) == 3
    (said,) = [record.getMessage() for record in caplog.records if "cannot be made after a move" in record.getMessage()]
    assert "correct `moved_file` under `service`" in said
    assert not outside.exists()
