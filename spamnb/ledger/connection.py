"""One connection to the ledger's file: how it is opened, its transactions, and its faults in plain words."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from spamnb.errors import LedgerError, LedgerUnavailableError
from spamnb.ledger.copies import refuse_new
from spamnb.ledger.faults import FAULTS, plain, plain_faults
from spamnb.ledger.place import hold, present
from spamnb.ledger.reading import State, being_written, open_for_reading, state_of
from spamnb.ledger.schema import VERSION, check, migrate, moment, version_of

_BUSY_SECONDS = 10.0  # a bulk training commits its batches well within this
_WAL_PAUSE = 0.01
_LARGEST_LOG = 1_000_000  # bytes; SQLite itself begins to empty it at 4 MB, and leaves its size


class Connection:
    """A SQLite connection in WAL mode: many readers, one writer, durable at each commit.

    `synchronous=FULL`: in WAL mode anything less may lose the last commits when power fails, and a lost intent
    would make the filter's own move look like a person's.

    `only_read`: nothing is made, upgraded or written, and a ledger that is not there is an error. Where its
    replacement was interrupted, it is read as it will be.
    """

    def __init__(self, path: str, *, busy_seconds: float = _BUSY_SECONDS, only_read: bool = False) -> None:
        self.path = path
        self._only_read = only_read
        self._depth = 0
        self._lies: State | None = None  # the file's state where SQLite cannot keep what is read from what is written
        if not only_read:
            _make_parent(path)
        elif not os.path.isdir(os.path.dirname(os.path.abspath(path))):
            raise _not_there(path)
        self._place = hold(path, alone=False, seconds=busy_seconds, only_read=only_read)
        try:
            self._file_path = present(path) if only_read else path
            if only_read and not os.path.exists(self._file_path):
                raise _not_there(path)
            with plain_faults(self.path):
                if only_read:
                    self._sqlite, self._lies = open_for_reading(self._file_path, busy_seconds)
                else:
                    self._sqlite = _open(path, busy_seconds)
                try:
                    self._file = _identity(self._file_path)
                    with moment(self._sqlite):
                        check(self._sqlite, path)  # before anything is written: it may be another program's file
                    if not only_read:
                        self._begin(busy_seconds)
                except BaseException:
                    self._sqlite.close()
                    raise
        except BaseException:
            os.close(self._place)
            raise

    def _begin(self, busy_seconds: float) -> None:
        self._use_wal(busy_seconds)
        self._sqlite.execute("PRAGMA synchronous = FULL")
        self._sqlite.execute("PRAGMA foreign_keys = ON")
        self._sqlite.execute(f"PRAGMA journal_size_limit = {_LARGEST_LOG}")
        self._sqlite.execute("PRAGMA cache_size = -16000")  # KB; the pages of the hot tokens
        migrate(self._sqlite)

    def _write_anew(self) -> None:
        self._sqlite.execute("VACUUM")
        self._sqlite.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def compact(self) -> None:
        """Write the file anew, without the room that is free in it; others can read meanwhile, but not write."""
        with plain_faults(self.path):
            self._write_anew()

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> int:
        """Run one statement that writes. Returns the id of the row inserted last."""
        try:
            return self._sqlite.execute(statement, parameters).lastrowid or 0
        except FAULTS as fault:
            raise plain(fault, self.path) from fault

    def row(self, statement: str, parameters: Sequence[object] = ()) -> Any:
        """The first row that a statement finds, a tuple, or None."""
        found = next(self.rows(statement, parameters), None)
        self._check_still()
        return found

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> Iterator[Any]:
        """The rows that a statement finds, each a tuple, read as they are asked for."""
        try:
            yield from self._sqlite.execute(statement, parameters)
        except FAULTS as fault:  # SQLite may find out late: in the middle of the rows
            self._check_still()
            raise plain(fault, self.path) from fault
        self._check_still()

    def all(self, statement: str, parameters: Sequence[object] = ()) -> list[Any]:
        """All rows that a statement finds, each a tuple; for many small rows in half the time that `rows` takes."""
        try:
            found = self._sqlite.execute(statement, parameters).fetchall()
        except FAULTS as fault:
            self._check_still()
            raise plain(fault, self.path) from fault
        self._check_still()
        return found

    def cursor(self, statement: str) -> Iterator[Any]:
        """The rows that a statement finds as SQLite gives them, for very many of them. Raises SQLite's own faults."""
        return self._sqlite.execute(statement)

    def executemany(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement for each row of parameters."""
        try:
            self._sqlite.executemany(statement, rows)
        except FAULTS as fault:
            raise plain(fault, self.path) from fault

    def empty_log(self) -> None:
        """Give back what a large log takes on the disk, where nobody reads from it now.

        SQLite overwrites the log from its beginning, and leaves it as large as its largest commits have made it.
        """
        try:
            if os.stat(self.path + "-wal").st_size <= _LARGEST_LOG:
                return
        except OSError:
            return
        with contextlib.suppress(*FAULTS):  # whoever works with the ledger next meets what is wrong with it
            (patience,) = self._sqlite.execute("PRAGMA busy_timeout").fetchone()
            self._sqlite.execute("PRAGMA busy_timeout = 0")  # who reads need not be waited for: there is a next time
            try:
                self._sqlite.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                self._sqlite.execute(f"PRAGMA busy_timeout = {patience}")

    def close(self) -> None:
        """Close the file. Uncommitted work is rolled back."""
        if self._place >= 0:
            if not self._only_read:
                self.empty_log()
            self._sqlite.close()
            os.close(self._place)  # after the file: SQLite removes its log by name
            self._place = -1

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, as one writer; a transaction inside a transaction is part of it."""
        yield from self._bracket("BEGIN" if self._only_read else "BEGIN IMMEDIATE")

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that is read inside is of one moment, whatever other processes commit meanwhile."""
        yield from self._bracket("BEGIN")

    def _bracket(self, begin: str) -> Iterator[None]:
        if self._depth:
            yield
            return
        with plain_faults(self.path):
            self._check_place()
            self._sqlite.execute(begin)
            self._depth += 1
            try:
                self._check_version()
                yield
                self._sqlite.execute("COMMIT")
            except BaseException:
                if self._sqlite.in_transaction:  # SQLite itself rolls back on some faults
                    self._sqlite.execute("ROLLBACK")
                raise
            finally:
                self._depth -= 1

    def _check_still(self) -> None:
        """Raise LedgerBusyError where the file was written while it was read as one that nobody writes."""
        if self._lies is not None and state_of(self._file_path) != self._lies:
            raise being_written(self.path)

    def _check_place(self) -> None:
        """Raise LedgerError where the file of that path is another one by now.

        SQLite would go on writing to a file that has lost its name, and all of it would be lost without a word.
        """
        try:
            same = _identity(self._file_path) == self._file
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

    def _check_version(self) -> None:
        """Raise LedgerError where a later program has upgraded the ledger meanwhile: its tables are not known here."""
        if version_of(self._sqlite) != VERSION:
            raise LedgerError(
                f"The ledger {self.path} was upgraded while it was in use, to a later version: start again"
            )

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


def _not_there(path: str) -> LedgerError:
    return LedgerError(f"There is no ledger {path}: run spamnb init, or train something")


def _identity(path: str) -> tuple[int, int]:
    """Which file has that path."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _open(path: str, busy_seconds: float) -> sqlite3.Connection:
    """A connection to the file, which is made 0600 before SQLite does it with the process's umask."""
    if not (os.path.exists(path) and os.path.getsize(path)):
        refuse_new(path)
    with _making(path):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    return sqlite3.connect(
        os.fsencode(path),
        timeout=busy_seconds,
        isolation_level=None,
        cached_statements=256,
        check_same_thread=False,
    )


def _make_parent(path: str) -> None:
    with _making(path):
        _make_directories(os.path.dirname(os.path.abspath(path)))


@contextlib.contextmanager
def _making(path: str) -> Iterator[None]:
    try:
        yield
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
