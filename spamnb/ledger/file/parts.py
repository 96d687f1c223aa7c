"""The files that belong to a ledger, and their names: SQLite's files and locks beside it, and its rolling copies."""

import contextlib
import gzip
import os
import re
import time
import zlib
from typing import NamedTuple

from spamnb.base.errors import LedgerError

SQLITE_PARTS = ("-wal", "-shm", "-journal")  # the endings of SQLite's files beside a database
SERVICE_LOCK, USE_LOCK = ".lock", ".use.lock"
PACKED = ".gz"  # the end of a copy's name; a copy without it is plain SQLite
_DAY = 86_400.0
# The ends of the copies' names, as patterns.
_OF_DAY = r"\d{4}-\d\d-\d\d\.sqlite(?:\.gz)?"
_BEFORE_UPGRADE = r"before-\d{1,9}\.sqlite\.gz"
_USER_VERSION = slice(60, 64)  # in a database's first bytes, big-endian (SQLite's file format, section 1.3)


class Sizes(NamedTuple):
    """The size of a ledger on its disk, in bytes: its file, its write-ahead log, and its rolling copies together."""

    ledger: int
    wal: int
    copies: int


def sizes(ledger: str) -> Sizes:
    """Return the sizes of a ledger on its disk; 0 for a missing part. Raises LedgerError if they are unknown."""
    return Sizes(_size(ledger), _size(ledger + "-wal"), _size(*_copies(ledger, f"(?:{_OF_DAY}|{_BEFORE_UPGRADE})")))


def _size(*paths: str) -> int:
    """Return the size of some files; one with two names counts once."""
    sizes = dict[int, int]()
    for path in paths:
        try:
            found = os.stat(path)
        except FileNotFoundError:  # it may vanish during the count
            continue
        except OSError as fault:
            raise LedgerError(f"{path} cannot be read ({fault.strerror}): check who owns it") from fault
        sizes[found.st_ino] = found.st_size
    return sum(sizes.values())


def directory_of(ledger: str) -> str:
    """Return the directory of the rolling copies of a ledger."""
    return os.path.join(os.path.dirname(os.path.abspath(ledger)), "copies")


def of_day(ledger: str, at: float) -> str:
    """Return the path of the rolling copy of that day, in local time."""
    day = time.strftime("%Y-%m-%d", time.localtime(at))
    return os.path.join(directory_of(ledger), f"{_stem(ledger)}-{day}.sqlite{PACKED}")


def rolling(ledger: str, at: float | None = None) -> list[str]:
    """Return the paths of the rolling copies, the newest first.

    at: now, in seconds since the epoch. Then copies dated after tomorrow come last: a wrong clock has made them.
    Tomorrow may have begun in another time zone.
    """
    copies = sorted(_copies(ledger, _OF_DAY), reverse=True)
    if at is not None:
        last = of_day(ledger, at + _DAY)
        copies.sort(key=lambda copy: copy > last)
    return copies


def newest_copy(ledger: str) -> float | None:
    """Return when the newest rolling copy was made; None if there is none."""
    for path in rolling(ledger):
        with contextlib.suppress(OSError):  # an older one is being removed
            return os.stat(path).st_mtime
    return None


def before_upgrade(ledger: str, version: int) -> str:
    """Return the path of the copy that is made before a ledger becomes one of that version."""
    return os.path.join(directory_of(ledger), f"{_stem(ledger)}-before-{version}.sqlite{PACKED}")


def before_upgrades(ledger: str) -> list[str]:
    """Return the paths of the copies that were made before upgrades, the one before the latest version first."""
    copies = _copies(ledger, _BEFORE_UPGRADE)
    return sorted(copies, key=lambda copy: (len(copy), copy), reverse=True)


def _copies(ledger: str, names: str) -> list[str]:
    """Return the paths of the copies whose names, after that of the ledger, match a pattern."""
    directory, wanted = directory_of(ledger), re.compile(f"{re.escape(_stem(ledger))}-{names}")
    try:
        return [os.path.join(directory, name) for name in os.listdir(directory) if wanted.fullmatch(name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as fault:
        raise LedgerError(f"the copies in {directory} cannot be listed: {fault.strerror}") from fault


def newest_of(ledger: str, version: int) -> str | None:
    """Return the path of the newest copy that this version can read; None if there is none.

    No copy of a day is newer than the one before an upgrade: copies made after that have a later version.
    """
    copies = [*before_upgrades(ledger), *rolling(ledger)]
    return next((copy for copy in copies if 0 < _version_in(copy) <= version), None)


def _version_in(copy: str) -> int:
    """Return the version of a copy's tables; 0 if it is unknown."""
    try:
        with (gzip.open if copy.endswith(PACKED) else open)(copy, "rb") as file:
            return int.from_bytes(file.read(_USER_VERSION.stop)[_USER_VERSION], "big")
    except (OSError, EOFError, zlib.error):
        return 0


def refuse_new(ledger: str) -> None:
    """Raise LedgerError for a missing ledger that has copies: a new one would hide that it was lost."""
    if rolling(ledger):
        raise LedgerError(
            f"The ledger {ledger} is gone, but there are copies of it in {directory_of(ledger)}: start the service;"
            " it restores the newest. Or `spamnb restore` one, or move them away to begin again"
        )


def _stem(ledger: str) -> str:
    return os.path.basename(ledger).removesuffix(".sqlite")
