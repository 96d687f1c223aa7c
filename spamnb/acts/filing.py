"""File a message into another folder of its mailbox: for a command or a page, which may run beside the service.

The move is written down and made as `acts.moves` says, so a crash loses nothing. The service makes folders that are
missing; a command does not.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from spamnb.acts.moved_file import MovedFile
from spamnb.acts.moves import FolderWithId, Intent, Mover, bases_now, find_folder, mailboxes_of, message_at
from spamnb.base.errors import MaildirError
from spamnb.base.label import Role
from spamnb.config import Config, Mailbox
from spamnb.ledger.history.actions import Action, Cause
from spamnb.ledger.history.locations import Location
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.messages import Entry

_TOUCHED = "it was moved or marked at this very moment"


class NoFolderError(MaildirError):
    """A mailbox has no folder of the role that mail would go to."""


@dataclass(frozen=True, slots=True)
class Filed:
    """A file of a message in a folder of a configured mailbox, and its bytes."""

    location: Location
    digest: bytes
    mailbox: Mailbox
    folder: FolderWithId
    entry: Entry
    raw: bytes


class Filing:
    """Files messages. `now` gives seconds since the epoch."""

    def __init__(self, ledger: Ledger, config: Config, now: Callable[[], float] = time.time) -> None:
        self._ledger = ledger
        self._mailboxes = mailboxes_of(config)
        self._folder_of = find_folder(ledger, self._mailboxes)
        self._mover = Mover(ledger, now, bases_now(), self._folder_of, MovedFile(config.service.moved_file))
        self._mover.resolve()  # a process that was killed may have left moves open

    def find(self, location: Location, digest: bytes) -> Filed | None:
        """Return the file of a message there; None if it is gone, or its mailbox is not configured.

        Raises MaildirError if this cannot be determined.
        """
        mailbox = self._mailboxes.get(self._ledger.locations.where(location.folder)[0])
        folder = self._folder_of(location.folder)
        found = message_at(folder, location.base, digest, location.flags)
        if mailbox is None or folder is None or found is None:
            return None
        return Filed(location, digest, mailbox, folder, *found)

    def intend(self, file: Filed, goal: Role, cause: Cause) -> Intent:
        """Write down that a file goes to the mailbox's folder of a role. Raises NoFolderError if there is none.

        It raises what `Mover.intend` raises, too.
        """
        name = file.mailbox.folder_for(goal)
        folder = self._folder_of(self._ledger.locations.folder(file.location.mailbox, name))
        if folder is None:
            raise NoFolderError(f"there is no folder {name} in {file.mailbox.path}: start the service, which makes it")
        return self._mover.intend((file.location.message, file.digest), file.folder, file.entry, folder, cause)

    def make(self, intent: Intent, file: Filed) -> str:
        """Make a move that was written down. Returns why the file stays, or ""."""
        return "" if self._mover.carry_out(intent, file.entry) else _TOUCHED

    def undo_move(self, action: Action) -> None:
        """Undo a move, as `Mover.undo_move` does."""
        self._mover.undo_move(action)

    def end(self) -> None:
        """Tell IMAP servers which folders messages have left."""
        self._mover.departures.touch_all(time.sleep)
