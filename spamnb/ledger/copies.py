"""Copies of the ledger: whole, of one moment, and made while others work with it.

SQLite's backup API copies the pages as they are at one moment: the reading transaction that is held meanwhile
sees none of what others write, so the copy never has to begin anew. It is made under a name that no one takes for
a copy, examined, made durable, and only then given its name: a copy with its name is whole.
"""

import contextlib
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass

from spamnb.errors import LedgerError, LedgerUnavailableError
from spamnb.ledger.faults import plain, primary_code
from spamnb.ledger.place import make_durable
from spamnb.ledger.reading import faults_of, reading

_PAGES = 2048  # a step: 8 MB, some hundredths of a second
_OF_THE_TARGET = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
_TAKES = 2  # times the ledger's size: a copy must not be what fills the disk that mail is delivered to
_STALE_SECONDS = 3600.0  # after that an unfinished copy is not being written any more


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a ledger takes on its disk, in bytes: its file, its write-ahead log, and its rolling copies together."""

    ledger: int
    wal: int
    copies: int


def sizes(ledger: str) -> Sizes:
    """What a ledger takes on its disk; 0 for what is not there. Raises LedgerError where that cannot be asked."""
    return Sizes(_size(ledger), _size(ledger + "-wal"), sum(map(_size, rolling(ledger))))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:  # it may vanish while it is counted
        return 0
    except OSError as fault:
        raise LedgerError(f"{path} cannot be read ({fault.strerror}): check who owns it") from fault


def directory_of(ledger: str) -> str:
    """Where the rolling copies of a ledger lie."""
    return os.path.join(os.path.dirname(os.path.abspath(ledger)), "copies")


def rolling(ledger: str) -> list[str]:
    """The paths of the rolling copies, the newest first."""
    stem = re.escape(_stem(ledger))
    try:
        names = os.listdir(directory_of(ledger))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as fault:
        raise LedgerError(f"the copies in {directory_of(ledger)} cannot be listed: {fault.strerror}") from fault
    dated = [name for name in names if re.fullmatch(rf"{stem}-\d{{4}}-\d\d-\d\d\.sqlite", name)]
    return [os.path.join(directory_of(ledger), name) for name in sorted(dated, reverse=True)]


def of_day(ledger: str, at: float) -> str:
    """The path of the rolling copy of that day, in local time."""
    day = time.strftime("%Y-%m-%d", time.localtime(at))
    return os.path.join(directory_of(ledger), f"{_stem(ledger)}-{day}.sqlite")


def roll(ledger: str, at: float, keep: int, alive: Callable[[], None] = lambda: None) -> str:
    """Make the copy of the day, then remove all but the newest `keep`; its path. An older copy of the day is replaced.

    `alive` is called between the steps; what it raises ends the copying. Raises LedgerError where the copy cannot be
    made or is not sound; then no other copy is touched.
    """
    final = of_day(ledger, at)
    try:
        os.makedirs(os.path.dirname(final), mode=0o700, exist_ok=True)
        _sweep(os.path.dirname(final), at)
        write(ledger, final, alive)
        for old in rolling(ledger)[keep:]:
            os.unlink(old)
    except OSError as fault:
        raise LedgerError(f"the ledger could not be copied to {final}: {fault.strerror or fault}") from fault
    return final


def write(ledger: str, final: str, alive: Callable[[], None] = lambda: None, *, replace: bool = True) -> None:
    """Copy a ledger to a path, which appears only when the copy is whole and sound.

    Raises FileExistsError where something has that path and it shall not be replaced, LedgerError where the disk
    is too full or the ledger is not sound.
    """
    directory, name = os.path.split(os.path.abspath(final))
    need_room(ledger, directory, _TAKES, "a copy")
    part = os.path.join(directory, f".{name}.{os.getpid()}.part")
    try:
        copy(ledger, part, alive)
        if faults := faults_of(part):
            raise LedgerError(f"the ledger {ledger} was not copied, it is damaged ({faults[0]}): see `spamnb verify`")
        make_durable(part)
        if replace:
            os.rename(part, final)
        else:
            os.link(part, final)  # unlike rename, it replaces nothing
            os.unlink(part)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    make_durable(directory)


def copy(source: str, target: str, alive: Callable[[], None] = lambda: None) -> None:
    """Copy the pages of a ledger, as they are at this moment, to a new file for the owner alone."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(target)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        _copy_pages(source, target, alive)
    except sqlite3.Error as fault:
        raise plain(fault, target if primary_code(fault) in _OF_THE_TARGET else source) from fault


def _copy_pages(source: str, target: str, alive: Callable[[], None]) -> None:
    with reading(source) as old, contextlib.closing(sqlite3.connect(os.fsencode(target), isolation_level=None)) as new:
        new.execute("PRAGMA synchronous = OFF")  # it is made durable as a whole, before it gets its name
        new.execute("PRAGMA journal_mode = OFF")
        old.execute("BEGIN")
        old.execute("SELECT count(*) FROM sqlite_master").fetchone()  # from here on all is of one moment
        old.backup(new, pages=_PAGES, progress=lambda *_: alive())
        old.execute("ROLLBACK")
    # The pages say that the file has a write-ahead log; a copy should be one file, whoever opens it.
    with contextlib.closing(sqlite3.connect(os.fsencode(target), isolation_level=None)) as new:
        new.execute("PRAGMA synchronous = OFF")
        new.execute("PRAGMA journal_mode = DELETE")


def need_room(ledger: str, directory: str, times: int, what: str) -> None:
    """Raise LedgerUnavailableError where a disk has less room than that many times the ledger's size."""
    size = sum(os.stat(ledger + part).st_size for part in ("", "-wal") if os.path.exists(ledger + part))
    lacking = times * size - shutil.disk_usage(directory).free
    if lacking > 0:
        raise LedgerUnavailableError(
            f"there is too little room in {directory} for {what} of the ledger: free {lacking // 10**6 + 1} MB more"
        )


def _sweep(directory: str, at: float) -> None:
    """Remove what killed copies left."""
    for name in os.listdir(directory):
        if name.startswith(".") and name.endswith(".part"):
            with contextlib.suppress(FileNotFoundError):
                if at - os.stat(os.path.join(directory, name)).st_mtime > _STALE_SECONDS:
                    os.unlink(os.path.join(directory, name))


def _stem(ledger: str) -> str:
    return os.path.basename(ledger).removesuffix(".sqlite")
