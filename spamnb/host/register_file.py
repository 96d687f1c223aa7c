"""The file of a register: how it is opened, how it is replaced when it is damaged, and its faults in plain words.

It is replaced as a ledger is (`ledger/file/replacement.py`): the damaged file becomes `register.sqlite.damaged-TIME`,
and an empty one takes its place. Other processes that have it open find that out before they next use it.
"""

import contextlib
import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from typing import TypeVar

from spamnb.base import durable
from spamnb.base.errors import (
    LedgerBusyError,
    LedgerError,
    RegisterBusyError,
    RegisterDamagedError,
    RegisterError,
    RegisterMissingError,
    next_step,
)
from spamnb.ledger.connection import make_private, use_wal
from spamnb.ledger.file.readonly import FileStamp, open_for_reading, unwritten
from spamnb.ledger.file.replacement import begin, holding, present
from spamnb.ledger.schema import moment, version_of
from spamnb.ledger.sqlite_errors import FAULTS, Fault, is_damage, primary_code

_Done = TypeVar("_Done")
_VERSION = 1
_APPLICATION_ID = 0x736E6272  # "snbr"
_PAGE = 1024  # bytes; writing 64 rows of 5,000 takes 80 KB, and 240 KB with SQLite's own 4096
# It was added later. It has a default, so the version stays: an older program still reads and writes such a file.
_POLLED = "polled INTEGER NOT NULL DEFAULT 0"
_TABLE = f"""
    CREATE TABLE account (
        name TEXT PRIMARY KEY, root BLOB NOT NULL, stamp INTEGER, state TEXT NOT NULL, fault TEXT, fault_since REAL,
        gone_at REAL, looked_after_at REAL, ham INTEGER NOT NULL, spam INTEGER NOT NULL,
        judged TEXT NOT NULL, corrected INTEGER NOT NULL, judged_at REAL, bytes INTEGER NOT NULL,
        {_POLLED}
    ) WITHOUT ROWID"""


class RegisterFile:
    """A connection to the file. `only_read`: makes, changes and moves nothing."""

    def __init__(self, path: str, *, only_read: bool, busy_seconds: float) -> None:
        self.path = path
        self._only_read = only_read
        self._busy_seconds = busy_seconds
        self._opened = contextlib.ExitStack()
        self._sqlite: sqlite3.Connection
        self._file: os.stat_result | None = None  # the file that is open
        self._before: FileStamp | None = None  # used if SQLite cannot keep readers apart from writers

    def do(self, work: Callable[[sqlite3.Connection], _Done]) -> _Done:
        """Call `work` with the register; if it is damaged, with an empty one in its place.

        Raises RegisterError if that is impossible; then nothing was changed.
        """
        try:
            return self._done(work)
        except RegisterDamagedError:
            if self._only_read:
                raise
        if self._file is None or self._is_present():  # it could not be opened, or no other process has replaced it
            self._replace()
        return self._done(work)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file = None
        self._opened.close()

    def _done(self, work: Callable[[sqlite3.Connection], _Done]) -> _Done:
        with _plain_faults(self.path):
            if not self._is_present():
                self.close()
                self._open()
            with unwritten(present(self.path), self._before):
                if version_of(self._sqlite) != _VERSION:
                    raise RegisterError(f"The register {self.path} was upgraded while it was in use: start again")
                return work(self._sqlite)

    def _is_present(self) -> bool:
        """Whether the open file is still the register, and nobody waits to replace it."""
        try:
            return self._file is not None and os.path.samestat(os.stat(present(self.path)), self._file)
        except OSError:
            return False

    def _open(self) -> None:
        with contextlib.ExitStack() as opened:
            if not self._only_read:
                os.makedirs(_directory(self.path), mode=0o700, exist_ok=True)
            else:
                self._look()
            held = holding(self.path, exclusive=False, seconds=self._busy_seconds, only_read=self._only_read)
            opened.enter_context(held)
            path = present(self.path)  # a different path if a replacement has begun and nothing may be written
            if self._only_read:
                self._sqlite, self._before = open_for_reading(path, self._busy_seconds)
            else:
                make_private(path)
                self._sqlite = sqlite3.connect(os.fsencode(path), timeout=self._busy_seconds, isolation_level=None)
            opened.callback(self._sqlite.close)
            file = os.stat(path)
            with moment(self._sqlite):
                _check(self._sqlite, self.path)
            if not self._only_read:
                _make(self._sqlite, self._busy_seconds)
            elif not version_of(self._sqlite):
                raise _missing(self.path)
            self._opened, self._file = opened.pop_all(), file

    def _look(self) -> None:
        """Raise RegisterMissingError if there is no file to read; OSError if that is unknown."""
        try:
            os.stat(present(self.path))
        except (FileNotFoundError, NotADirectoryError):
            raise _missing(self.path) from None

    def _replace(self) -> None:
        """Replace a damaged file by an empty one, as soon as no other process has it open."""
        with _plain_faults(self.path), durable.scratch(_directory(self.path)) as new:
            with contextlib.closing(sqlite3.connect(os.fsencode(new), isolation_level=None)) as sqlite:
                _make(sqlite, self._busy_seconds)
            begin(self.path, new, os.stat(new).st_mtime, "damaged")


def _directory(path: str) -> str:
    return os.path.dirname(os.path.abspath(path))


def _check(sqlite: sqlite3.Connection, path: str) -> None:
    """Raise RegisterError for a database of another program, or of a later version; write nothing."""
    (mark,) = sqlite.execute("PRAGMA application_id").fetchone()
    (tables,) = sqlite.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if mark != _APPLICATION_ID and (tables or mark):
        raise RegisterError(f"{path} is a database of another program in the register's place: move it away")
    if (version := version_of(sqlite)) > _VERSION:
        raise RegisterError(
            f"{path} was written by a later spamnb (its version is {version}, this one knows up to {_VERSION}):"
            " upgrade spamnb, or move the file away; a service then makes it again"
        )


def _make(sqlite: sqlite3.Connection, busy_seconds: float) -> None:
    """Create the table of a register, or the column that a file of before lacks."""
    sqlite.execute(f"PRAGMA page_size = {_PAGE}")
    use_wal(sqlite, busy_seconds)
    sqlite.execute("PRAGMA synchronous = NORMAL")
    with transaction(sqlite):
        if not version_of(sqlite):  # another process may have been first
            sqlite.execute(_TABLE)
            sqlite.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            sqlite.execute(f"PRAGMA user_version = {_VERSION}")
        columns = [name for (name,) in sqlite.execute("SELECT name FROM pragma_table_info('account')")]
        if columns and "polled" not in columns:
            sqlite.execute(f"ALTER TABLE account ADD COLUMN {_POLLED}")


@contextlib.contextmanager
def transaction(sqlite: sqlite3.Connection) -> Iterator[None]:
    """Run the block in one transaction, as the only writer: all or nothing."""
    sqlite.execute("BEGIN IMMEDIATE")
    try:
        yield
        sqlite.execute("COMMIT")
    except BaseException:
        if sqlite.in_transaction:  # SQLite itself rolls back on some faults
            sqlite.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def _plain_faults(path: str) -> Iterator[None]:
    """Turn faults of SQLite, of the disk, and of the ledger's functions into errors that say what to do."""
    try:
        yield
    except LedgerBusyError as fault:
        raise _busy(path) from fault
    except FAULTS as fault:
        raise _plain(fault, path) from fault
    except LedgerError as fault:
        raise _unusable(path, fault.__cause__ or "a process that died has left a log beside it") from fault
    except OSError as fault:
        raise _unusable(path, fault) from fault


def _plain(fault: Fault, path: str) -> RegisterError:
    code = primary_code(fault)
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return _busy(path)
    if is_damage(fault):
        return damaged(path)
    return _unusable(path, OSError(errno.ENOSPC, "") if code == sqlite3.SQLITE_FULL else fault)


def _unusable(path: str, why: object) -> RegisterError:
    usual = "check its directory, and who owns it"
    if not isinstance(why, OSError):
        return RegisterError(f"The register {path} cannot be used ({why}): {usual}")
    if why.errno in {errno.ENOSPC, errno.EDQUOT}:
        return RegisterError(f"The disk that holds the register {path} is full: free some space. Nothing was lost")
    return RegisterError(f"The register {path} cannot be used ({why.strerror}): {next_step(why, usual)}")


def _busy(path: str) -> RegisterBusyError:
    return RegisterBusyError(f"Another process is writing to the register {path}: try again in a moment")


def _missing(path: str) -> RegisterMissingError:
    return RegisterMissingError(f"The register {path} does not exist: no service of this host has started yet")


def damaged(path: str) -> RegisterDamagedError:
    """Return the error that says what happens to a damaged register."""
    return RegisterDamagedError(
        f"The register {path} is damaged: start the service; it makes a new one. Mail and ledgers are unaffected"
    )
