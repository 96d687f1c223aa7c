"""The folders of a mailbox, by name."""

import shutil
from pathlib import Path

import pytest

from spamnb.config import Mailbox, Role
from spamnb.errors import MaildirError
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import is_maildir
from spamnb.service.boxes import Boxes
from tests.service.conftest import Site


def test_folder_by_name(site: Site, tmp_path: Path) -> None:
    """A folder that mail goes to is made again where it was deleted; one that never was is an error that names it."""
    with Ledger(str(tmp_path / "one")) as ledger:
        mailbox = Mailbox(path=site.root, roles=site.roles)
        boxes = Boxes(mailbox, ledger, lambda mailbox, name: (site.roles.get(name, Role.HAM), False))
        boxes.refresh()
        shutil.rmtree(site.folders["Junk"].path)
        assert is_maildir(boxes.named("Junk").folder.path)
        with pytest.raises(MaildirError, match="no folder 'Work'"):
            boxes.named("Work")
