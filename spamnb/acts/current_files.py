"""Where the files of a message lie now: in the watched folders, or where it was trained from."""

import functools
import os
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from spamnb.acts.moves import find_folder, layouts_of, message_at
from spamnb.base.errors import MaildirError
from spamnb.base.label import Label
from spamnb.config import Config, Mailbox
from spamnb.ledger.history.locations import Location
from spamnb.ledger.history.trained import TrainedFile
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import Folder
from spamnb.maildir.messages import locate
from spamnb.maildir.names import parse_name
from spamnb.rules.reactions import taught_by


@dataclass(frozen=True, slots=True)
class CurrentFile:
    """A file of a message: its path, and what its folder says it is (None: nothing).

    location: as the ledger has it, where it is in a folder that is watched. is_unsure: that is the one for unsure mail.
    """

    path: str
    label: Label | None
    location: Location | None = None
    is_unsure: bool = False


class CurrentFiles:
    """Finds the files of messages, given by their identities."""

    def __init__(self, ledger: Ledger, config: Config, digests: Collection[bytes] = ()) -> None:
        self._ledger = ledger
        self._mailboxes = {str(mailbox.path): mailbox for mailbox in config.mailboxes}
        self._folder_of = find_folder(ledger, layouts_of(config))
        self._path_of = functools.cache(lambda folder: ledger.locations.where(folder)[0])
        self._trained: dict[bytes, list[TrainedFile]] = defaultdict(list)
        for file in ledger.trained.of_messages(digests) if digests else ():
            self._trained[file.digest].append(file)

    def mailbox(self, location: Location) -> Mailbox | None:
        """The configured mailbox of a file, or None."""
        return self._mailboxes.get(self._path_of(location.folder))

    def may_ask(self, location: Location) -> bool:
        """Whether what lies there may be asked about: its folder calls it ham, or is for unsure mail."""
        mailbox, name = self.mailbox(location), location.folder_name
        if mailbox is None:
            return False
        is_unsure = name == mailbox.unsure_folder
        return is_unsure or taught_by(mailbox.role_of(name)) is Label.HAM

    def of(self, digest: bytes) -> list[CurrentFile]:
        """All files of a message that are there now: first those in watched folders, the newest first."""
        known = self._ledger.messages.find(digest)
        locations = [] if known is None else self._ledger.locations.of_message(known.id)[::-1]
        watched = [self._watched(location) for location in locations if location.gone_at is None]
        trained = [self._trained_from(file) for file in self._trained[digest]]
        files = {file.path: file for file in (*trained, *watched) if file is not None}
        return sorted(files.values(), key=lambda file: file.location is None)

    def best(self, digest: bytes, label: Label | None) -> CurrentFile | None:
        """The file that is where a message of that label belongs; else any, or None where there is none."""
        files = self.of(digest)
        return next((file for file in files if file.label is label), files[0] if files else None)

    def read(self, location: Location, digest: bytes) -> tuple[CurrentFile, bytes] | None:
        """A file of a message as it is now, with its bytes; None where it is gone or cannot be read."""
        file = self._watched(location)
        try:
            message = message_at(self._folder_of(location.folder), location.base, digest, location.flags)
        except MaildirError:
            return None
        return None if file is None or message is None else (file, message[1])

    def _watched(self, location: Location) -> CurrentFile | None:
        folder, mailbox = self._folder_of(location.folder), self.mailbox(location)
        try:
            entry = None if folder is None else locate(folder, location.base, location.flags)
        except MaildirError:
            return None  # of a folder that cannot be listed now
        if folder is None or entry is None:
            return None
        name = location.folder_name
        if mailbox is None:
            return CurrentFile(entry.path(folder), None, location)
        is_unsure = name == mailbox.unsure_folder
        return CurrentFile(entry.path(folder), taught_by(mailbox.role_of(name), is_unsure), location, is_unsure)

    def _trained_from(self, file: TrainedFile) -> CurrentFile | None:
        path = current_path(file.path)
        return None if path is None else CurrentFile(path, file.label)


def current_path(path: str) -> str | None:
    """Where the file of that path is now: in a Maildir it may have other flags. None where it is gone."""
    if os.path.lexists(path) or mbox_of(path) is not None:
        return path
    directory, name = os.path.split(path)
    root, subdir = os.path.split(directory)
    if subdir not in ("new", "cur"):
        return None
    try:
        entry = locate(Folder(root, root), parse_name(name).key)
    except MaildirError:
        return None
    return None if entry is None else entry.path(Folder(root, root))


def mbox_of(path: str) -> str | None:
    """The mbox that holds the message of that name: the mbox's path, a colon, and a number. None for any other name."""
    mbox, _, number = path.rpartition(":")
    return mbox if number.isdecimal() and os.path.isfile(mbox) else None
