"""Find the letter in the folder for newcomers that a message of the person answers.

A mail program marks the answered message, too, which `untouched` sees; not every program does. A stranger may know the
Message-ID of somebody else's letter, and send another message with it and with that sender. So a letter counts only if
it is sure which message the person means: the mailbox still has all known messages of the sender, and one has this
Message-ID.
"""

from typing import NamedTuple

from spamnb.base.label import Role
from spamnb.config import Learning
from spamnb.ledger.history.locations import Location
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import LazyReading, Reading
from spamnb.mail.relations import Reply
from spamnb.maildir.folders import FolderUnavailableError
from spamnb.maildir.messages import Entry, locate
from spamnb.rules.reactions import kept_origins, learns_kept
from spamnb.service.mailbox.folders import Folders, WatchedFolder

_MOST = 20  # messages of one sender; nobody with more of them is a newcomer


class Letter(NamedTuple):
    """A file of a message that a person has said something of, and its content."""

    folder: WatchedFolder
    entry: Entry
    reading: Reading


def answered_letter(ledger: Ledger, folders: Folders, learning: Learning, sent: LazyReading) -> Letter | None:
    """Return the letter among the newcomers that a sent message answers, or None. Do not call it in a transaction."""
    if not learns_kept(Role.NEWCOMERS, learning) or all(folder.role is not Role.NEWCOMERS for folder in folders):
        return None
    reply = sent.reply
    answered = [_answered(ledger, folders, reply, address) for address in reply.to if reply.message_ids]
    letters = list(filter(None, answered))
    return letters[0] if len(letters) == 1 else None


def _answered(ledger: Ledger, folders: Folders, reply: Reply, address: str) -> Letter | None:
    """Return the letter of that sender which is answered; None if it is not sure which message is meant."""
    known = [_files(ledger, message) for message in ledger.messages.of_sender(address, _MOST + 1)]
    if len(known) > _MOST or not any(_is_apart(folders, file) for files in known for file in files):
        return None
    answered: list[Location] = []
    for files in known:
        unread = next(filter(None, (_read(folders, file) for file in files)), None)
        if unread is None:
            return None
        if unread.is_answered_by(reply):
            answered += [file for file in files if _is_apart(folders, file)] or files[:1]
    return _letter(folders, answered[0]) if len(answered) == 1 and _is_apart(folders, answered[0]) else None


def _files(ledger: Ledger, message: int) -> list[Location]:
    return [location for location in ledger.locations.of_message(message) if location.gone_at is None]


def _is_apart(folders: Folders, file: Location) -> bool:
    folder = folders.by_id(file.folder)
    return folder is not None and folder.role is Role.NEWCOMERS and file.origin in kept_origins(folder.role)


def _read(folders: Folders, file: Location) -> LazyReading | None:
    folder = folders.by_id(file.folder)
    return None if folder is None else folders.read_at(folder, file.base, file.flags)


def _letter(folders: Folders, file: Location) -> Letter | None:
    folder = folders.by_id(file.folder)
    return None if folder is None else letter_at(folders, folder, file)


def letter_at(folders: Folders, folder: WatchedFolder, file: Location) -> Letter | None:
    """Return a file of the ledger, if it is still there and can be read."""
    try:
        entry = locate(folder, file.base, file.flags)
    except FolderUnavailableError:
        return None
    unread = None if entry is None else folders.read(folder, entry)
    return None if entry is None or unread is None else Letter(folder, entry, unread.reading)
