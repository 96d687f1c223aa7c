"""Going back to an earlier ledger: what it must forget, and how a service does it by itself.

A copy knows the labels and counts of its day, but not where the mail is today. What the filter has moved since
would look as if the user had put it into spam, and be learned; mail in the inbox would look new, and be moved. So
with the labels and counts of the copy, nothing of what it knows of locations is kept: the next start records each
mailbox as at first sight, and nothing in it is moved. Moves that were open in the copy were ended long before, in one
way or the other, and are given up. All of this is done before the copy gets the ledger's name.
"""

import contextlib
import errno
import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass

from spamnb.errors import LedgerDamagedError, LedgerError, LedgerLostError, LedgerSpaceError
from spamnb.ledger.file.copies import Held, copy_from, held_of
from spamnb.ledger.file.parts import directory_of, rolling
from spamnb.ledger.file.readonly import faults_of
from spamnb.ledger.file.replacement import finish, holding, put
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.sqlite_errors import plain_faults

_log = logging.getLogger(__name__)
RESTORED_NOTE = "restored"  # in the ledger: when an earlier one was put in its place, seconds since the epoch


@dataclass(frozen=True, slots=True)
class Restored:
    """What was done: from which copy of when, and the path of the former ledger (None: there was none).

    why: what was wrong with the former ledger; None where it was replaced by hand. held: what the copy holds; None
    where its counts were not proven.
    """

    source: str
    made_at: float
    aside: str | None
    why: str | None = None
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
            why = fault.__cause__ or fault  # without what to do about the ledger in use
            raise LedgerError(f"{source} is not restored, it is damaged ({why}): try another copy") from fault
        except LedgerError as fault:
            raise type(fault)(str(fault).replace(draft, source)) from fault  # nobody knows the draft by its name
        with holding(ledger):
            finish(ledger)
            return _put(ledger, draft, source, at, held=held)


def recover(ledger: str, at: float) -> Restored | None:
    """If the ledger is damaged or gone, put the newest sound copy in its place.

    None where nothing is wrong, or where there neither is nor was a ledger. Others may have it open as long as there
    is nothing to put in its place. Raises LedgerLostError where it is damaged and there is no sound copy: then
    nothing is touched.
    """
    with _draft(ledger):
        pass  # what a restore that was killed has left
    with holding(ledger, exclusive=False):
        is_new = not os.path.lexists(ledger) and not rolling(ledger)
        if is_new or not faults_of(ledger):
            return None
    with holding(ledger), _draft(ledger) as draft:
        finish(ledger)
        faults = faults_of(ledger)  # another process may have been first
        if not faults:
            return None
        for copy in rolling(ledger):
            if _is_sound(copy, draft):
                return _put(ledger, draft, copy, at, why=faults[0])
    raise LedgerLostError(
        f"The ledger {ledger} cannot be used ({faults[0]}), and there is no sound copy of it: restore one with"
        f" `spamnb restore FILE`, or move it and {directory_of(ledger)} away to begin again. Nothing was touched"
    )


def open_sound(path: str, now: float) -> Ledger:
    """The ledger, once it is sound; where it is not, its newest sound copy is in its place."""
    restored = recover(path, now)
    if restored is not None:
        aside = "" if restored.aside is None else f", and the damaged one is kept as {restored.aside}"
        _log.warning(
            "the ledger %s could not be used (%s): its copy of %s is in its place%s. What was learned since then is"
            " missing, and the mail that is in the folders now stays where it is. See `spamnb history`",
            path,
            restored.why,
            time.strftime("%Y-%m-%d %H:%M", time.localtime(restored.made_at)),
            aside,
        )
    return Ledger(path)


def _is_sound(copy: str, draft: str) -> bool:
    """Whether a copy can be used, which is at the draft's path then."""
    try:
        copy_from(copy, draft)
        return not faults_of(draft)
    except LedgerSpaceError:  # an older copy would take as much
        raise
    except OSError as fault:
        if fault.errno not in {errno.ENOSPC, errno.EDQUOT}:
            return False
        raise LedgerSpaceError(f"there is too little space to put {copy} in the ledger's place: free some") from fault
    except LedgerError:  # of a later version, or unreadable: the next one
        return False


@contextlib.contextmanager
def _draft(ledger: str) -> Iterator[str]:
    """The path at which a copy is prepared, always the same one; nothing is left there."""
    draft = f"{ledger}.restored.part"
    try:
        yield draft
    finally:
        with contextlib.suppress(OSError):
            os.unlink(draft)


def _put(
    ledger: str, draft: str, source: str, at: float, *, why: str | None = None, held: Held | None = None
) -> Restored:
    with plain_faults(draft), contextlib.closing(sqlite3.connect(os.fsencode(draft), isolation_level=None)) as sqlite:
        sqlite.execute("BEGIN IMMEDIATE")
        sqlite.execute("DELETE FROM file")
        sqlite.execute("UPDATE mailbox SET started_at = NULL")
        sqlite.execute("UPDATE action SET state = 'failed' WHERE state = 'intent'")
        sqlite.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", (RESTORED_NOTE, str(at)))
        sqlite.execute("COMMIT")
    aside = put(ledger, draft, at, "replaced" if why is None else "damaged")
    return Restored(source, os.stat(source).st_mtime, aside, why, held)
