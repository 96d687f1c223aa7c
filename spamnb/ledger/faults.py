"""SQLite's faults in plain words: what is wrong with the ledger, and what to do next."""

import contextlib
import sqlite3
from collections.abc import Iterator

from spamnb.errors import LedgerBusyError, LedgerDamagedError, LedgerError, LedgerUnavailableError

Fault = sqlite3.Error | UnicodeDecodeError
# QUIRK: where damage has got into names of tables, Python fails to decode SQLite's message about them.
FAULTS = (sqlite3.Error, UnicodeDecodeError)


def primary_code(fault: Fault) -> int:
    """SQLite's result code without what it says more exactly; 0 for a fault that Python found."""
    return getattr(fault, "sqlite_errorcode", 0) & 0xFF


def plain(fault: Fault, path: str) -> LedgerError:
    """The error that says what to do."""
    code = primary_code(fault)
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return LedgerBusyError(f"Another process is writing to the ledger {path}: try again in a moment")
    if code == sqlite3.SQLITE_FULL:
        return LedgerUnavailableError(
            f"The disk that holds the ledger {path} is full: free some space. Nothing was lost"
        )
    if code == sqlite3.SQLITE_NOTADB:
        return LedgerDamagedError(
            f"{path} is no ledger: set `ledger` in the configuration to another path, or restore a copy of it"
            " (spamnb restore)"
        )
    if code == sqlite3.SQLITE_CORRUPT or isinstance(fault, UnicodeDecodeError):
        return LedgerDamagedError(
            f"The ledger {path} is damaged: restore a copy (spamnb restore), or move it away and train again."
            " No mail is affected"
        )
    if code in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR}:
        return LedgerUnavailableError(
            f"The ledger {path} cannot be written ({fault}): check its directory, its owner and the free space"
        )
    return LedgerError(f"The ledger {path} cannot be used: {fault}")


@contextlib.contextmanager
def plain_faults(path: str) -> Iterator[None]:
    """Turn SQLite's faults into errors that say what to do."""
    try:
        yield
    except FAULTS as fault:
        raise plain(fault, path) from fault
