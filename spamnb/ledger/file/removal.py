"""Remove a ledger and everything that belongs to it, when its user is to be forgotten.

Copies and old ledgers go first, because one of them would replace a missing ledger. Then the ledger goes, and its log
last: SQLite drops a log if its file is gone or empty, but a file without its log might be damaged. A kill during the
removal leaves the whole ledger, or none.
"""

import contextlib
import os
import re

from spamnb.base import durable
from spamnb.base.errors import LedgerUnavailableError
from spamnb.ledger.file.parts import (
    SERVICE_LOCK,
    SQLITE_PARTS,
    USE_LOCK,
    before_upgrades,
    directory_of,
    rolling,
)
from spamnb.ledger.file.replacement import holding

_UNFINISHED = re.compile(r"\..*\.part")
_FORMER = re.compile(r"\.(?:restored\.part|incoming-|damaged-|replaced-).*")


def remove(ledger: str, *, seconds: float = 10.0, with_locks: bool = False) -> None:
    """Remove a ledger, its copies, and old ledgers beside it.

    with_locks: also remove the lock files, if there will be no ledger there again; the caller has claimed it. Raises
    LedgerBusyError if another process has it open for longer than `seconds`, and LedgerUnavailableError if a file
    cannot be removed.
    """
    directory, name = os.path.split(os.path.abspath(ledger))
    try:
        with holding(ledger, seconds=seconds):
            copies = directory_of(ledger)
            unfinished = [os.path.join(copies, file) for file in _names(copies) if _UNFINISHED.fullmatch(file)]
            former = [
                os.path.join(directory, file)
                for file in _names(directory)
                if _UNFINISHED.fullmatch(file) or (file.startswith(name) and _FORMER.fullmatch(file[len(name) :]))
            ]
            _remove(*rolling(ledger), *before_upgrades(ledger), *unfinished)
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
    """Remove files so that a power cut does not bring them back."""
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
