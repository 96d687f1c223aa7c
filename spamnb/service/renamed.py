"""Folders that were renamed: their mail is where it was, and nobody has said anything of it.

A folder that is renamed, or drawn into another one, looks as if all of its messages had left one folder and come to
another. Taken for a person's word, that would be learned: an Archive that slipped into Junk as spam, a Junk with a
new name as ham, by the hundreds. File names do not tell it from moves, since some mail programs keep them. The
directory does: it is the same one, with another name. So it is written down in the ledger which directory each folder
was when last looked at.
"""

import contextlib
import logging
import os

from spamnb.config import Role
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import FolderUnavailableError
from spamnb.maildir.mailbox import scan
from spamnb.maildir.names import parse_name
from spamnb.service.boxes import Box, Boxes

_log = logging.getLogger(__name__)
_TAUGHT = (Role.TRAIN_SPAM, Role.TRAIN_HAM)  # whoever gives a folder such a name wants it to be learned


def follow_renamed(boxes: Boxes, ledger: Ledger, now: float) -> None:
    """Carry over what the ledger knows of folders that have another name, or lie in another mailbox, than before."""
    for box in boxes:
        with contextlib.suppress(FileNotFoundError):
            status = os.stat(box.folder.path)
            former = ledger.files.same_directory(status.st_dev, status.st_ino)
            if former == box.spot.id:
                continue
            with ledger.transaction():
                if former is not None and box.role not in _TAUGHT:
                    _carry_over(former, box, ledger, now)
                ledger.files.set_directory(box.spot.id, status.st_dev, status.st_ino)


def _carry_over(former: int, box: Box, ledger: Ledger, now: float) -> None:
    """Of a new directory that only has the number of one that was deleted, no file bears a known name."""
    try:
        found = {parse_name(entry.name).key for entry in scan(box.folder)}
    except FolderUnavailableError:
        return
    carried = ledger.files.carry(former, box.spot.id, found - ledger.files.lying_in(box.spot.id).keys(), now)
    if carried:
        was = ledger.files.where(former)[1]
        _log.info("the folder %s is %s now: its %d messages teach nothing by that", was, box.folder.name, carried)
