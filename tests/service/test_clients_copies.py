"""Copies that mail programs make, and what a clock tells of them."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from spamnb.base.label import Role
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Mailbox
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import Folder
from spamnb.maildir.messages import deliver, scan
from spamnb.rules.reactions import COPY_SECONDS
from spamnb.service.context import Context
from spamnb.service.mailbox.watched import WatchedMailbox
from tests.lessons import label_of, learn, sample_lessons

ROLES = {"INBOX": Role.INBOX, "Junk": Role.SPAM, "Archive": Role.HAM}


@pytest.mark.parametrize(
    ("lag", "folder", "label", "stays"),
    [(COPY_SECONDS + 5, "INBOX", 0, True), (1.0, "INBOX", None, False), (COPY_SECONDS + 5, "Archive", None, True)],
)
def test_copy_out_of_junk(
    tmp_path: Path, maildir: Callable[..., dict[str, Folder]], lag: float, folder: str, label: int | None, stays: bool
) -> None:
    """A late copy of mail in Junk that comes to the inbox is ham once the original goes; an early one is judged."""
    folders, ahead = maildir("Junk", "Archive"), -lag
    roots = Path(folders["INBOX"].path)
    with Ledger(str(tmp_path / "ledger")) as ledger:
        learn(ledger, sample_lessons(25))
        mailbox = Mailbox(roots, ROLES)
        context = Context(Config((mailbox,), tmp_path / "ledger"), ledger, lambda: time.time() + ahead)
        watched = WatchedMailbox(mailbox, context)
        watched.make_ready()
        spam = message("spam", 930)
        deliver(folders["INBOX"], spam, "1.host")
        watched.compare()
        (entry,) = scan(folders["Junk"])
        ahead = 0.0
        shutil.copy2(entry.path(folders["Junk"]), Path(folders[folder].subdir("new")) / "2.host")
        watched.compare()
        ahead = 10.0  # the dwell is over
        watched.act_on_due()
        assert label_of(ledger, identity(spam)) is None
        if label is not None:
            Path(entry.path(folders["Junk"])).unlink()
            for _ in range(2):
                watched.compare()
                ahead += 10.0
                watched.act_on_due()
        assert label_of(ledger, identity(spam)) == label
        assert len(scan(folders[folder])) == stays
        assert len(scan(folders["Junk"])) == 2 - stays - (label is not None)
