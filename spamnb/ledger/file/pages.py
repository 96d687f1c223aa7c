"""Copy the pages of a ledger as of one moment, and give the copy its name once it is whole.

An upgrade copies the ledger before it changes it, to `copies/…-before-VERSION.sqlite.gz`. So a person who goes back to
the earlier program loses nothing that was learned before the upgrade. That copy is also the copy of the day: earlier
programs name only such copies.
"""

import contextlib
import errno
import gzip
import os
import shutil
import sqlite3
from collections.abc import Iterator
from typing import BinaryIO

from spamnb.base import durable
from spamnb.base.errors import LedgerError, LedgerSpaceError, LedgerUnavailableError
from spamnb.ledger.file.parts import PACKED, before_upgrade, of_day
from spamnb.ledger.file.readonly import Alive, faults_of, look_into
from spamnb.ledger.sqlite_errors import FAULTS, plain, primary_code

_PAGES = 2048  # per step: 8 MB, a few hundredths of a second
_OF_THE_TARGET = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
_TAKES = 2  # times the ledger's size: a copy must not fill the disk that mail is delivered to
_CHUNK = 1 << 20  # bytes
_LEVEL = 1  # most of a ledger is compressed tokens: a higher level or xz gains little, and is slower
_OWNER, _SPACE = "check who owns that directory: this user may not write to it", "free some space"
_STEPS = {
    errno.EACCES: _OWNER,
    errno.EPERM: _OWNER,
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EROFS: "mount its disk for writing",
}


def step_for(fault: OSError) -> str:
    """Return what to do if a copy cannot be made."""
    return _STEPS.get(fault.errno or 0, "check its disk")


def copy_before(ledger: str, version: int, at: float, alive: Alive = lambda: None) -> None:
    """Copy a ledger that is about to become one of a later version; nobody may write it in this time.

    Raises LedgerUnavailableError if that fails; and anything that `alive` raises.
    """
    final = before_upgrade(ledger, version)
    directory = os.path.dirname(final)
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        with copied(ledger, directory, alive) as plain_copy:
            store(plain_copy, final, alive)
            is_sound = _is_sound(plain_copy, alive)
        if is_sound:
            _name_also(final, of_day(ledger, at))
    except (OSError, LedgerError) as fault:
        why = f"{fault.strerror}; {step_for(fault)}" if isinstance(fault, OSError) else str(fault)
        what = f"The ledger {ledger} is not upgraded, and nothing is changed: it is first copied to {final}, and {why}"
        raise (LedgerSpaceError if isinstance(fault, LedgerSpaceError) else LedgerUnavailableError)(what) from fault


def _is_sound(path: str, alive: Alive) -> bool:
    try:
        return not faults_of(path, alive)
    except LedgerError:  # such as a foreign table, which only the copies of the day refuse
        return False


def _name_also(final: str, of_today: str) -> None:
    """Let a copy also be the copy of the day; without hard links in the file system it is not."""
    with durable.scratch(os.path.dirname(final)) as part, contextlib.suppress(OSError):
        os.unlink(part)
        os.link(final, part)
        os.rename(part, of_today)


@contextlib.contextmanager
def copied(ledger: str, directory: str, alive: Alive = lambda: None) -> Iterator[str]:
    """Yield the path of a copy in that directory, removed at the end if still there. Raises LedgerSpaceError."""
    size = sum(os.stat(ledger + part).st_size for part in ("", "-wal") if os.path.exists(ledger + part))
    lacking = _TAKES * size - shutil.disk_usage(directory).free
    if lacking > 0:
        raise LedgerSpaceError(
            f"there is too little space in {directory} for a copy of the ledger: free {lacking // 10**6 + 1} MB more"
        )
    with durable.scratch(directory) as path:
        copy(ledger, path, alive)
        yield path


def copy(source: str, target: str, alive: Alive = lambda: None) -> None:
    """Copy the pages of a ledger, as of this moment, to a new file that only its owner can read."""
    new_file(target).close()
    try:
        look_into(source, lambda old: _copy_pages(old, target, alive))
    except FAULTS as fault:
        raise plain(fault, target if primary_code(fault) in _OF_THE_TARGET else source) from fault


def _copy_pages(old: sqlite3.Connection, target: str, alive: Alive) -> None:
    with contextlib.closing(sqlite3.connect(os.fsencode(target), isolation_level=None)) as new:
        new.execute("PRAGMA synchronous = OFF")  # the whole file is made durable before it gets its name
        new.execute("PRAGMA journal_mode = OFF")
        old.execute("BEGIN")
        old.execute("SELECT count(*) FROM sqlite_master").fetchone()  # from here on everything is of one moment
        old.backup(new, pages=_PAGES, progress=lambda *_: alive())
        old.execute("ROLLBACK")
    # The pages say that the file has a write-ahead log; a copy should be one file for every program.
    with contextlib.closing(sqlite3.connect(os.fsencode(target), isolation_level=None)) as new:
        new.execute("PRAGMA synchronous = OFF")
        new.execute("PRAGMA journal_mode = DELETE")


def store(plain_copy: str, final: str, alive: Alive, *, replace: bool = True) -> None:
    """Give a copy its final name, compressed if the name ends so."""
    with durable.draft(final, replace=replace) as draft:
        if not final.endswith(PACKED):
            os.rename(plain_copy, draft)
            return
        with open(plain_copy, "rb") as file, open(draft, "wb") as out, gzip.GzipFile("", "wb", _LEVEL, out) as packed:
            while piece := file.read(_CHUNK):
                packed.write(piece)
                alive()


def new_file(path: str) -> BinaryIO:
    """Open an empty file for writing, which only its owner can read if it is new."""
    return open(path, "wb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o600))
