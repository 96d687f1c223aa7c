"""The journalled move: written down, done, and ticked off, so that a crash at any point can be mended.

1. The intent is committed to the ledger, durably.
2. The file is renamed, and both directories are made durable (`maildir.rename`).
3. One transaction ticks the intent off and notes the file's new place.
4. IMAP servers are let know that the source has lost a message (`maildir.departures`).

Killed before 2, the file lies at its source; after 2, at its destination; a move across file systems may leave
both, holding the same bytes. The open intent tells which file to look for, and `resolve` ends each one: it makes
the move that was not made, removes the source of a copy that is complete, and ticks off what is done. Where a
folder cannot be looked into (a disk that is not mounted) the intent stays open: what lies there is unknown, and
an intent given up too early would make the filter's own move look like a person's.
"""

import errno
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from spamnb.errors import MaildirError, SpamnbError
from spamnb.filter import Judgement
from spamnb.ledger.files import Origin
from spamnb.ledger.journal import Action
from spamnb.ledger.ledger import Ledger
from spamnb.mail.identity import identity
from spamnb.mail.intake import take
from spamnb.maildir.departures import Departures, touch_cur
from spamnb.maildir.folders import Folder, FolderUnavailableError, find_folders
from spamnb.maildir.keywords import matching_letters, read_keywords
from spamnb.maildir.links import in_hand_until, number_of_names
from spamnb.maildir.mailbox import Entry, locate, read_chunks
from spamnb.maildir.names import format_name, fresh_bases, parse_name
from spamnb.maildir.rename import finish, move
from spamnb.policy import MARKS

_log = logging.getLogger(__name__)
_TRIES = 5  # a client may change flags between our look and our rename; it will not do so for ever
# What stands in the way for now: the move is made when it does not any more.
_PASSING = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM, errno.ESTALE}


class MovedSinceError(SpamnbError):
    """A message is not where the filter put it: a person has moved it since, and it is left there."""


class InHandError(FolderUnavailableError):
    """Another process has a move of the same file open: what is to be done with it has to wait for that."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A folder as the ledger knows it, and as it lies on disk."""

    id: int
    folder: Folder


def bases_now() -> Iterator[str]:
    """Unique base names, made of the present time, this process and this host."""
    return fresh_bases(time.time_ns, os.getpid(), socket.gethostname())


def find_spot(ledger: Ledger, folder: int) -> Spot | None:
    """A folder of any mailbox by the ledger's id, or None where it is on disk no more."""
    root, name = ledger.files.where(folder)
    try:
        found = find_folders(root)
    except FolderUnavailableError:
        return None
    return next((Spot(folder, one) for one in found if one.name == name), None)


@dataclass(frozen=True, slots=True)
class Intent:
    """A move in hand: the action that says so, and from which to which folder and base name.

    flags: those that the message had when the move was decided. takes_back: the action that the move undoes.
    """

    action: int
    message: int
    digest: bytes
    source: Spot
    base: str
    destination: Spot
    wanted: str
    flags: str
    takes_back: int | None

    @property
    def origin(self) -> Origin:
        """Who puts the message there."""
        return "filter" if self.takes_back is None else "undo"


class Mover:
    """Moves messages between folders; `departures` are those that messages have left.

    `now` gives seconds since the epoch; `bases` gives unique base names, for when one is taken; `spot` finds a
    folder by the ledger's id, or None where it exists no more.
    """

    def __init__(
        self, ledger: Ledger, now: Callable[[], float], bases: Iterator[str], spot: Callable[[int], Spot | None]
    ) -> None:
        self._ledger = ledger
        self._now = now
        self._bases = bases
        self._spot = spot
        self._said: set[int] = set()  # actions of which it was said that they cannot be ended yet
        self.departures = Departures(now)

    def move(
        self,
        message: int,
        source: Spot,
        entry: Entry,
        destination: Spot,
        why: str,
        takes_back: int | None = None,
    ) -> bool:
        """Move a file of a message, as it was last seen; False where it had vanished before we came to it."""
        return self.carry_out(self.intend(message, source, entry, destination, why, takes_back=takes_back), entry)

    def intend(
        self,
        message: int,
        source: Spot,
        entry: Entry,
        destination: Spot,
        why: str,
        *,
        takes_back: int | None = None,
        judgement: Judgement | None = None,
    ) -> Intent:
        """Write a move down. In one transaction with the decision, so that a crash does not part the two.

        Raises InHandError where another process has a move of that file open: made by both, it could be copied twice.
        """
        name = parse_name(entry.name)
        base = name.key
        owner = self._ledger.owner.name()
        with self._ledger.transaction():
            if self._ledger.journal.is_leaving(source.id, base, owner):
                raise InHandError(
                    f"another process is moving a message out of {source.folder.path} just now: try again"
                )
            action = self._ledger.journal.intend(
                message,
                (source.id, base),
                (destination.id, base),
                why,
                self._now(),
                takes_back=takes_back,
                verdict=None if judgement is None else judgement.verdict,
                probability=None if judgement is None else judgement.probability,
                owner=owner,
            )
        digest = self._ledger.messages.get(message).digest
        return Intent(action, message, digest, source, base, destination, base, name.flags, takes_back)

    def resolve(self) -> int:
        """End the intents that a crash has left open, but for those that cannot be ended yet. Returns how many.

        An intent of another process that lives is its own: ended by both, the message could be copied twice.
        """
        return sum(self._resolve(intent) for intent in self._ledger.journal.intents() if self._is_left(intent))

    def _is_left(self, action: Action) -> bool:
        former = self._ledger.journal.owner(action.id)
        if self._ledger.owner.is_another(former):
            return False
        # Its owner may have ended it just before its own end, and another process may be about to end it too.
        return self._ledger.journal.claim(action.id, former, self._ledger.owner.name())

    def _is_of_another(self, action: Action) -> bool:
        return self._ledger.owner.is_another(self._ledger.journal.owner(action.id))

    def is_brought(self, folder: int, base: str) -> bool:
        """Whether another process is moving a file of that name to the folder just now: no person brought it."""
        return any(
            (intent.destination, intent.destination_base) == (folder, base) and self._is_of_another(intent)
            for intent in self._ledger.journal.intents()
        )

    def take_back(self, action: Action) -> None:
        """Undo a move: the message returns to the folder it came from, with the flags it has now.

        Raises MovedSinceError where the message has left its destination, SpamnbError where a folder is gone.
        """
        source, destination = self._ends(action)
        if source is None or destination is None:
            raise SpamnbError(f"cannot undo {action.id}: a folder of that move is gone")
        entry = locate(destination.folder, action.destination_base)
        if entry is None:
            raise MovedSinceError(f"cannot undo {action.id}: the message is not in {destination.folder.name} any more")
        if not self.move(action.message, destination, entry, source, f"undo of {action.id}", action.id):
            raise MovedSinceError(f"cannot undo {action.id}: the message was moved meanwhile")

    def _ends(self, action: Action) -> tuple[Spot | None, Spot | None]:
        return (
            None if action.source is None else self._spot(action.source),
            None if action.destination is None else self._spot(action.destination),
        )

    def carry_out(self, job: Intent, entry: Entry | None) -> bool:
        """Make a move that was written down; False where the message had vanished before we came to it.

        A message that a person has read, marked or moved since the filter decided to move it stays where it is, and
        so does another one that has its name by now.
        """
        letters = matching_letters(read_keywords(job.source.folder), read_keywords(job.destination.folder))
        for _ in range(_TRIES):
            if entry is None or _is_touched(job, entry):
                break
            name = parse_name(entry.name).for_other_folder(letters)
            if name.key != job.wanted:
                name = name.with_base(job.wanted.partition(",")[0])
            try:
                if self._ledger.files.get(job.destination.id, job.wanted) is not None:
                    raise FileExistsError
                found = _of_message(job.source.folder, entry, job.digest)
                if found is None:
                    self._ledger.files.gone(job.source.id, [job.base], self._now())  # what has its name is new mail
                    break
                if found != entry:
                    entry = found
                    continue
                path = entry.path(job.source.folder)
                names = number_of_names(
                    path
                )  # counted before the look: a link that comes after it is seen in one of the two
                if job.origin == "filter" and in_hand_until(path) > self._now():
                    break
                moved = move(path, job.destination.folder, entry.subdir, format_name(name))
                # The server's link may have come between our look and our rename: give the name back in time.
                if (
                    job.origin == "filter"
                    and 0 < names < number_of_names(moved)
                    and _returns(moved, job.source.folder, entry)
                ):
                    break
            except FileNotFoundError:
                entry = locate(job.source.folder, job.base)
                continue
            except FileExistsError:
                job = replace(job, wanted=name.with_base(next(self._bases)).key)
                self._ledger.journal.redirect(job.action, job.wanted)
                continue
            except (OSError, MaildirError) as fault:
                self._after_fault(job, fault)
            self._done(job, name.flags)
            return True
        self._ledger.journal.settle(job.action, "failed")
        ended = self._ledger.journal.get(job.action)
        return ended is not None and ended.state == "done"  # by another process, to which the intent looked left open

    def _after_fault(self, job: Intent, fault: Exception) -> None:
        """Look what came of a move that failed. Returns where it was made all the same; else raises MaildirError."""
        said = MaildirError(
            f"cannot move a message from {job.source.folder.path} to {job.destination.folder.path}: {fault}"
        )
        try:
            here, there = locate(job.source.folder, job.base), None
            try:
                there = locate(job.destination.folder, job.wanted)
            except FolderUnavailableError:
                if here is None:
                    raise
            if here is not None and there is not None:
                finish(here.path(job.source.folder), there.path(job.destination.folder))
        except (OSError, MaildirError):
            raise said from fault  # the intent stays open: `resolve` looks again
        if there is None:
            if getattr(fault, "errno", None) in _PASSING and job.origin == "filter":
                self._said.add(job.action)  # and the intent stays open
            else:
                self._ledger.journal.settle(job.action, "failed")
            raise said from fault

    def _done(self, job: Intent, flags: str) -> None:
        now = self._now()
        last = self._ledger.files.last(job.source.id, job.base)
        content = last.content if last is not None and last.message == job.message else b""
        with self._ledger.transaction():
            self._ledger.files.gone(job.source.id, [job.base], now, "filter")
            self._ledger.files.put(job.destination.id, job.wanted, job.message, job.origin, content, flags, now)
            self._ledger.journal.settle(job.action, "done")
            if job.takes_back is not None:
                first = self._ledger.journal.taken_back(job.takes_back)
                if first.verdict is not None:  # the filter's own decision: a person has rescued the message
                    self._ledger.messages.rescued(job.message, now if first.state == "undone" else None)
        self.departures.add(job.source.folder.path)

    def _resolve(self, action: Action) -> bool:
        """End an intent; False where it has to stay open."""
        source, destination = self._ends(action)
        if source is None or destination is None:
            return False  # of another mailbox, or gone for now
        last = self._ledger.files.last(source.id, action.source_base)
        intent = Intent(
            action.id,
            action.message,
            action.digest,
            source,
            action.source_base,
            destination,
            action.destination_base,
            flags="" if last is None else last.flags,
            takes_back=action.takes_back,
        )
        try:
            there = _of_message(destination.folder, locate(destination.folder, intent.wanted), action.digest)
            here = locate(source.folder, intent.base)
            if there is None:
                self.carry_out(intent, here)
                return True
            if here is not None:
                finish(here.path(source.folder), there.path(destination.folder))
            touch_cur(source.folder.path)  # killed between the rename and this
        except (OSError, MaildirError) as fault:
            if action.id not in self._said:
                self._said.add(action.id)
                _log.warning("a move that was interrupted cannot be ended yet: %s", fault)
            return False
        self._done(intent, parse_name(there.name).flags)
        return True


def _is_touched(intent: Intent, entry: Entry) -> bool:
    """Whether a person has read or marked a message since the filter decided to move it."""
    new = set(parse_name(entry.name).flags) - set(intent.flags)
    return intent.origin == "filter" and not new.isdisjoint(MARKS)


def _returns(moved: str, folder: Folder, entry: Entry) -> bool:
    """Put a message back where it was; False where that cannot be done, so that it is moved after all."""
    try:
        move(moved, folder, entry.subdir, entry.name)
    except (OSError, MaildirError):
        return False
    return True


def _of_message(folder: Folder, entry: Entry | None, digest: bytes) -> Entry | None:
    """The file if it holds that message; None if it only has a name that we wanted."""
    for _ in range(_TRIES):
        if entry is None:
            return None
        try:
            raw = take(read_chunks(entry.path(folder)))
        except FileNotFoundError:  # renamed between our look and our reading
            entry = locate(folder, parse_name(entry.name).key)
        else:
            return entry if identity(raw) == digest else None
    raise MaildirError(f"cannot read a message in {folder.path}: it is listed there, and gone whenever it is opened")
