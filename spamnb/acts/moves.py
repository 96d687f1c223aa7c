"""The journalled move: written down, made, and recorded as made, so that a crash at any point can be repaired.

1. The intent is committed to the ledger, durably.
2. The file is renamed, and both directories are made durable (`maildir.rename`).
3. One transaction ends the intent and records the file's new place.
4. Others hear of it: IMAP servers, that the source has lost a message (`maildir.departures`), and a program that
   waits for a file (`acts.moved_file`).

If the process is killed before 2, the file is at its source; after 2, at its destination. A move across file systems
may leave both files, with the same bytes. The open intent tells which file to look for. `resolve` ends each open
intent: it makes the move if it was not made, removes the source if the copy is complete, and records the result.

If a folder cannot be listed (a disk that is not mounted), the intent stays open. If it ended too early, the filter's
own move would look like a person's. It also stays open while another program may be about to remove the name that it
has just linked.
"""

import errno
import functools
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from spamnb.acts import unseen
from spamnb.acts.moved_file import MovedFile
from spamnb.base.errors import MaildirError, NotYetError, SpamnbError
from spamnb.base.label import Label, Origin
from spamnb.config import Config, Mailbox
from spamnb.identity.digests import identity
from spamnb.ledger.history.actions import Action, Cause
from spamnb.ledger.ledger import Ledger
from spamnb.mail.intake import take
from spamnb.maildir.departures import Departures, touch_cur
from spamnb.maildir.folders import Folder, FolderUnavailableError, find_folders
from spamnb.maildir.messages import Entry, links_of, locate, read_chunks, read_keywords
from spamnb.maildir.names import Name, format_name, fresh_bases, matching_letters, parse_name
from spamnb.maildir.rename import finish, move, remove_drafts
from spamnb.rules.destination import MARKS

Mailboxes = Mapping[str, Mailbox]  # by its path; the layout of an unconfigured mailbox is read from the disk

_log = logging.getLogger(__name__)
_ANY_MARKS = "".join(sorted(MARKS))
_TRIES = 5  # a client may change flags between our look and our rename; it will stop at some time
# What delays a move for now: it is made when this has passed.
_PASSING = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.ESTALE}


class NotUndoneError(SpamnbError):
    """An action cannot be undone. why: the reason, without the number of the action."""

    def __init__(self, action: int, why: str) -> None:
        super().__init__(f"cannot undo {action}: {why}")
        self.why = why


class MovedSinceError(NotUndoneError):
    """The message is not where the filter moved it: a person has moved it since then, so it stays there."""

    def __init__(self, action: int, destination: str) -> None:
        super().__init__(action, f"the message is no longer in {destination}, so it stays")


class BeingMovedError(NotYetError):
    """Another process has a move of the same file open: this move has to wait for it."""


@dataclass(frozen=True, slots=True)
class FolderWithId(Folder):
    """A folder on disk, with its id in the ledger."""

    id: int


def bases_now() -> Iterator[str]:
    """Yield unique base names, made of the present time, this process and this host."""
    return fresh_bases(time.time_ns, os.getpid(), socket.gethostname())


def mailboxes_of(config: Config) -> Mailboxes:
    """Return the mailboxes, as configured."""
    return {str(mailbox.path): mailbox for mailbox in config.mailboxes}


def folder_of_id(ledger: Ledger, folder: int, mailboxes: Mailboxes) -> FolderWithId | None:
    """Return a folder of any mailbox by the ledger's id, or None if it is no longer on disk."""
    root, name = ledger.locations.where(folder)
    mailbox = mailboxes.get(root)
    try:
        if mailbox is None:
            folders = find_folders(root, "auto")
        else:
            folders = find_folders(root, mailbox.layout, levels=mailbox.levels)
    except FolderUnavailableError:
        return None
    found = next((on_disk for on_disk in folders if on_disk.name == name), None)
    return None if found is None else FolderWithId(name, found.path, folder, levels=found.levels)


FindFolder = Callable[[int], FolderWithId | None]  # by the ledger's id


def ends_of(action: Action, folder_of: FindFolder) -> tuple[FolderWithId, FolderWithId]:
    """Return the source and the destination of a move that is to be undone. Raises NotUndoneError if one is gone."""
    source = None if action.source is None else folder_of(action.source)
    destination = None if action.destination is None else folder_of(action.destination)
    if source is None or destination is None:
        raise NotUndoneError(action.id, "a folder of that move is gone")
    return source, destination


def find_folder(ledger: Ledger, mailboxes: Mailboxes) -> FindFolder:
    """Return a function that finds folders on disk by the ledger's ids, each folder once."""
    return functools.cache(lambda folder: folder_of_id(ledger, folder, mailboxes))


@dataclass(frozen=True, slots=True)
class Intent:
    """A move that is written down but not made: the journal's action, and the two folders and base names.

    flags: marks that do not hold the message back: its flags at the time of a verdict, and all of them if a person has
    decided that it moves. takes_back: the action that the move undoes.
    """

    action: int
    message: int
    digest: bytes
    source: FolderWithId
    base: str
    destination: FolderWithId
    wanted: str
    flags: str
    takes_back: int | None

    @property
    def origin(self) -> Origin:
        """Return who moves the message."""
        return "filter" if self.takes_back is None else "undo"


class Mover:
    """Moves messages between folders; `departures` holds the folders that messages have left.

    moved_file: made after each move.
    `now` gives seconds since the epoch, `bases` unique base names, `folder_of` a folder by its id, or None. `tell` is
    called with an action and the fault that keeps its move open. has_open: the last `resolve` left moves open.
    """

    def __init__(
        self,
        ledger: Ledger,
        now: Callable[[], float],
        bases: Iterator[str],
        folder_of: FindFolder,
        moved_file: MovedFile,
        departures: Departures | None = None,
        tell: Callable[[int, Exception], object] | None = None,
    ) -> None:
        self._ledger = ledger
        self._tell = tell or self._tell_once
        self.has_open = False
        self._now = now
        self._bases = bases
        self._folder_of = folder_of
        # The destinations of other processes' moves when `resolve` looked last: a folder's id and a base name.
        self._being_moved_in: set[tuple[int | None, str]] = set()
        self._of_the_dead: set[int] = set()  # actions that another process began, and left open
        self._logged: set[int] = set()  # actions for which the log already says that they cannot end yet
        self._moved_file = moved_file
        self.departures = departures or Departures(now)

    def intend(
        self, message: tuple[int, bytes], source: FolderWithId, entry: Entry, destination: FolderWithId, cause: Cause
    ) -> Intent:
        """Write a move down, in one transaction with the decision, so that a crash cannot separate the two.

        message: its id in the ledger, and its identity.

        Raises BeingMovedError if another process has a move of that file open: the file could be copied twice.
        """
        name = parse_name(entry.name)
        base, owner = name.key, self._ledger.owner.name()
        with self._ledger.transaction():
            if self._ledger.journal.is_leaving(source.id, base, owner):
                raise BeingMovedError(f"another process is moving a message out of {source.path} just now: try again")
            ends = (source.id, base), (destination.id, base)
            action = self._ledger.journal.intend(message[0], *ends, cause, owner)
        flags = _ANY_MARKS if cause.verdict is None else name.flags
        return Intent(action, *message, source, base, destination, base, flags, cause.takes_back)

    def resolve(self) -> int:
        """End the intents that a crash has left open, except those that cannot end yet. Returns the number ended.

        The intent of another process that is alive belongs to that process. If both ended it, the message could be
        copied twice.
        """
        self._being_moved_in.clear()
        ended = [self._resolve(intent) for intent in self._ledger.journal.intents() if self._is_left(intent)]
        self.has_open = not all(ended)
        return sum(ended)

    def is_open(self, action: int) -> bool:
        """Tell whether a move that was written down has neither been made nor failed."""
        intent = self._ledger.journal.get(action)
        return intent is not None and intent.state == "intent"

    def _is_left(self, action: Action) -> bool:
        former, owner = self._ledger.journal.owner(action.id), self._ledger.owner
        if former != owner.name():
            self._of_the_dead.add(action.id)
        # Its owner may have ended the intent just before it died, and another process may be about to end it too.
        is_left = not owner.is_another(former) and self._ledger.journal.take_over(action.id, former, owner.name())
        if not is_left:
            self._being_moved_in.add((action.destination, action.destination_base))
        return is_left

    def _is_overruled(self, action: Action, path: str) -> bool:
        """Tell whether a person has rescued the message, or called it ham, since the filter decided to move it.

        path: of its file, at the source. A process that died may have moved the file, and a person may have moved the
        file back under its old name. Such a file has got its name after the decision.
        """
        if action.verdict is None or action.takes_back is not None:
            return False  # a person's own decision
        if action.id in self._of_the_dead and links_of(path).since > action.at:
            return True
        lesson = self._ledger.lessons.find(action.digest)
        called_ham = lesson is not None and lesson.decision is Label.HAM
        return called_ham or self._ledger.messages.get(action.message).rescued_at is not None

    def is_being_moved_in(self, folder: int, base: str) -> bool:
        """Tell whether another process was moving a file of that name into the folder when `resolve` looked.

        If so, no person moved it. This holds for files that were there before `resolve` looked: their intents were
        written before the files came. Ask the ledger for the file after `resolve`: it has recorded moves that had
        ended.
        """
        return (folder, base) in self._being_moved_in

    def undo_move(self, action: Action) -> None:
        """Undo a move: the message returns to the folder it came from, with the flags it has now.

        Raises MovedSinceError if the message has left its destination, and NotUndoneError if a folder is gone.
        """
        source, destination = ends_of(action, self._folder_of)
        entry = locate(destination, action.destination_base)
        if entry is None:
            raise MovedSinceError(action.id, destination.name)
        cause = Cause(f"undo of {action.id}", self._now(), takes_back=action.id)
        intent = self.intend((action.message, action.digest), destination, entry, source, cause)
        if not self.carry_out(intent, entry):
            raise MovedSinceError(action.id, destination.name)

    def _folder(self, folder: int | None) -> FolderWithId | None:
        return None if folder is None else self._folder_of(folder)

    def carry_out(self, intent: Intent, entry: Entry | None, *, waits: bool = False) -> bool:
        """Make a move that was written down. Returns False if the message stays or has vanished.

        It stays if a person has read, marked or moved it since a verdict decided, or moved it since the person did, or
        if another program has just linked its file. waits: in that last case the intent stays open, for `resolve`.
        """
        letters = matching_letters(read_keywords(intent.source), read_keywords(intent.destination))
        for _ in range(_TRIES):
            if entry is None or _is_touched(intent, entry):
                break
            name = parse_name(entry.name).for_other_folder(letters)
            if name.key != intent.wanted:
                name = name.with_base(intent.wanted.partition(",")[0])
            try:
                if self._ledger.locations.get(intent.destination.id, intent.wanted) is not None:
                    raise FileExistsError
                file = of_message(intent.source, entry, intent.digest)
                if file is None:  # the file with its name is new mail
                    self._ledger.locations.gone(intent.source.id, [intent.base], self._now())
                    break
                if file[0] != entry:
                    entry = file[0]
                    continue
                if not self._rename(intent, entry, name):
                    if waits:
                        return False
                    break
            except FileNotFoundError:
                entry = locate(intent.source, intent.base)
                continue
            except FileExistsError:
                intent = replace(intent, wanted=name.with_base(next(self._bases)).key)
                self._ledger.journal.redirect(intent.action, intent.wanted)
                continue
            except (OSError, MaildirError) as fault:
                self._after_fault(intent, fault)
            self._done(intent, name.flags)
            return True
        self._ledger.journal.set_state(intent.action, "failed")
        ended = self._ledger.journal.get(intent.action)
        return ended is not None and ended.state == "done"  # by another process that took the intent for one left open

    def _rename(self, intent: Intent, entry: Entry, name: Name) -> bool:
        """Rename the file. Returns False if another program has just linked it: the filter must leave it alone."""
        path = entry.path(intent.source)
        links = links_of(path)
        if intent.origin == "filter" and links.left_until > self._now():
            return False
        moved = move(path, intent.destination, entry.subdir, format_name(name), within=intent.source)
        # The server may have linked the file between our look and our rename: give the name back in time.
        linked = intent.origin == "filter" and 0 < links.number < links_of(moved).number
        return not (linked and _returns(moved, intent, entry))

    def _after_fault(self, intent: Intent, fault: Exception) -> None:
        """Look at the result of a move that failed. Returns if it was made anyway; else raises MaildirError."""
        why = getattr(fault, "strerror", None) or fault  # without the name of the draft, which is another each time
        error = MaildirError(f"cannot move a message from {intent.source.path} to {intent.destination.path}: {why}")
        try:
            here, there = locate(intent.source, intent.base), None
            try:
                there = locate(intent.destination, intent.wanted)
            except FolderUnavailableError:
                if here is None:
                    raise
            if here is not None and there is not None:
                finish(here.path(intent.source), there.path(intent.destination), intent.source, intent.destination)
        except (OSError, MaildirError):
            raise error from fault  # the intent stays open: `resolve` looks again
        if there is None:
            if getattr(fault, "errno", None) in _PASSING and intent.origin == "filter":
                self._logged.add(intent.action)  # and the intent stays open
            else:
                self._ledger.journal.set_state(intent.action, "failed")
            raise error from fault

    def _done(self, intent: Intent, flags: str) -> None:
        now = self._now()
        source, destination = (intent.source.id, intent.base), (intent.destination.id, intent.wanted)
        with self._ledger.transaction():
            self._ledger.locations.moved(source, destination, intent.message, intent.origin, flags, now)
            self._ledger.journal.set_state(intent.action, "done")
            if intent.takes_back is not None:
                first = self._ledger.journal.mark_undone(intent.takes_back)
                if first.verdict is not None:  # the filter had decided this move: a person has rescued the message
                    is_back = first.state == "undone"
                    self._ledger.messages.rescued(intent.message, now if is_back else None)
                    if is_back:
                        unseen.rescued(self._ledger, [intent.digest], now)
        self.departures.add(intent.source)
        self._moved_file.make()

    def _resolve(self, action: Action) -> bool:
        """End an intent. Returns False if it has to stay open."""
        source, destination = self._folder(action.source), self._folder(action.destination)
        if source is None or destination is None:
            return False  # the folder belongs to another mailbox, or is gone for now
        last = self._ledger.locations.last(source.id, action.source_base)
        places = source, action.source_base, destination, action.destination_base
        flags = _ANY_MARKS if action.verdict is None else "" if last is None else last.flags
        intent = Intent(action.id, action.message, action.digest, *places, flags, action.takes_back)
        remove_drafts(destination, intent.wanted)
        remove_drafts(source, intent.base)  # a draft from giving the message back
        try:
            there = message_at(destination, intent.wanted, action.digest)
            here = locate(source, intent.base)
            if there is None:
                stays = here is not None and self._is_overruled(action, here.path(source))
                self.carry_out(intent, None if stays else here, waits=True)
                return not self.is_open(action.id)
            if here is not None:
                finish(here.path(source), there[0].path(destination), source, destination)
            touch_cur(source)  # killed between the rename and this
        except (OSError, MaildirError) as fault:
            self._tell(action.id, fault)
            return False
        self._done(intent, parse_name(there[0].name).flags)
        return True

    def _tell_once(self, action: int, fault: Exception) -> None:
        if action not in self._logged:
            self._logged.add(action)
            _log.warning("a move that was interrupted cannot be ended yet: %s", fault)


def _is_touched(intent: Intent, entry: Entry) -> bool:
    """Tell whether a person has read or marked a message since the filter decided to move it."""
    new = set(parse_name(entry.name).flags) - set(intent.flags)
    return intent.origin == "filter" and not new.isdisjoint(MARKS)


def _returns(moved: str, intent: Intent, entry: Entry) -> bool:
    """Move a message back. Returns False if this is impossible, so the move has to be completed."""
    try:
        move(moved, intent.source, entry.subdir, entry.name, within=intent.destination)
    except (OSError, MaildirError):
        return False
    return True


def message_at(folder: Folder | None, base: str, digest: bytes, flags: str = "") -> tuple[Entry, bytes] | None:
    """Return the file with that base name and its bytes, if it holds that message. flags: as for `locate`.

    Raises MaildirError if this cannot be determined.
    """
    return None if folder is None else of_message(folder, locate(folder, base, flags), digest)


def of_message(folder: Folder, entry: Entry | None, digest: bytes) -> tuple[Entry, bytes] | None:
    """Return the file and its bytes if it holds that message; None if it only has the name that we look for."""
    for _ in range(_TRIES):
        if entry is None:
            return None
        try:
            raw = take(read_chunks(entry.path(folder), folder))
        except FileNotFoundError:  # renamed between our look and our reading
            entry = locate(folder, parse_name(entry.name).key)
        else:
            return (entry, raw) if identity(raw) == digest else None
    raise MaildirError(f"cannot read a message in {folder.path}: it is listed there, but gone whenever it is opened")
