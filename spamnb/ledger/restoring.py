"""Going back to an earlier ledger: what it must forget, and how a service does it by itself.

A copy knows the labels and counts of its day, but not where the mail lies today. What the filter has moved since
would look as if a person had put it into spam, and be learned; mail in the inbox would look new, and be moved. So
with the labels and counts of the copy, nothing of what it knows of places is kept: the next start takes note of
each mailbox as at first sight, when all that lies there is only known. Moves that were open in the copy were ended
long ago, in one way or the other, and are given up. All of this is done before the copy gets the ledger's name.
"""

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from spamnb.errors import LedgerDamagedError, LedgerError, LedgerLostError, LedgerNoRoomError
from spamnb.ledger.copies import directory_of, rolling
from spamnb.ledger.copying import Held, copy_from, held_of
from spamnb.ledger.faults import plain_faults
from spamnb.ledger.place import Why, finish, holding, put
from spamnb.ledger.reading import faults_of

RESTORED_NOTE = "restored"  # in the ledger: when an earlier one was put in its place, seconds since the epoch


@dataclass(frozen=True, slots=True)
class Restored:
    """What was done: why, from which copy of when, and where the former ledger is (None: there was none).

    held: what the copy holds; None where its counts were not proven.
    """

    why: str
    source: str
    made_at: float
    aside: str | None
    held: Held | None = None


def restore(ledger: str, source: str, at: float) -> Restored:
    """Put a copy in the ledger's place, as far as labels and counts go, once they are proven.

    Raises LedgerError where the copy is not sound in every respect, LedgerBusyError while another process has the
    ledger open, OSError or LedgerError where the copy cannot be made; then the ledger is as it was.
    """
    with _draft(ledger) as draft:
        try:
            copy_from(source, draft)
            held = held_of(draft)
        except LedgerDamagedError as fault:
            raise LedgerError(f"{source} is not restored, it is damaged ({fault}): try another copy") from fault
        except LedgerError as fault:
            raise type(fault)(str(fault).replace(draft, source)) from fault  # nobody knows the draft by its name
        with holding(ledger):
            finish(ledger)
            return _put(ledger, draft, source, at, "replaced", "replaced by hand", held)


def recover(ledger: str, at: float) -> Restored | None:
    """If the ledger is damaged or gone, put the newest sound copy in its place.

    None where nothing is wrong, or where there neither is nor was a ledger. Others may have it open as long as there
    is nothing to put in its place. Raises LedgerLostError where it is damaged and there is no sound copy: then
    nothing is touched.
    """
    with _draft(ledger):
        pass  # what a restore that was killed has left
    with holding(ledger, alone=False):
        if not faults_of(ledger) or _is_new(ledger):
            return None
    with holding(ledger):
        finish(ledger)
        faults = faults_of(ledger)  # another process may have been first
        if not faults:
            return None
        with _draft(ledger) as draft:
            for found in rolling(ledger):
                if _is_sound(found, draft):
                    return _put(ledger, draft, found, at, "damaged", faults[0])
    raise LedgerLostError(
        f"The ledger {ledger} cannot be used ({faults[0]}), and there is no sound copy of it: restore one with"
        f" `spamnb restore FILE`, or move it and {directory_of(ledger)} away to begin again. Nothing was touched"
    )


def _is_new(ledger: str) -> bool:
    return not os.path.lexists(ledger) and not rolling(ledger)


def _is_sound(copy: str, draft: str) -> bool:
    """Whether a copy can be used, which lies at the draft's path then."""
    try:
        copy_from(copy, draft)
        return not faults_of(draft)
    except LedgerNoRoomError:  # an older copy would take as much
        raise
    except OSError as fault:
        if fault.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise LedgerNoRoomError(
                f"there is too little room to put {copy} in the ledger's place: free some"
            ) from fault
        return False
    except LedgerError:  # of a later version, or unreadable: the next one
        return False


@contextlib.contextmanager
def _draft(ledger: str) -> Iterator[str]:
    """Where a copy is made ready; nothing is left there."""
    draft = f"{ledger}.restored.part"
    try:
        yield draft
    finally:
        with contextlib.suppress(OSError):
            os.unlink(draft)


def _put(ledger: str, draft: str, source: str, at: float, why: Why, said: str, held: Held | None = None) -> Restored:
    _forget_places(draft, at)
    aside = put(ledger, at, why, lambda path: os.rename(draft, path))
    return Restored(said, source, os.stat(source).st_mtime, aside, held)


def _forget_places(path: str, at: float) -> None:
    with plain_faults(path), contextlib.closing(sqlite3.connect(os.fsencode(path), isolation_level=None)) as sqlite:
        sqlite.execute("BEGIN IMMEDIATE")
        sqlite.execute("DELETE FROM file")
        sqlite.execute("UPDATE mailbox SET started_at = NULL")
        sqlite.execute("UPDATE action SET state = 'failed' WHERE state = 'intent'")
        sqlite.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", (RESTORED_NOTE, str(at)))
        sqlite.execute("COMMIT")
