"""One connection to the ledger's file: how it is opened, its transactions, and its faults in plain words."""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from spamnb.errors import LedgerBusyError, LedgerError
from spamnb.ledger.schema import migrate

_BUSY_SECONDS = 10.0  # a bulk training commits its batches well within this


class Connection:
    """A SQLite connection in WAL mode: many readers, one writer, durable at each commit.

    `synchronous=FULL`: in WAL mode anything less may lose the last commits when power fails, and a lost intent
    would make the filter's own move look like a person's.
    """

    def __init__(self, path: str, *, busy_seconds: float = _BUSY_SECONDS) -> None:
        self.path = path
        self._depth = 0
        with self.plain_faults():
            _make_private(path)
            self._sqlite = sqlite3.connect(
                os.fsencode(path),
                timeout=busy_seconds,
                isolation_level=None,
                cached_statements=256,
                check_same_thread=False,
            )
            try:
                self._sqlite.execute("PRAGMA journal_mode = WAL")
                self._sqlite.execute("PRAGMA synchronous = FULL")
                self._sqlite.execute("PRAGMA foreign_keys = ON")
                self._sqlite.execute("PRAGMA cache_size = -16000")  # KB; the pages of the hot tokens
                migrate(self._sqlite, path)
            except BaseException:
                self._sqlite.close()
                raise

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> sqlite3.Cursor:
        """Run one statement."""
        try:
            return self._sqlite.execute(statement, parameters)
        except sqlite3.Error as fault:
            raise self._plain(fault) from fault

    def executemany(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement for each row of parameters."""
        try:
            self._sqlite.executemany(statement, rows)
        except sqlite3.Error as fault:
            raise self._plain(fault) from fault

    def close(self) -> None:
        """Close the file. Uncommitted work is rolled back."""
        self._sqlite.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, as one writer; a transaction inside a transaction is part of it."""
        if self._depth:
            yield
            return
        with self.plain_faults():
            self._sqlite.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
                self._sqlite.execute("COMMIT")
            except BaseException:
                if self._sqlite.in_transaction:  # SQLite itself rolls back on some faults
                    self._sqlite.execute("ROLLBACK")
                raise
            finally:
                self._depth -= 1

    @contextlib.contextmanager
    def plain_faults(self) -> Iterator[None]:
        """Turn SQLite's and the disk's faults into errors that say what to do."""
        try:
            yield
        except sqlite3.Error as fault:
            raise self._plain(fault) from fault
        except PermissionError as fault:
            raise LedgerError(
                f"No permission to use the ledger {self.path}: check who owns {fault.filename}"
            ) from fault

    def _plain(self, fault: sqlite3.Error) -> LedgerError:
        code = getattr(fault, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return LedgerBusyError(f"Another process is writing to the ledger {self.path}: try again in a moment")
        if code == sqlite3.SQLITE_FULL:
            return LedgerError(f"The disk that holds the ledger {self.path} is full: free some space. Nothing was lost")
        if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            return LedgerError(
                f"The ledger {self.path} is damaged: move it away and train again, or put back a copy. No mail is affected"
            )
        if code in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR}:
            return LedgerError(
                f"The ledger {self.path} cannot be written ({fault}): check its directory, its owner and the free space"
            )
        return LedgerError(f"The ledger {self.path} cannot be used: {fault}")


def _make_private(path: str) -> None:
    """Make the directory 0700 and the file 0600 before SQLite does it with the process's umask."""
    directory = os.path.dirname(os.path.abspath(path))
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except PermissionError:
        raise
    except OSError as fault:
        raise LedgerError(f"The ledger {path} cannot be made: {fault.strerror} ({fault.filename})") from fault
