"""SQLite's faults in plain words: what is wrong with the ledger, and what to do next."""

import contextlib
import sqlite3
from collections.abc import Iterator

from spamnb.base.errors import LedgerBusyError, LedgerDamagedError, LedgerError, LedgerUnavailableError

Fault = sqlite3.Error | UnicodeDecodeError
FAULTS = (sqlite3.Error, UnicodeDecodeError)
_DAMAGES = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
}


def primary_code(fault: Fault) -> int:
    """Return SQLite's result code without its extension; 0 for a fault that Python found."""
    return getattr(fault, "sqlite_errorcode", 0) & 0xFF


def _is_undecodable(fault: Fault) -> bool:
    """QUIRK: if text is damaged, Python fails to decode it, or SQLite's message about it, and gives no code."""
    return isinstance(fault, UnicodeDecodeError) or (primary_code(fault) == 0 and "decode to UTF-8" in str(fault))


def is_damage(fault: Fault) -> bool:
    """Whether the file's content is at fault.

    SQLITE_ERROR means a missing table; SQLITE_CONSTRAINT a row that none of our statements would have refused with a
    sound index.
    """
    is_cut = getattr(fault, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHORT_READ
    return _is_undecodable(fault) or is_cut or primary_code(fault) in _DAMAGES


def damage(path: str, what: str = "") -> str:
    """Return the message for a damaged ledger; what: the damage itself, if it says more than that."""
    fault = f"cannot be used, it is damaged ({what})" if what else "is damaged"
    return (
        f"The ledger {path} {fault}: restore a copy (spamnb restore), or move it away and train again."
        " No mail is affected"
    )


def plain(fault: Fault, path: str) -> LedgerError:
    """Return the error that says what to do."""
    code = primary_code(fault)
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return LedgerBusyError(f"Another process is writing to the ledger {path}: try again in a moment")
    if code == sqlite3.SQLITE_FULL:
        return LedgerUnavailableError(
            f"The disk that holds the ledger {path} is full: free some space. Nothing was lost"
        )
    if code == sqlite3.SQLITE_NOTADB:
        return LedgerDamagedError(
            f"{path} is not a ledger: set `ledger` in the configuration to another path, or restore a copy of it"
            " (spamnb restore)"
        )
    if code == sqlite3.SQLITE_CORRUPT or _is_undecodable(fault):
        return LedgerDamagedError(damage(path))
    if is_damage(fault):
        return LedgerDamagedError(damage(path, str(fault)))
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
