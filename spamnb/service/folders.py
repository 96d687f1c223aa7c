"""The folders of one mailbox, each with its role; and reading the files in them."""

import contextlib
import logging
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from spamnb.config import Mailbox, Role
from spamnb.errors import MaildirError
from spamnb.mail.identity import take
from spamnb.mail.reading import LazyReading
from spamnb.maildir.folders import FolderUnavailableError, create_folder, find_folders, is_maildir
from spamnb.maildir.messages import Entry, read_chunks, scan
from spamnb.maildir.names import parse_name
from spamnb.moves import KnownFolder
from spamnb.policy import TRAINING
from spamnb.service.context import Context
from spamnb.service.log import LogOnce

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WatchedFolder(KnownFolder):
    """A folder with its role; `unsure` marks the one for unsure mail."""

    role: Role
    unsure: bool


class Folders:
    """The folders of a mailbox as they were when last looked at, and by their paths.

    unreadable: the paths of files that could not be read when last tried.
    """

    def __init__(self, mailbox: Mailbox, context: Context) -> None:
        self.mailbox = mailbox
        self.root = str(mailbox.path)
        self.id, self.started_at = context.ledger.locations.mailbox(self.root)
        self._context = context
        self.by_path: dict[str, WatchedFolder] = {}
        self.unreadable = LogOnce(_log, count=lambda _: context.measurements.fault("mail"))

    def __iter__(self) -> Iterator[WatchedFolder]:
        return iter(list(self.by_path.values()))

    def refresh(self) -> None:
        """Look which folders there are, and make the ones that the filter moves mail to.

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
        ids = self._context.ledger.locations
        self.by_path = {
            folder.path: WatchedFolder(
                folder.name, folder.path, ids.folder(self.id, folder.name), *self._context.role_of(self.id, folder.name)
            )
            for folder in found
        }

    def by_id(self, folder: int) -> WatchedFolder | None:
        """A folder of this mailbox by the ledger's id, or None."""
        return next((one for one in self if one.id == folder), None)

    def named(self, name: str) -> WatchedFolder:
        """The folder of that name, which is one that `refresh` has found or made; made again where it was deleted.

        Raises MaildirError where there is none.
        """
        for is_last in (False, True):
            folder = next((folder for folder in self if folder.name == name), None)
            if folder is not None and (is_last or is_maildir(folder.path)):
                return folder
            if not is_last:
                self.refresh()
        raise MaildirError(f"{self.root} has no folder {name!r}: make it, or correct the roles in the configuration")

    def read(self, folder: WatchedFolder, entry: Entry) -> LazyReading | None:
        """The message in a file; None where it is gone, is no regular file, or cannot be read."""
        path = entry.path(folder)
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):
                return None  # before it is opened: a device may do something when it is
            raw = take(read_chunks(path))
        except FileNotFoundError:
            return None
        except (OSError, MaildirError) as fault:
            self.unreadable.log(path, str(fault))
            return None
        self.unreadable.over(path)
        return LazyReading(raw)

    def is_bare(self) -> bool:
        """Whether there is not one message in the mailbox: the directories below a mount point may look like one.

        Nothing is recorded as gone then: what is not gone need not come back.
        """
        try:
            return not any(scan(folder) for folder in self)
        except FolderUnavailableError:
            return False

    def follow_renamed(self) -> None:
        """Carry over what the ledger knows of folders that have another name, or mailbox, than before.

        A folder that is renamed, or moved into another one, looks as if all of its messages had left one folder and
        come to another. That would be learned: an Archive that was moved into Junk as spam, by the hundreds. File names
        do not tell it from moves, since some mail programs keep them. The directory does, which is the same one. But a
        folder that gets the name of a training folder is meant to be learned.
        """
        ledger = self._context.ledger
        for folder in self:
            with contextlib.suppress(FileNotFoundError):
                status = os.stat(folder.path)
                former = ledger.locations.same_directory(status.st_dev, status.st_ino)
                if former == folder.id:
                    continue
                with ledger.transaction():
                    if former is not None and folder.role not in TRAINING:
                        self._carry_over(former, folder)
                    ledger.locations.set_directory(folder.id, status.st_dev, status.st_ino)

    def _carry_over(self, former: int, folder: WatchedFolder) -> None:
        """In a new directory that only has the number of one that was deleted, no file has a known name."""
        locations = self._context.ledger.locations
        try:
            found = {parse_name(entry.name).key for entry in scan(folder)}
        except FolderUnavailableError:
            return
        new = found - locations.files_in(folder.id).keys()
        if carried := locations.carry(former, folder.id, new, self._context.now()):
            was = locations.where(former)[1]
            _log.info("the folder %s is %s now: its %d messages are not learned by that", was, folder.name, carried)
