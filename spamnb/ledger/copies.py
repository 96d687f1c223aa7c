"""The rolling copies of a ledger: where they lie, what they are called, and what all of it takes on the disk."""

import os
import re
import time
from dataclasses import dataclass

from spamnb.errors import LedgerError

PACKED = ".gz"  # the end of a name; a copy without it is plain SQLite


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
    dated = [name for name in names if re.fullmatch(rf"{stem}-\d{{4}}-\d\d-\d\d\.sqlite(?:{re.escape(PACKED)})?", name)]
    return [os.path.join(directory_of(ledger), name) for name in sorted(dated, reverse=True)]


def refuse_new(ledger: str) -> None:
    """Raise LedgerError for a ledger that is not there and has copies: a new one would hide that it was lost."""
    if rolling(ledger):
        raise LedgerError(
            f"The ledger {ledger} is gone, but there are copies of it in {directory_of(ledger)}: start the service,"
            " which restores the newest, or `spamnb restore` one; move them away to begin again"
        )


def of_day(ledger: str, at: float) -> str:
    """The path of the rolling copy of that day, in local time."""
    day = time.strftime("%Y-%m-%d", time.localtime(at))
    return os.path.join(directory_of(ledger), f"{_stem(ledger)}-{day}.sqlite{PACKED}")


def _stem(ledger: str) -> str:
    return os.path.basename(ledger).removesuffix(".sqlite")
