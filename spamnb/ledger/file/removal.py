"""Removing a ledger with all that belongs to it: its user is to be forgotten.

Copies and former ledgers go first, of which one would take the ledger's place where that is gone; then the ledger, and
its log last: SQLite drops a log whose file is gone or empty, and a file without its log might be damaged. A process
that is killed in the midst of it leaves a ledger as it was, or none.
"""

import contextlib
import os
import re

from spamnb.base import durable
from spamnb.base.errors import LedgerUnavailableError
from spamnb.ledger.file.parts import SERVICE_LOCK, SQLITE_PARTS, USE_LOCK, directory_of, rolling
from spamnb.ledger.file.replacement import holding

_UNFINISHED = re.compile(r"\..*\.part")
_FORMER = re.compile(r"\.(?:restored\.part|incoming-|damaged-|replaced-).*")


def remove(ledger: str, *, seconds: float = 10.0, with_locks: bool = False) -> None:
    """Remove a ledger, its copies, and former ledgers beside it.

    with_locks: the files that are locks too, where no ledger is to be there again; the caller has claimed it.
    Raises LedgerBusyError where another process has it open for longer than `seconds`, and LedgerUnavailableError where
    a file cannot be removed.
    """
    directory, name = os.path.split(os.path.abspath(ledger))
    try:
        with holding(ledger, seconds=seconds):
            copies = directory_of(ledger)
            unfinished = [os.path.join(copies, file) for file in _names(copies) if _UNFINISHED.fullmatch(file)]
            former = [
                os.path.join(directory, file)
                for file in _names(directory)
                if file.startswith(name) and _FORMER.fullmatch(file[len(name) :])
            ]
            _remove(*rolling(ledger), *unfinished)
            _remove(*former)
            _remove(ledger)
            _remove(*(ledger + part for part in SQLITE_PARTS))
            if with_locks:
                _remove(ledger + USE_LOCK, ledger + SERVICE_LOCK)
    except OSError as fault:
        raise LedgerUnavailableError(
            f"{fault.filename} cannot be removed ({fault.strerror}): check who owns it and its directory"
        ) from fault


def _remove(*files: str) -> None:
    """Remove files, so that they do not come back where power fails."""
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file)
    for directory in {os.path.dirname(os.path.abspath(file)) for file in files}:
        if os.path.isdir(directory):
            durable.sync(directory)


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []
