"""Go back to an earlier ledger: what it must forget, and how a service does it by itself.

A copy knows the labels and counts of its day, but not where the mail is today. Mail that the filter has moved since
would look as if the user had put it into spam, and be learned; mail in the inbox would look new, and be moved. So a
restore keeps the labels and counts of the copy, but nothing about locations: the next start records each mailbox as if
seen for the first time, and moves nothing in it. Moves that were open in the copy ended long ago, in one way or the
other, and are given up. All of this is done before the copy gets the ledger's name.
"""

import contextlib
import errno
import logging
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from spamnb.base.errors import (
    LedgerBusyError,
    LedgerDamagedError,
    LedgerError,
    LedgerLostError,
    LedgerSpaceError,
    LedgerUnavailableError,
)
from spamnb.ledger.copies.copy import Held, all_faults_of, copy_from, held_of
from spamnb.ledger.file.last_end import EndRecord
from spamnb.ledger.file.parts import directory_of, rolling
from spamnb.ledger.file.readonly import Alive, faults_of
from spamnb.ledger.file.replacement import finish, holding, put
from spamnb.ledger.history.state import set_restored
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.sqlite_errors import plain_faults

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Restored:
    """A finished restore: which copy of when, and the path of the old ledger (None: there was none).

    why: the fault of the old ledger; None if it was replaced by hand. held: what the copy holds.
    """

    source: str
    made_at: float
    aside: str | None
    held: Held
    why: str | None = None


def restore(ledger: str, source: str, at: float) -> Restored:
    """Put the labels and counts of a copy in the ledger's place, once they are proven.

    Raises LedgerError if the copy is not sound in every respect, and LedgerBusyError while another process has the
    ledger open. Raises OSError or LedgerError if the copy cannot be made. Then the ledger is unchanged.
    """
    with _draft(ledger) as draft:
        try:
            copy_from(source, draft)
            held = held_of(draft)
        except LedgerDamagedError as fault:
            why = fault.__cause__ or fault  # without the advice about the ledger in use
            raise LedgerError(f"{source} is not restored, it is damaged ({why}): try another copy") from fault
        except LedgerError as fault:  # nobody knows the draft by its name: it is the copy, on the disk of the ledger
            known = ledger if isinstance(fault, LedgerUnavailableError) else source
            raise type(fault)(str(fault).replace(draft, known)) from fault
        with holding(ledger):
            finish(ledger)
            return _put(ledger, draft, source, at, held)


def begin_anew(ledger: str, at: float) -> str | None:
    """Put an empty ledger in the ledger's place. Returns the new path of the old one; None: there was none.

    The old one is kept whole, even if it is damaged, and can be restored. Raises LedgerBusyError while another process
    has the ledger open, OSError or LedgerError if an empty one cannot be made; then the ledger is unchanged.
    """
    with _draft(ledger) as draft:
        # A directory of its own: files that SQLite and locks leave beside a ledger go with it.
        with tempfile.TemporaryDirectory(prefix=".", dir=os.path.dirname(draft)) as directory:
            new = os.path.join(directory, os.path.basename(draft))
            Ledger(new).close()
            os.rename(new, draft)
        with holding(ledger):
            finish(ledger)
            return put(ledger, draft, at, "replaced")


def recover(ledger: str, at: float, *, wholly: bool = False, alive: Alive = lambda: None) -> Restored | None:
    """If the ledger is damaged or gone, put the newest sound copy in its place.

    wholly: also examine its values and counts, as is always done for a copy. Returns None if all is well, or if there
    never was a ledger. Others may have it open until there is a copy to put in its place. Raises LedgerLostError if it
    is damaged and there is no sound copy; then nothing is touched.
    """
    with _draft(ledger) as draft:  # a killed restore may have left something there
        with holding(ledger, exclusive=False):
            if not os.path.lexists(ledger) and not rolling(ledger):
                return None
            former = _inode(ledger)
            faults = all_faults_of(ledger, alive) if wholly else faults_of(ledger, alive)
        if not faults:
            return None
        copy, held = _newest_sound(ledger, draft, at, faults[0], alive)
        with holding(ledger):
            finish(ledger)
            if _inode(ledger) == former:
                return _put(ledger, draft, copy, at, held, why=faults[0])
    return recover(ledger, at, wholly=wholly, alive=alive)  # another process has replaced the file


def open_sound(
    path: str,
    now: float,
    record: EndRecord,
    alive: Alive = lambda: None,
    open_ledger: Callable[[str], Ledger] = Ledger,
) -> Ledger:
    """Return the ledger, known to be sound; if it is not, its newest sound copy replaces it first.

    It is examined if the record of the last service does not prove it sound; all of it if that service ended over
    damage.
    """
    last, examined_at = record.last, record.last.examined_at
    if not last.is_trusted_for(path, now):
        _told(path, last.damage, recover(path, now, wholly=bool(last.damage), alive=alive))
        examined_at = now
    record.begin()
    try:
        ledger = open_ledger(path)
    except LedgerDamagedError as fault:
        if last.damage:  # damage that no examination sees
            raise
        record.damaged(str(fault))
        return open_sound(path, now, record, alive, open_ledger)
    record.opened(examined_at)
    return ledger


def _told(path: str, damage: str, restored: Restored | None) -> None:
    if restored is not None:
        aside = "" if restored.aside is None else f", and the damaged one is kept as {restored.aside}"
        _log.warning(
            "the ledger %s could not be used (%s): its copy of %s is in its place%s. The copy lacks"
            " everything learned since then; mail that is in the folders now is not moved. See `spamnb history`",
            path,
            restored.why,
            time.strftime("%Y-%m-%d %H:%M", time.localtime(restored.made_at)),
            aside,
        )
    elif damage:
        _log.warning("the last service ended over damage, but the ledger was examined and is sound. It was: %s", damage)


def _newest_sound(ledger: str, draft: str, at: float, fault: str, alive: Alive) -> tuple[str, Held]:
    """Return the newest sound copy, now at the draft's path, and what it holds."""
    for copy in rolling(ledger, at):
        with contextlib.suppress(OSError):
            os.unlink(draft)
        if (held := _held(copy, draft, alive)) is not None:
            return copy, held
    raise LedgerLostError(
        f"The ledger {ledger} cannot be used ({fault}), and there is no sound copy of it: restore one with"
        f" `spamnb restore FILE`, or move it and {directory_of(ledger)} away to begin again. Nothing was touched"
    )


def _held(copy: str, draft: str, alive: Alive) -> Held | None:
    """Return what a copy holds, now at the draft's path; None if it is unusable."""
    try:
        copy_from(copy, draft)
        return held_of(draft, alive)
    except (LedgerSpaceError, LedgerBusyError):  # an older copy would take as much, or be as busy
        raise
    except OSError as fault:
        if fault.errno not in {errno.ENOSPC, errno.EDQUOT}:
            return None
        raise LedgerSpaceError(f"there is too little space to put {copy} in the ledger's place: free some") from fault
    except LedgerError:  # damaged, of a later version, or unreadable: try the next one
        return None


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _draft(ledger: str) -> Iterator[str]:
    """Yield the path at which a copy is prepared, which never differs; nothing is left there."""
    draft = f"{ledger}.restored.part"
    try:
        yield draft
    finally:
        with contextlib.suppress(OSError):
            os.unlink(draft)


def _put(ledger: str, draft: str, source: str, at: float, held: Held, *, why: str | None = None) -> Restored:
    with plain_faults(ledger), contextlib.closing(sqlite3.connect(os.fsencode(draft), isolation_level=None)) as sqlite:
        sqlite.execute("BEGIN IMMEDIATE")
        sqlite.execute("DELETE FROM file")
        sqlite.execute("UPDATE mailbox SET started_at = NULL")
        sqlite.execute("UPDATE action SET state = 'failed' WHERE state = 'intent'")
        set_restored(sqlite, at, former_kept=os.path.lexists(ledger))
        sqlite.execute("COMMIT")
    aside = put(ledger, draft, at, "replaced" if why is None else "damaged")
    return Restored(source, os.stat(source).st_mtime, aside, held, why)
