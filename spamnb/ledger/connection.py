"""One connection to the ledger's file: how it is opened, its transactions, and its faults in plain words."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from spamnb.errors import LedgerBusyError, LedgerError, LedgerUnavailableError
from spamnb.ledger.schema import check, migrate

_BUSY_SECONDS = 10.0  # a bulk training commits its batches well within this
_WAL_PAUSE = 0.01
# QUIRK: where damage has got into names of tables, Python fails to decode SQLite's message about them.
_FAULTS = (sqlite3.Error, UnicodeDecodeError)


class Connection:
    """A SQLite connection in WAL mode: many readers, one writer, durable at each commit.

    `synchronous=FULL`: in WAL mode anything less may lose the last commits when power fails, and a lost intent
    would make the filter's own move look like a person's.
    """

    def __init__(self, path: str, *, busy_seconds: float = _BUSY_SECONDS) -> None:
        self.path = path
        self._depth = 0
        self._file = _make_private(path)
        with self.plain_faults():
            self._sqlite = sqlite3.connect(
                os.fsencode(path),
                timeout=busy_seconds,
                isolation_level=None,
                cached_statements=256,
                check_same_thread=False,
            )
            try:
                check(self._sqlite, path)  # before anything is written: it may be another program's file
                self._use_wal(busy_seconds)
                self._sqlite.execute("PRAGMA synchronous = FULL")
                self._sqlite.execute("PRAGMA foreign_keys = ON")
                self._sqlite.execute("PRAGMA cache_size = -16000")  # KB; the pages of the hot tokens
                migrate(self._sqlite)
            except BaseException:
                self._sqlite.close()
                raise

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> int:
        """Run one statement that writes. Returns the id of the row inserted last."""
        try:
            return self._sqlite.execute(statement, parameters).lastrowid or 0
        except _FAULTS as fault:
            raise self._plain(fault) from fault

    def row(self, statement: str, parameters: Sequence[object] = ()) -> Any:
        """The first row that a statement finds, a tuple, or None."""
        return next(self.rows(statement, parameters), None)

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> Iterator[Any]:
        """The rows that a statement finds, each a tuple, read as they are asked for."""
        try:
            yield from self._sqlite.execute(statement, parameters)
        except _FAULTS as fault:  # SQLite may find out late: in the middle of the rows
            raise self._plain(fault) from fault

    def all(self, statement: str, parameters: Sequence[object] = ()) -> list[Any]:
        """All rows that a statement finds, each a tuple; for many small rows in half the time that `rows` takes."""
        try:
            return self._sqlite.execute(statement, parameters).fetchall()
        except _FAULTS as fault:
            raise self._plain(fault) from fault

    def executemany(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement for each row of parameters."""
        try:
            self._sqlite.executemany(statement, rows)
        except _FAULTS as fault:
            raise self._plain(fault) from fault

    def close(self) -> None:
        """Close the file. Uncommitted work is rolled back."""
        self._sqlite.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, as one writer; a transaction inside a transaction is part of it."""
        yield from self._bracket("BEGIN IMMEDIATE")

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that is read inside is of one moment, whatever other processes commit meanwhile."""
        yield from self._bracket("BEGIN")

    def _bracket(self, begin: str) -> Iterator[None]:
        if self._depth:
            yield
            return
        with self.plain_faults():
            self._check_place()
            self._sqlite.execute(begin)
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

    def _check_place(self) -> None:
        """Raise LedgerError where the file of that path is another one by now.

        SQLite would go on writing to a file that has lost its name, and all of it would be lost without a word.
        """
        try:
            same = _identity(self.path) == self._file
        except (FileNotFoundError, NotADirectoryError):
            same = False
        except OSError as fault:
            raise LedgerUnavailableError(
                f"The ledger {self.path} cannot be reached ({fault.strerror}): check its directory and who owns it"
            ) from fault
        if not same:
            raise LedgerError(
                f"The ledger {self.path} was deleted or replaced while it was in use: nothing more is written to it."
                " Put it back, or go on with what is there now by starting again"
            )

    @contextlib.contextmanager
    def plain_faults(self) -> Iterator[None]:
        """Turn SQLite's faults into errors that say what to do."""
        try:
            yield
        except _FAULTS as fault:
            raise self._plain(fault) from fault

    def _use_wal(self, busy_seconds: float) -> None:
        """Switch to WAL mode, which the file keeps from then on.

        QUIRK: two processes that open a new file at once get SQLITE_BUSY here without SQLite's own waiting.
        """
        deadline = time.monotonic() + busy_seconds
        while True:
            try:
                self._sqlite.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_WAL_PAUSE)
            else:
                return

    def _plain(self, fault: sqlite3.Error | UnicodeDecodeError) -> LedgerError:
        code = getattr(fault, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return LedgerBusyError(f"Another process is writing to the ledger {self.path}: try again in a moment")
        if code == sqlite3.SQLITE_FULL:
            return LedgerUnavailableError(
                f"The disk that holds the ledger {self.path} is full: free some space. Nothing was lost"
            )
        if code == sqlite3.SQLITE_NOTADB:
            return LedgerError(
                f"{self.path} is no ledger: set `ledger` in the configuration to another path, or put back a copy of it"
            )
        if code == sqlite3.SQLITE_CORRUPT or isinstance(fault, UnicodeDecodeError):
            return LedgerError(
                f"The ledger {self.path} is damaged: move it away and train again, or put back a copy."
                " No mail is affected"
            )
        if code in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR}:
            return LedgerUnavailableError(
                f"The ledger {self.path} cannot be written ({fault}): check its directory, its owner and the free space"
            )
        return LedgerError(f"The ledger {self.path} cannot be used: {fault}")


def _identity(path: str) -> tuple[int, int]:
    """Which file has that path."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _make_private(path: str) -> tuple[int, int]:
    """Make the directories 0700 and the file 0600 before SQLite does it with the process's umask; which file it is."""
    try:
        _make_directories(os.path.dirname(os.path.abspath(path)))
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        return _identity(path)
    except PermissionError as fault:
        raise LedgerError(f"No permission to use the ledger {path}: check who owns {fault.filename}") from fault
    except OSError as fault:
        raise LedgerError(
            f"The ledger {path} cannot be made ({fault.strerror}): set `ledger` in the configuration to another path"
        ) from fault


def _make_directories(path: str) -> None:
    if not os.path.isdir(path):
        _make_directories(os.path.dirname(path))
        with contextlib.suppress(FileExistsError):  # another process was first; a file in the way is found by open
            os.mkdir(path, 0o700)
