"""One connection to the ledger's file: how it is opened, its transactions, and its faults in plain words."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from spamnb.base import durable
from spamnb.base.errors import LedgerError, LedgerNewerError, LedgerUnavailableError
from spamnb.ledger.file.pages import copy_before
from spamnb.ledger.file.parts import SQLITE_PARTS, refuse_new
from spamnb.ledger.file.readonly import Alive, FileStamp, open_for_reading, size_of, unwritten
from spamnb.ledger.file.replacement import holding, present
from spamnb.ledger.schema import VERSION, adapt_reader, check, migrate, moment, new_file, version_of
from spamnb.ledger.sqlite_errors import FAULTS, plain_faults

_BUSY_SECONDS = 10.0  # a bulk training commits its batches well within this
CACHE = 16_000  # KB: the pages of the hot tokens
_WAL_PAUSE = 0.01
_ROWS = 64, 16, 4, 1  # rows that one statement inserts: few statements for any number of rows, and few to prepare
_DURABLE = "PRAGMA synchronous = FULL"
_LARGEST_LOG = 1_000_000  # bytes; SQLite itself begins to empty it at 4 MB, and leaves its size


class Connection:
    """A SQLite connection in WAL mode: many readers, one writer, durable at each commit except in `without_fsync`.

    `synchronous=FULL`: in WAL mode anything less may lose the last commits in a power cut. Without its intent, the
    filter's own move would look like the user's.

    `only_read`: makes, upgrades and writes nothing, and a missing ledger is an error. If its replacement was
    interrupted, it reads the ledger that will be there. cache: KB of its pages that are kept in memory. alive: called
    while the ledger of an earlier version is copied, before it is upgraded.
    """

    def __init__(
        self,
        path: str,
        *,
        busy_seconds: float = _BUSY_SECONDS,
        only_read: bool = False,
        cache: int = CACHE,
        alive: Alive = lambda: None,
    ) -> None:
        self.path = path
        self._alive = alive
        self._only_read = only_read
        self._cache = cache
        self._depth = 0
        self._before: FileStamp | None = None  # used if SQLite cannot keep readers apart from writers
        _make_directory(path, only_read)
        with contextlib.ExitStack() as opened:
            opened.enter_context(holding(path, exclusive=False, seconds=busy_seconds, only_read=only_read))
            self._file_path = present(path) if only_read else path
            if only_read and not os.path.exists(self._file_path):
                raise _not_there(path)
            with plain_faults(path):
                if only_read:
                    self._sqlite, self._before = open_for_reading(self._file_path, busy_seconds)
                else:
                    self._sqlite = _open(path, busy_seconds)
                opened.callback(self._sqlite.close)
                self._file = os.stat(self._file_path)
                with moment(self._sqlite):
                    check(self._sqlite, path)  # before anything is written: the file may be another program's
                self._version = adapt_reader(self._sqlite) if only_read else VERSION
                if not only_read:
                    self._begin(busy_seconds)
            self._opened = opened.pop_all()

    def _begin(self, busy_seconds: float) -> None:
        use_wal(self._sqlite, busy_seconds)
        self._sqlite.execute(_DURABLE)
        self._sqlite.execute("PRAGMA foreign_keys = ON")
        self._sqlite.execute(f"PRAGMA journal_size_limit = {_LARGEST_LOG}")
        self._sqlite.execute(f"PRAGMA cache_size = -{self._cache}")
        migrate(self._sqlite, lambda: copy_before(self.path, VERSION, time.time(), self._alive))

    def compact(self) -> None:
        """Write the file again, without its free space; at that time others can read, but not write."""
        with plain_faults(self.path):
            self._sqlite.execute("VACUUM")
            self._sqlite.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        with plain_faults(self.path), unwritten(self._file_path, self._before):
            yield

    def row(self, statement: str, parameters: Sequence[object] = ()) -> Any:
        """Return the first row that a statement finds, a tuple, or None."""
        with self._reading():
            return self._sqlite.execute(statement, parameters).fetchone()

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> Iterator[Any]:
        """Yield the rows that a statement finds, each a tuple, read one by one."""
        with self._reading():  # SQLite may find a fault in the middle of the rows
            yield from self._sqlite.execute(statement, parameters)

    def all(self, statement: str, parameters: Sequence[object] = ()) -> list[Any]:
        """Return all rows that a statement finds, each a tuple; faster than `rows` for many small rows."""
        with self._reading():
            return self._sqlite.execute(statement, parameters).fetchall()

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> int:
        """Run one statement that writes. Returns the id of the last inserted row."""
        with plain_faults(self.path):
            return self._sqlite.execute(statement, parameters).lastrowid or 0

    def executemany(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement for each row of parameters."""
        with plain_faults(self.path):
            self._sqlite.executemany(statement, rows)

    def insert(self, statement: str, width: int, values: Sequence[object], otherwise: str = "") -> None:
        """Insert rows of `width` values, given one row after the other: `INSERT INTO … VALUES`.

        otherwise: what to do if a row exists: `ON CONFLICT …`. One statement inserts several rows: that takes two
        thirds of the time.
        """
        if len(values) % width:
            raise ValueError(f"{len(values)} values do not make rows of {width}")
        row, start = f"({','.join('?' * width)})", 0
        with plain_faults(self.path):
            for rows in _ROWS:
                several, step = f"{statement} {','.join([row] * rows)} {otherwise}", rows * width
                while len(values) - start >= step:
                    self._sqlite.execute(several, values[start : start + step])
                    start += step

    def empty_log(self) -> None:
        """Free the disk space of a large log, if nobody reads from it now.

        SQLite overwrites the log from its beginning, and leaves it at the size that its largest commits needed.
        """
        if (size_of(self.path + "-wal") or 0) <= _LARGEST_LOG:
            return
        with contextlib.suppress(*FAULTS):  # the next statement, of any process, meets the fault
            (patience,) = self._sqlite.execute("PRAGMA busy_timeout").fetchone()
            self._sqlite.execute("PRAGMA busy_timeout = 0")  # do not wait for a reader: there is a next time
            try:
                self._sqlite.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                self._sqlite.execute(f"PRAGMA busy_timeout = {patience}")

    def close(self) -> None:
        """Close the file. Uncommitted work is rolled back."""
        if not self._only_read:
            self.empty_log()
        self._opened.close()  # SQLite's connection before the lock: it removes its log by name

    def transaction(self) -> contextlib.AbstractContextManager[None]:
        """Run the block as one writer, all or nothing; a transaction inside a transaction is part of it."""
        return self._bracket("BEGIN" if self._only_read else "BEGIN IMMEDIATE")

    @contextlib.contextmanager
    def without_fsync(self) -> Iterator[None]:
        """Let no transaction inside wait for the disk: each is whole, but a power cut may lose the last of them."""
        with plain_faults(self.path):
            self._sqlite.execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            self._sqlite.execute(_DURABLE)

    @property
    def is_held(self) -> bool:
        """Whether a transaction or a snapshot has begun: everything read until its end is of one moment."""
        return self._depth > 0

    def snapshot(self) -> contextlib.AbstractContextManager[None]:
        """Read everything inside as of one moment, whatever other processes commit."""
        return self._bracket("BEGIN")

    @contextlib.contextmanager
    def _bracket(self, begin: str) -> Iterator[None]:
        if self._depth:
            yield
            return
        with plain_faults(self.path):
            self._check_file()
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

    def _check_file(self) -> None:
        """Raise LedgerError if a different file has this path now.

        SQLite would continue to write to a file that has lost its name, and everything would be lost silently.
        """
        try:
            is_same = os.path.samestat(os.stat(self._file_path), self._file)
        except (FileNotFoundError, NotADirectoryError):
            is_same = False
        except OSError as fault:
            raise LedgerUnavailableError(
                f"The ledger {self.path} cannot be reached ({fault.strerror}): check its directory and who owns it"
            ) from fault
        if not is_same:
            raise LedgerError(
                f"The ledger {self.path} was deleted or replaced while it was in use: nothing more is written to it."
                " Move it back, or start again to use the new file"
            )

    def _check_version(self) -> None:
        """Raise LedgerError if another program has upgraded the open ledger: its tables have changed."""
        if version_of(self._sqlite) != self._version:
            raise LedgerNewerError(
                f"The ledger {self.path} was upgraded while it was in use, to a later version: start again"
            )


def use_wal(sqlite: sqlite3.Connection, busy_seconds: float) -> None:
    """Switch to WAL mode, which the file keeps from then on.

    QUIRK: if two processes open a new file at once, they get SQLITE_BUSY here without SQLite's own waiting.
    """
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            sqlite.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as fault:
            is_busy = fault.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY  # not a full disk, which stays full
            if not is_busy or time.monotonic() >= deadline:
                raise
            time.sleep(_WAL_PAUSE)
        else:
            return


def _not_there(path: str) -> LedgerError:
    return LedgerError(f"There is no ledger {path}: run spamnb init, or train something")


def _open(path: str, busy_seconds: float) -> sqlite3.Connection:
    """Open a connection to the file."""
    if not (os.path.exists(path) and os.path.getsize(path)):
        refuse_new(path)
        _make_whole(path)
    with _making(path):
        make_private(path)
    return sqlite3.connect(
        os.fsencode(path), timeout=busy_seconds, isolation_level=None, cached_statements=256, check_same_thread=False
    )


def _make_whole(path: str) -> None:
    """Make a new ledger that is complete before it gets its name, if that is possible; an existing one stays.

    SQLite drops the log of a ledger that is gone only if the new file is empty. So if there is a log, SQLite makes the
    ledger. It does so too without the means for this, or it meets and reports the same fault.
    """
    if not any(os.path.lexists(path + part) for part in SQLITE_PARTS):
        with (
            contextlib.suppress(OSError, AttributeError),
            durable.draft(path, replace=False) as draft,
            open(draft, "wb") as file,
        ):
            file.write(new_file())


def make_private(path: str) -> None:
    """Make the file of a database with mode 0600, before SQLite makes it with the process's umask. Raises OSError.

    QUIRK: it does not open a usable file that exists. Closing that would drop the POSIX locks of this process's other
    connections. Another process would then seem to be the last, and would remove the log that they write to
    (sqlite.org/howtocorrupt.html, 2.2).
    """
    if not (os.path.isfile(path) and os.access(path, os.R_OK | os.W_OK, effective_ids=True)):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _make_directory(path: str, only_read: bool) -> None:
    """Make the directory of the ledger, and those around it."""
    directory = os.path.dirname(os.path.abspath(path))
    if not only_read:
        with _making(path):
            _make_directories(directory)
    elif not os.path.isdir(directory):
        raise _not_there(path)


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
        with contextlib.suppress(FileExistsError):  # another process was first; opening finds a file in the way
            os.mkdir(path, 0o700)
