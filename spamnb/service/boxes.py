"""The folders of one mailbox, each with its role; and reading what lies in them."""

import logging
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from spamnb.config import Mailbox, Role
from spamnb.errors import MaildirError
from spamnb.ledger.ledger import Ledger
from spamnb.mail.intake import take
from spamnb.maildir.folders import Folder, FolderUnavailableError, create_folder, find_folders, is_maildir
from spamnb.maildir.mailbox import Entry, read_chunks
from spamnb.moves import Spot
from spamnb.service.once import Once

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Box:
    """A folder with its role; `unsure` marks the one for unsure mail."""

    spot: Spot
    role: Role
    unsure: bool

    @property
    def folder(self) -> Folder:
        """The folder on disk."""
        return self.spot.folder


class Boxes:
    """The folders of a mailbox as they were when last looked at.

    `role_of` gives the role of any folder of any mailbox, and whether it is the one for unsure mail, by the
    mailbox's id in the ledger and the folder's name.
    """

    def __init__(self, mailbox: Mailbox, ledger: Ledger, role_of: Callable[[int, str], tuple[Role, bool]]) -> None:
        self.mailbox = mailbox
        self.root = str(mailbox.path)
        self.id, self.started_at = ledger.files.mailbox(self.root)
        self.role_of = role_of
        self._ledger = ledger
        self._by_path: dict[str, Box] = {}
        self._unreadable = Once(_log)

    def __iter__(self) -> Iterator[Box]:
        return iter(list(self._by_path.values()))

    def refresh(self) -> list[Folder]:
        """Look which folders there are, and make the ones that the filter moves mail to. Returns those found.

        Raises FolderUnavailableError where there is no inbox, and makes nothing then: a mailbox on a disk that is
        not mounted looks like an empty directory.
        """
        found = find_folders(self.root, self.mailbox.layout)
        names = {folder.name for folder in found}
        if self.mailbox.inbox_folder not in names:
            raise FolderUnavailableError(
                f"{self.root} has no folder {self.mailbox.inbox_folder!r}: mount its disk if it is not mounted,"
                " or set the role `inbox` in the configuration"
            )
        for wanted in (self.mailbox.spam_folder, self.mailbox.unsure_folder):
            if wanted is not None and wanted not in names:
                found = (*found, create_folder(self.root, self.mailbox.layout, wanted))
                _log.info("made the folder %s in %s", wanted, self.root)
        self._by_path = {folder.path: self._box(folder) for folder in found}
        return list(found)

    def at(self, path: str) -> Box | None:
        """The folder of that directory, or None."""
        return self._by_path.get(path)

    def named(self, name: str) -> Box:
        """The folder of that name, which is one that `refresh` has found or made; made again where it was deleted.

        Raises MaildirError where there is none.
        """
        for is_last in (False, True):
            box = next((box for box in self if box.folder.name == name), None)
            if box is not None and (is_last or is_maildir(box.folder.path)):
                return box
            if not is_last:
                self.refresh()
        raise MaildirError(f"{self.root} has no folder {name!r}: make it, or correct the roles in the configuration")

    def spot(self, folder: int) -> Spot | None:
        """A folder of this mailbox by the ledger's id, or None."""
        return next((box.spot for box in self if box.spot.id == folder), None)

    def _box(self, folder: Folder) -> Box:
        role, unsure = self.role_of(self.id, folder.name)
        return Box(Spot(self._ledger.files.folder(self.id, folder.name), folder), role, unsure)

    def read(self, box: Box, entry: Entry) -> bytes | None:
        """A file's bytes as `take` gives them; None where it is gone, is no regular file, or cannot be read."""
        path = entry.path(box.folder)
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):
                return None  # before it is opened: a device may do something when it is
            raw = take(read_chunks(path))
        except FileNotFoundError:
            return None
        except (OSError, MaildirError) as fault:
            self._unreadable.say((box.folder.path, entry.name), str(fault))
            return None
        self._unreadable.over((box.folder.path, entry.name))
        return raw

    def is_unreadable(self, box: Box, entry: Entry) -> bool:
        """Whether the file could not be read when we last tried."""
        return (box.folder.path, entry.name) in self._unreadable
