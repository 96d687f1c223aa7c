"""The files that belong to a ledger: SQLite's and the locks beside it, and its rolling copies; what they are called."""

import gzip
import os
import re
import time
import zlib
from typing import NamedTuple

from spamnb.base.errors import LedgerError

SQLITE_PARTS = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a database, by the ends of their names
SERVICE_LOCK, USE_LOCK = ".lock", ".use.lock"
PACKED = ".gz"  # the end of a copy's name; one without it is plain SQLite
_DAY = 86_400.0
_USER_VERSION = slice(60, 64)  # of a database's first bytes, big-endian (SQLite's file format, section 1.3)


class Sizes(NamedTuple):
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
    """The directory of the rolling copies of a ledger."""
    return os.path.join(os.path.dirname(os.path.abspath(ledger)), "copies")


def of_day(ledger: str, at: float) -> str:
    """The path of the rolling copy of that day, in local time."""
    day = time.strftime("%Y-%m-%d", time.localtime(at))
    return os.path.join(directory_of(ledger), f"{_stem(ledger)}-{day}.sqlite{PACKED}")


def rolling(ledger: str, at: float | None = None) -> list[str]:
    """The paths of the rolling copies, the newest first.

    at: now, in seconds since the epoch. Copies of days after tomorrow, which a wrong clock has made, come last then;
    tomorrow may have begun in another time zone.
    """
    directory = directory_of(ledger)
    try:
        names = os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as fault:
        raise LedgerError(f"the copies in {directory} cannot be listed: {fault.strerror}") from fault
    dated = re.compile(rf"{re.escape(_stem(ledger))}-\d{{4}}-\d\d-\d\d\.sqlite(?:{re.escape(PACKED)})?")
    copies = [os.path.join(directory, name) for name in sorted(filter(dated.fullmatch, names), reverse=True)]
    if at is not None:
        last = of_day(ledger, at + _DAY)
        copies.sort(key=lambda copy: copy > last)
    return copies


def newest_of(ledger: str, version: int) -> str | None:
    """The path of the newest rolling copy that was made by a version up to that one, None where there is none."""
    return next((copy for copy in rolling(ledger) if 0 < _version_in(copy) <= version), None)


def _version_in(copy: str) -> int:
    """The version of a ledger's tables that a copy has; 0 where it cannot be told."""
    try:
        with (gzip.open if copy.endswith(PACKED) else open)(copy, "rb") as file:
            return int.from_bytes(file.read(_USER_VERSION.stop)[_USER_VERSION], "big")
    except (OSError, EOFError, zlib.error):
        return 0


def refuse_new(ledger: str) -> None:
    """Raise LedgerError for a ledger that is not there and has copies: a new one would hide that it was lost."""
    if rolling(ledger):
        raise LedgerError(
            f"The ledger {ledger} is gone, but there are copies of it in {directory_of(ledger)}: start the service,"
            " which restores the newest, or `spamnb restore` one; move them away to begin again"
        )


def _stem(ledger: str) -> str:
    return os.path.basename(ledger).removesuffix(".sqlite")
