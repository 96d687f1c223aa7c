"""The journalled move: written down, done, and ticked off, so that a crash at any point can be mended.

1. The intent is committed to the ledger, durably.
2. The file is renamed, and both directories are made durable (`maildir.rename`).
3. One transaction ticks the intent off and notes the file's new place.

Killed before 2, the file lies at its source; after 2, at its destination; a move across file systems may leave
both, holding the same bytes. The open intent tells which file to look for, and `resolve` ends each one: it makes
the move that was not made, removes the source of a copy that is complete, and ticks off what is done.
"""

import os
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from spamnb.errors import MaildirError, SpamnbError
from spamnb.ledger.files import Origin
from spamnb.ledger.journal import Action
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import Folder, FolderUnavailableError, find_folders
from spamnb.maildir.keywords import matching_letters, read_keywords
from spamnb.maildir.mailbox import Entry, locate
from spamnb.maildir.names import format_name, fresh_bases, parse_name
from spamnb.maildir.rename import finish, move

_TRIES = 5  # a client may change flags between our look and our rename; it will not do so for ever
_UNDO = "undo of"


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
    """A move in hand: the action that says so, and from which to which folder and base name."""

    action: int
    message: int
    source: Spot
    base: str
    destination: Spot
    wanted: str
    origin: Origin


class Mover:
    """Moves messages between folders.

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

    def move(
        self, message: int, source: Spot, entry: Entry, destination: Spot, why: str, origin: Origin = "filter"
    ) -> bool:
        """Move a file of a message, as it was last seen; False where it had vanished before we came to it."""
        return self.carry_out(self.intend(message, source, entry, destination, why, origin), entry)

    def intend(
        self, message: int, source: Spot, entry: Entry, destination: Spot, why: str, origin: Origin = "filter"
    ) -> Intent:
        """Write a move down. In one transaction with the decision, so that a crash does not part the two."""
        base = parse_name(entry.name).key
        action = self._ledger.journal.intend(message, (source.id, base), (destination.id, base), why, self._now())
        return Intent(action, message, source, base, destination, base, origin)

    def resolve(self) -> int:
        """End every intent that a crash has left open. Returns how many there were."""
        intents = self._ledger.journal.intents()
        for intent in intents:
            self._resolve(intent)
        return len(intents)

    def take_back(self, action: Action) -> None:
        """Undo a move: the message returns to the folder it came from, with the flags it has now.

        Raises SpamnbError where the message has left its destination or a folder is gone.
        """
        source, destination = self._ends(action)
        if source is None or destination is None:
            raise SpamnbError(f"cannot undo {action.id}: a folder of that move is gone")
        entry = locate(destination.folder, action.destination_base)
        if entry is None:
            raise SpamnbError(f"cannot undo {action.id}: the message is not in {destination.folder.name} any more")
        if not self.move(action.message, destination, entry, source, f"{_UNDO} {action.id}", "undo"):
            raise SpamnbError(f"cannot undo {action.id}: the message was moved meanwhile")
        self._ledger.journal.settle(action.id, "undone")

    def _ends(self, action: Action) -> tuple[Spot | None, Spot | None]:
        return (
            None if action.source is None else self._spot(action.source),
            None if action.destination is None else self._spot(action.destination),
        )

    def carry_out(self, job: Intent, entry: Entry | None) -> bool:
        """Make a move that was written down; False where the message had vanished before we came to it."""
        letters = matching_letters(read_keywords(job.source.folder), read_keywords(job.destination.folder))
        for _ in range(_TRIES):
            if entry is None:
                break
            name = parse_name(entry.name).for_other_folder(letters)
            if name.key != job.wanted:
                name = name.with_base(job.wanted.partition(",")[0])
            try:
                if self._ledger.files.get(job.destination.id, job.wanted) is not None:
                    raise FileExistsError
                move(entry.path(job.source.folder), job.destination.folder, entry.subdir, format_name(name))
            except FileNotFoundError:
                entry = locate(job.source.folder, job.base)
                continue
            except FileExistsError:
                job = replace(job, wanted=name.with_base(next(self._bases)).key)
                self._ledger.journal.redirect(job.action, job.wanted)
                continue
            except (OSError, MaildirError) as fault:
                if locate(job.destination.folder, job.wanted) is None:
                    self._ledger.journal.settle(job.action, "failed")
                    raise MaildirError(
                        f"cannot move a message from {job.source.folder.path} to {job.destination.folder.path}: {fault}"
                    ) from fault
            self._done(job, name.flags)
            return True
        self._ledger.journal.settle(job.action, "failed")
        return False

    def _done(self, job: Intent, flags: str) -> None:
        now = self._now()
        placed = self._ledger.files.get(job.source.id, job.base)
        with self._ledger.transaction():
            self._ledger.files.gone(job.source.id, [job.base], now)
            self._ledger.files.put(
                job.destination.id, job.wanted, job.message, job.origin, placed.content if placed else b"", flags, now
            )
            self._ledger.journal.settle(job.action, "done")

    def _resolve(self, intent: Action) -> None:
        source, destination = self._ends(intent)
        if source is None or destination is None:
            self._ledger.journal.settle(intent.id, "failed")
            return
        origin: Origin = "undo" if intent.why.startswith(_UNDO) else "filter"
        job = Intent(
            intent.id, intent.message, source, intent.source_base, destination, intent.destination_base, origin
        )
        there = locate(destination.folder, job.wanted)
        here = locate(source.folder, job.base)
        if there is None:
            self.carry_out(job, here)
            return
        if here is not None:
            finish(here.path(source.folder), there.path(destination.folder))
        self._done(job, parse_name(there.name).flags)
