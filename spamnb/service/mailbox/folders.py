"""The folders of one mailbox, each with its role; and reading the files in them."""

import contextlib
import logging
import math
import os
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from spamnb.acts.moves import FolderWithId
from spamnb.base.errors import MaildirError, NotYetError
from spamnb.base.label import Role
from spamnb.config import Mailbox
from spamnb.mail.intake import is_blank, take
from spamnb.mail.reading import LazyReading
from spamnb.maildir.folders import (
    Folder,
    FolderUnavailableError,
    create_folder,
    find_folders,
    is_maildir,
    link_in_the_way,
)
from spamnb.maildir.messages import Entry, entries, locate, read_chunks
from spamnb.maildir.names import parse_name
from spamnb.rules.reactions import TRAINING
from spamnb.service.context import Context

_log = logging.getLogger(__name__)
# After a folder has vanished, none is made for this time: else `rm -r` of a mailbox finds a new folder, and fails.
QUIET_SECONDS = 10.0
_CHUNKS = 16  # of a message that are read in one go: 4 MB, 40 ms
_AT_ONCE = 100  # directories, or files, that are looked at in one go: at most 2 ms
_WRITTEN = 1000  # records of files that are written in one go: 20 ms
_Item = TypeVar("_Item")
_BLANK = "it is empty or holds only zero bytes, as after a power cut; delete it if its content does not come back"
_SKIPPED = "to read it again, perhaps with a newer version: spamnb users retry"


@dataclass(frozen=True, slots=True)
class WatchedFolder(FolderWithId):
    """A folder with its role."""

    role: Role


class Folders:
    """The folders of a mailbox at the last look, also by their paths.

    unreadable: the files that could not be read at the last try, by path. make_at: when to make a vanished folder again
    that the filter moves mail to, in seconds since the epoch; None if none has vanished.
    """

    def __init__(self, mailbox: Mailbox, context: Context) -> None:
        self._path = mailbox.path
        self.root = str(mailbox.path)
        self.id, self.started_at = context.ledger.locations.mailbox(self.root)
        self._context = context
        self.by_path: dict[str, WatchedFolder] = {}
        self.make_at: float | None = None
        self._number_looked = 0
        self._vanished_at = -math.inf
        self.unreadable = context.faults.messages

    @property
    def mailbox(self) -> Mailbox:
        """The configured mailbox, with the folders that a person has chosen since: see `Context.mailbox_at`."""
        return self._context.mailbox_at(self._path)

    def __iter__(self) -> Iterator[WatchedFolder]:
        return iter(list(self.by_path.values()))

    def refresh(self) -> None:
        """Find the folders, and make the ones to which the filter moves mail.

        For `QUIET_SECONDS` after a folder has vanished it makes none. Without an inbox it makes nothing, and raises
        FolderUnavailableError: a mailbox on an unmounted disk looks like an empty directory.
        """
        self._context.follow_choices()
        try:
            there = list(find_folders(self.root, self.mailbox.layout, self._looked, levels=self.mailbox.levels))
        except FolderUnavailableError:
            self._vanished_at = self._context.now()
            raise
        paths, names = {folder.path for folder in there}, {folder.name for folder in there}
        vanished = [folder for folder in self if folder.path not in paths]
        if vanished:
            self._vanished_at = self._context.now()
        if self.mailbox.inbox_folder not in names:
            raise FolderUnavailableError(
                f"{self.root} has no folder {self.mailbox.inbox_folder!r}: mount its disk if it is not mounted,"
                " or set the role `inbox` in the configuration"
            )
        self._use(there)
        linked = {folder.name for folder in vanished if os.path.islink(folder.path)}
        for folder in vanished:
            if folder.name in linked and folder.name not in self._goals:
                _log.warning("%s; the filter does not look at its mail until then", link_in_the_way(folder.path))
        self._make_missing(there, linked)

    def _make_missing(self, there: list[Folder], linked: set[str]) -> None:
        """Make the missing folders that the filter moves mail to. linked: folders that have a link in their place."""
        missing = set(self._goals) - {folder.name for folder in there}
        self.make_at = self._vanished_at + QUIET_SECONDS if missing and self.is_quiet else None
        for name in self._goals:
            if name in missing and (not self.is_quiet or name in linked):  # a link is in the way: report it at once
                levels = self.mailbox.levels
                there.append(create_folder(self.root, self.mailbox.layout, name, self._looked, levels=levels))
                self._use(there)
                _log.info("made the folder %s in %s", name, self.root)

    @property
    def _goals(self) -> Collection[str]:
        """Return the names of the folders that the filter moves mail to."""
        return self.mailbox.goals.values()

    @property
    def is_quiet(self) -> bool:
        """Whether a folder has just vanished: the mailbox may be about to be removed, so nothing is made."""
        return 0 <= self._context.now() - self._vanished_at < QUIET_SECONDS

    def _looked(self) -> None:
        """One of perhaps very many directories was looked at."""
        self._count(f"looking for the folders of {self.root}")

    def _count(self, doing: str) -> None:
        self._number_looked += 1
        if self._number_looked % _AT_ONCE == 0 and not self._context.ledger.is_held:  # as by `for_role`
            self._context.alive(doing)

    def with_turns(self, items: Iterable[_Item], doing: str) -> Iterator[_Item]:
        """Yield these items, perhaps very many, and let other accounts have turns. doing: the work, in words."""
        for item in items:
            yield item
            self._count(doing)

    def in_groups(self, items: Iterable[_Item], doing: str) -> Iterator[list[_Item]]:
        """Yield these items in groups to write together, and let other accounts have turns after each group."""
        rest = iter(items)
        while group := list(islice(rest, _WRITTEN)):
            yield group
            self._context.alive(doing)

    def entries(self, folder: WatchedFolder) -> Iterator[Entry]:
        """Yield the messages of a folder, as `maildir.messages.entries` does, and let other accounts have turns."""
        return self.with_turns(entries(folder), f"looking at {folder.name} in {self.root}")

    def _use(self, there: Collection[Folder]) -> None:
        ids, by_path = self._context.ledger.locations.folders(self.id, [folder.name for folder in there]), {}
        for folder in there:
            name, path, role = folder.name, folder.path, self._context.role_of(self.id, folder.name)
            by_path[path] = WatchedFolder(name, path, ids[name], role, levels=folder.levels)
            self._looked()
        self.by_path = by_path

    def by_id(self, folder: int) -> WatchedFolder | None:
        """Return a folder of this mailbox by the ledger's id, or None."""
        return next((watched for watched in self if watched.id == folder), None)

    def for_role(self, role: Role) -> WatchedFolder:
        """Return the inbox, or the folder that mail is moved to for a role; if it was deleted, make it again.

        Raises NotYetError if it is made again in a moment, and FolderUnavailableError if the mailbox is away.
        """
        name = self.mailbox.folder_for(role)
        folder = self._named(name)
        if folder is None or folder.role is not role or not is_maildir(folder.path):
            self.refresh()
            folder = self._named(name)
        if folder is None:
            raise NotYetError(f"{self.root} no longer has a folder {name!r}: it is made again in a moment")
        return folder

    def _named(self, name: str) -> WatchedFolder | None:
        return next((folder for folder in self if folder.name == name), None)

    def read(self, folder: WatchedFolder, entry: Entry) -> LazyReading | None:
        """Return the message in a file; None if it is gone, not a regular file, blank, or unreadable.

        Do not call it in a transaction.
        """
        path = entry.path(folder)
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):
                return None  # before it is opened: opening a device may have an effect
            if not self._context.reading.begin(parse_name(entry.name).key):
                self.unreadable.log(path, f"{path} is not read, because the service crashed over it: {_SKIPPED}")
                return None
            raw = take(self._chunks(folder, entry))
        except FileNotFoundError:
            return None
        except (OSError, MaildirError) as fault:
            self.unreadable.log(path, str(fault))
            return None
        if is_blank(raw):
            self.unreadable.log(path, f"{path} is not judged: {_BLANK}")
            return None
        self.unreadable.clear(path)
        return LazyReading(raw)

    def _chunks(self, folder: WatchedFolder, entry: Entry) -> Iterator[bytes]:
        for number, chunk in enumerate(read_chunks(entry.path(folder), folder), 1):
            yield chunk
            if number % _CHUNKS == 0:
                self._context.alive(f"reading a long message in {self.root}")
                self._context.reading.begin(parse_name(entry.name).key)  # other accounts may have read theirs

    def read_at(self, folder: WatchedFolder, base: str, flags: str) -> LazyReading | None:
        """Return the message in the file of that base name, usually with these flags; None as for `read`.

        Also returns None if the folder cannot be listed: the comparison of the folders logs that.
        """
        try:
            entry = locate(folder, base, flags)
        except FolderUnavailableError:
            return None
        return None if entry is None else self.read(folder, entry)

    def forget_gone(self) -> None:
        """End the faults of folders and files that no longer exist."""
        for faults in (self._context.faults.folders, self.unreadable):
            for path in faults:
                self._looked()
                if not os.path.lexists(str(path)):
                    faults.clear(path)

    def is_bare(self) -> bool:
        """Whether the mailbox has no message at all: empty directories below a mount point may look like a mailbox.

        Then no message is recorded as gone, so none has to come back after the mount.
        """
        try:
            there = self.with_turns(self, f"looking at the folders of {self.root}")
            return not any(True for folder in there for _ in self.entries(folder))
        except FolderUnavailableError:
            return False

    def follow_renamed(self) -> None:
        """Carry over the ledger's records of folders that have a new name, or are in a different mailbox.

        If a folder is renamed or moved, all its messages seem to leave one folder and come to another. The filter would
        learn that: by the hundreds as spam, if Archive was moved into Junk. File names do not tell this from moves,
        since some mail programs keep them. The directory does: it is the same one. But if a folder
        gets the name of a training folder, the person wants its mail learned.
        """
        ledger, changed = self._context.ledger, list[tuple[int, int, int]]()
        for folder in self:
            self._context.alive(f"looking for renamed folders in {self.root}")
            with contextlib.suppress(FileNotFoundError):
                status = os.stat(folder.path)
                former = ledger.locations.same_directory(status.st_dev, status.st_ino)
                if former == folder.id:
                    continue
                if former is not None and folder.role not in TRAINING:
                    self._carry_over(former, folder)
                changed.append((status.st_dev, status.st_ino, folder.id))
        if changed:  # last: after a kill before this, the next look carries the rest over
            ledger.locations.set_directories(changed)

    def _carry_over(self, former: int, folder: WatchedFolder) -> None:
        """Carry the records of known file names over; a new directory with a deleted one's number has none."""
        locations, doing = self._context.ledger.locations, f"looking at {folder.name} in {self.root}"
        try:
            bases = {parse_name(entry.name).key for entry in self.entries(folder)}
        except FolderUnavailableError:
            return
        new, now = bases - dict(self.with_turns(locations.files(folder.id), doing)).keys(), self._context.now()
        # Neighbours share a page of the ledger: each is read and written once.
        groups = self.in_groups(sorted(new), doing)
        if carried := sum(locations.carry(former, folder.id, group, now) for group in groups):
            was = locations.where(former)[1]
            _log.info("the folder %s is now %s: this teaches nothing about its %d messages", was, folder.name, carried)
