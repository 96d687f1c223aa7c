"""The folders of a mailbox, by name."""

import shutil
import time
from pathlib import Path

import pytest

from spamnb.config import Config, Mailbox
from spamnb.errors import MaildirError
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import is_maildir
from spamnb.service.context import Context
from spamnb.service.folders import Folders
from tests.service.conftest import Site


def test_folder_by_name(site: Site, tmp_path: Path) -> None:
    """A folder that mail goes to is made again where it was deleted; one that never was is an error that names it."""
    with Ledger(str(tmp_path / "one")) as ledger:
        mailbox = Mailbox(path=site.root, roles=site.roles)
        folders = Folders(mailbox, Context(Config((mailbox,), tmp_path / "one"), ledger, time.time))
        folders.refresh()
        shutil.rmtree(site.folders["Junk"].path)
        assert is_maildir(folders.named("Junk").path)
        with pytest.raises(MaildirError, match="no folder 'Work'"):
            folders.named("Work")
