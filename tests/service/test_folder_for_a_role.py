"""The folder of a mailbox for a role."""

import shutil
import time
from pathlib import Path

import pytest

from spamnb.base.errors import NotYetError
from spamnb.base.label import Role
from spamnb.config import Config, Mailbox
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import FolderUnavailableError, is_maildir
from spamnb.service.context import Context
from spamnb.service.mailbox.folders import Folders
from tests.service.conftest import Site


def test_folder_for_a_role(site: Site, tmp_path: Path) -> None:
    """A deleted folder that mail goes to is made again.

    Not at once: for ten seconds after it was missed it is one that is not there for now, and the others are as ever.
    """
    clock = [time.time()]
    with Ledger(str(tmp_path / "one")) as ledger:
        mailbox = Mailbox(path=site.root, roles=site.roles)
        folders = Folders(mailbox, Context(Config((mailbox,), tmp_path / "one"), ledger, lambda: clock[0]))
        folders.refresh()
        shutil.rmtree(site.folders["Junk"].path)
        for seconds in (0.0, 9.9):
            clock[0] += seconds
            with pytest.raises(NotYetError, match="no longer has a folder 'Junk'"):
                folders.for_role(Role.SPAM)
            assert not Path(site.folders["Junk"].path).exists()
            assert folders.make_at == pytest.approx(clock[0] + 10 - seconds)
        clock[0] += 0.2
        assert is_maildir(folders.for_role(Role.SPAM).path)
        assert folders.make_at is None
        shutil.rmtree(site.folders["Archive"].path)
        shutil.rmtree(site.folders["Junk"].path)
        shutil.rmtree(site.folders["INBOX"].subdir("cur"))
        for _ in range(2):
            clock[0] += 20
            with pytest.raises(FolderUnavailableError, match="no folder 'INBOX'"):
                folders.refresh()
        assert not Path(site.folders["Junk"].path).exists()
