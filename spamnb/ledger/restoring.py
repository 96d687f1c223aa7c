"""Going back to an earlier ledger: what it must forget, and how a service does it by itself.

A copy knows the labels and counts of its day, but not where the mail lies today. What the filter has moved since
would look as if a person had put it into spam, and be learned; mail in the inbox would look new, and be moved. So
with the labels and counts of the copy, nothing of what it knows of places is kept: the next start takes note of
each mailbox as at first sight, when all that lies there is only known. Moves that were open in the copy were ended
long ago, in one way or the other, and are given up. All of this is done before the copy gets the ledger's name.
"""

import contextlib
import os
import sqlite3
from dataclasses import dataclass

from spamnb.errors import LedgerError, LedgerLostError
from spamnb.ledger.copies import copy, directory_of, rolling
from spamnb.ledger.faults import plain_faults
from spamnb.ledger.place import finish, holding, put
from spamnb.ledger.reading import faults_of

RESTORED_NOTE = "restored"  # in the ledger: when an earlier one was put in its place, seconds since the epoch


@dataclass(frozen=True, slots=True)
class Restored:
    """What was done: why, from which copy of when, and where the former ledger is (None: there was none)."""

    why: str
    source: str
    made_at: float
    aside: str | None


def restore(ledger: str, source: str, at: float, why: str = "replaced by hand") -> Restored:
    """Put a copy in the ledger's place, as far as labels and counts go. The caller has examined it.

    Raises LedgerBusyError while another process has the ledger open; OSError or LedgerError where the copy cannot
    be made, and then the ledger is as it was.
    """
    with holding(ledger):
        finish(ledger)
        return _put(ledger, source, at, why)


def recover(ledger: str, at: float) -> Restored | None:
    """If the ledger is damaged or gone, put the newest sound copy in its place.

    None where nothing is wrong, or where there neither is nor was a ledger. Raises LedgerLostError where it is
    damaged and there is no sound copy: then nothing is touched.
    """
    with holding(ledger):
        finish(ledger)
        faults = faults_of(ledger)
        if not faults:
            return None
        for found in rolling(ledger):
            with contextlib.suppress(LedgerError):  # of a later version, or unreadable: the next one
                if not faults_of(found):
                    return _put(ledger, found, at, faults[0])
    if not os.path.lexists(ledger) and not rolling(ledger):
        return None
    raise LedgerLostError(
        f"The ledger {ledger} cannot be used ({faults[0]}), and there is no sound copy of it: put one back with"
        f" `spamnb restore FILE`, or move it and {directory_of(ledger)} away to begin anew. Nothing was touched"
    )


def _put(ledger: str, source: str, at: float, why: str) -> Restored:
    made_at = os.stat(source).st_mtime

    def make(path: str) -> None:
        copy(source, path)
        _forget_places(path, at)

    aside = put(ledger, at, "replaced" if why == "replaced by hand" else "damaged", make)
    return Restored(why, source, made_at, aside)


def _forget_places(path: str, at: float) -> None:
    with plain_faults(path), contextlib.closing(sqlite3.connect(os.fsencode(path), isolation_level=None)) as sqlite:
        sqlite.execute("BEGIN IMMEDIATE")
        sqlite.execute("DELETE FROM file")
        sqlite.execute("UPDATE mailbox SET started_at = NULL")
        sqlite.execute("UPDATE action SET state = 'failed' WHERE state = 'intent'")
        sqlite.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", (RESTORED_NOTE, str(at)))
        sqlite.execute("COMMIT")
