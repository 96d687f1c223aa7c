"""Find the files of a message now: in the watched folders, or in the place that it was trained from."""

import functools
import os
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from spamnb.acts.moves import find_folder, mailboxes_of, message_at
from spamnb.base.errors import MaildirError
from spamnb.base.label import Label, Role
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
    """A file of a message: its path, and the label that its folder stands for (None: none).

    location: its row in the ledger, if it is in a watched folder. role: that folder's.
    """

    path: str
    label: Label | None
    location: Location | None = None
    role: Role = Role.NEUTRAL

    def leaves(self, label: Label) -> bool:
        """Tell whether mail that is called so leaves this folder, in which the filter has put it apart."""
        return self.role.is_apart and not (self.role is Role.NEWSLETTERS and label is Label.HAM)


class CurrentFiles:
    """Finds the files of messages by the messages' identities."""

    def __init__(self, ledger: Ledger, config: Config, digests: Collection[bytes] = ()) -> None:
        self._ledger = ledger
        self._mailboxes = mailboxes_of(config)
        self._folder_of = find_folder(ledger, self._mailboxes)
        self._path_of = functools.cache(lambda folder: ledger.locations.where(folder)[0])
        self._trained: dict[bytes, list[TrainedFile]] = defaultdict(list)
        for file in ledger.trained.of_messages(digests) if digests else ():
            self._trained[file.digest].append(file)

    def mailbox(self, location: Location) -> Mailbox | None:
        """Return the configured mailbox of a file, or None."""
        return self._mailboxes.get(self._path_of(location.folder))

    def may_ask(self, location: Location) -> bool:
        """Tell whether a person may be asked about mail in this place: its folder is for ham, or for mail apart."""
        role = self._role_of(location)
        return role.is_apart or taught_by(role) is Label.HAM

    def of(self, digest: bytes) -> list[CurrentFile]:
        """Return all files of a message that exist now: first those in watched folders, the newest first."""
        known = self._ledger.messages.find(digest)
        locations = [] if known is None else self._ledger.locations.of_message(known.id)[::-1]
        watched = [self._watched(location) for location in locations if location.gone_at is None]
        trained = [self._trained_from(file) for file in self._trained[digest]]
        files = {file.path: file for file in (*trained, *watched) if file is not None}
        return sorted(files.values(), key=lambda file: file.location is None)

    def best(self, digest: bytes, label: Label | None) -> CurrentFile | None:
        """Return a file where messages of that label belong, else any other file, or None without any."""
        files = self.of(digest)
        return next((file for file in files if file.label is label), files[0] if files else None)

    def read(self, location: Location, digest: bytes) -> tuple[CurrentFile, bytes] | None:
        """Return a file of a message and its bytes now; None if it is gone or cannot be read."""
        file = self._watched(location)
        try:
            message = message_at(self._folder_of(location.folder), location.base, digest, location.flags)
        except MaildirError:
            return None
        return None if file is None or message is None else (file, message[1])

    def _watched(self, location: Location) -> CurrentFile | None:
        folder = self._folder_of(location.folder)
        try:
            entry = None if folder is None else locate(folder, location.base, location.flags)
        except MaildirError:
            return None  # its folder cannot be listed now
        if folder is None or entry is None:
            return None
        role = self._role_of(location)
        return CurrentFile(entry.path(folder), taught_by(role), location, role)

    def _role_of(self, location: Location) -> Role:
        mailbox = self.mailbox(location)
        return Role.NEUTRAL if mailbox is None else mailbox.role_of(location.folder_name)

    def _trained_from(self, file: TrainedFile) -> CurrentFile | None:
        path = current_path(file.path)
        return None if path is None else CurrentFile(path, file.label)


def current_path(path: str) -> str | None:
    """Return the path that a file has now: in a Maildir its flags may have changed. None if it is gone."""
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
    """Return the mbox that holds the message of that name (PATH:NUMBER). None for any other name."""
    mbox, _, number = path.rpartition(":")
    return mbox if number.isdecimal() and os.path.isfile(mbox) else None
