"""Read a ledger's file without changing it: no file is left beside it, and no log is emptied into it."""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from typing import TypeVar
from urllib.parse import quote

from spamnb.base.errors import LedgerBusyError, LedgerError, LedgerUnavailableError
from spamnb.ledger.schema import APPLICATION_ID, check, differences, moment
from spamnb.ledger.sqlite_errors import FAULTS, is_damage, plain, primary_code

_LOOKS = 5
_NO_ROOM = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
_NO_FAULTS = {"ok", "*** in database main ***"}  # lines of an integrity_check
_STEPS = 100_000  # of SQLite's machine; a few hundredths of a second
_Found = TypeVar("_Found")
FileStamp = tuple[int, int, int, int]
Alive = Callable[[], None]
"""Called between the steps of long work; an exception from it ends the work."""


def open_for_reading(path: str, busy_seconds: float = 10.0) -> tuple[sqlite3.Connection, FileStamp | None]:
    """Open a connection that only reads.

    The second value is None if SQLite's own locks keep readers apart from writers. Otherwise it is the file's state
    before it was opened: what was read counts only if `state_of` the file is still the same afterwards.

    A log with commits belongs to a process that is at work, or that died. A read-only connection reads such a log, and
    does not empty it into the file at the end. Without a log, a writable connection makes an empty one for the time
    being, and SQLite removes it; a read-only connection would leave it there. If no log exists and none can be made, as
    on a full disk, SQLite only reads the file as one that nobody ever writes (`immutable`).

    Raises LedgerUnavailableError if a log has commits, and SQLite's index of it (`-shm`) is missing and cannot be made:
    `immutable` would silently leave the commits out.
    """
    log = size_of(path + "-wal")
    before = None
    if log and not (os.path.exists(path + "-shm") or _is_writable(path)):
        raise LedgerUnavailableError(
            f"The ledger {path} has a log of a process that died ({path}-wal), which can be read only if its"
            " directory may be written: make it writable, or copy both files to another directory"
        )
    if log:
        mode = "mode=ro"
    elif _is_writable(path):
        mode = "mode=rw"
    elif log is not None and os.path.exists(path + "-shm"):
        mode = "mode=ro"
    else:
        mode = "immutable=1"
        before = state_of(path)
    sqlite = _connected(path, mode, busy_seconds)
    if mode == "mode=rw" and not _has_room(sqlite):
        sqlite.close()
        before = state_of(path)
        sqlite = _connected(path, "immutable=1", busy_seconds)
    return sqlite, before


def _connected(path: str, mode: str, busy_seconds: float) -> sqlite3.Connection:
    uri = f"file:{quote(os.fsencode(os.path.abspath(path)))}?{mode}"
    sqlite = sqlite3.connect(uri, uri=True, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    sqlite.execute("PRAGMA query_only = ON")
    return sqlite


def _has_room(sqlite: sqlite3.Connection) -> bool:
    """Whether the disk has room for the log that SQLite makes for the time of reading. Other faults are met later."""
    try:
        sqlite.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except FAULTS as fault:
        return primary_code(fault) not in _NO_ROOM
    return True


def state_of(path: str) -> FileStamp:
    """Return what changes when the file is written: which file it is, its size and time, and the bytes in its log."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return (0, 0, 0, 0)
    return found.st_ino, found.st_size, found.st_mtime_ns, size_of(path + "-wal") or 0


@contextlib.contextmanager
def unwritten(path: str, before: FileStamp | None) -> Iterator[None]:
    """Raise LedgerBusyError if the file was written while it was read, and SQLite could not keep the two apart."""
    try:
        yield
    except FAULTS:
        _check_unwritten(path, before)
        raise
    _check_unwritten(path, before)


def _check_unwritten(path: str, before: FileStamp | None) -> None:
    if before is not None and before != state_of(path):
        raise LedgerBusyError(
            f"The ledger {path} is being written, and without the right to write its directory one cannot wait:"
            " try again, or as its owner"
        )


def look_into(
    path: str,
    look: Callable[[sqlite3.Connection], _Found],
    alive: Alive = lambda: None,
    looks: int = _LOOKS,
) -> _Found:
    """Return what `look` finds in a file that nobody wrote in the meantime. `alive` is called in long statements.

    Raises LedgerBusyError if it was written during each of `looks` looks, and anything that `alive` raises.
    """
    raised: list[Exception] = []

    def step() -> bool:
        try:
            alive()
        except Exception as fault:  # SQLite would turn it into an interrupted statement
            raised.append(fault)
        return bool(raised)

    sqlite, before = open_for_reading(path)
    with contextlib.closing(sqlite):
        sqlite.set_progress_handler(step, _STEPS)
        try:
            with unwritten(path, before):
                return look(sqlite)
        except FAULTS:
            if raised:
                raise raised[0] from None
            raise
        except LedgerBusyError:
            if looks == 1:
                raise
    return look_into(path, look, alive, looks - 1)


def size_of(path: str) -> int | None:
    """Return the bytes of a file; None if it is missing or cannot be looked at."""
    try:
        return os.stat(path).st_size
    except OSError:
        return None


def _is_writable(path: str) -> bool:
    """Whether SQLite can make a log beside the file, and remove it again."""
    directory = os.path.dirname(os.path.abspath(path))
    return os.access(path, os.W_OK, effective_ids=True) and os.access(directory, os.W_OK | os.X_OK, effective_ids=True)


def faults_of(path: str, alive: Alive = lambda: None) -> list[str]:
    """Return the faults of a ledger's file; none if it is usable. Changes nothing.

    It checks that SQLite can read all pages, and that each index agrees with its table. The tables and indexes must be
    those of a ledger. Whether the counts are right is the question of `verify`. `alive` is called during the check.
    SQLite's `quick_check` does not look at indexes, and with a damaged one a message is learned twice. For a million
    messages it takes 1.4 s of CPU, and `integrity_check` 5.0 s; for 25,000 both take 0.2 s. Raises LedgerError for
    anything but damage: another program's database, a later version, parts that no ledger has, an unreadable file.
    """
    try:
        if os.stat(path).st_size == 0:
            return ["it is empty"]
    except FileNotFoundError:
        return ["it is missing"]
    except OSError as fault:
        raise LedgerError(f"The ledger {path} cannot be read ({fault.strerror}): check who owns it") from fault
    try:
        return look_into(path, lambda sqlite: _faults(sqlite, path), alive)
    except FAULTS as fault:
        if is_damage(fault):
            return [str(fault).partition(" with text ")[0]]  # of lines, and damaged
        raise plain(fault, path) from fault


def _faults(sqlite: sqlite3.Connection, path: str) -> list[str]:
    with moment(sqlite):
        check(sqlite, path)
        if sqlite.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            return ["it holds nothing"]
        changed, foreign = differences(sqlite)
        if foreign and not changed:  # else damage may have changed a name of ours
            raise LedgerError(
                f"{path} has parts that spamnb did not make ({foreign[0]}), so it is not used. Remove them with the"
                " program that made them, or restore a copy (spamnb restore)"
            )
        lines = [line for row in sqlite.execute("PRAGMA integrity_check(5)") for line in row[0].splitlines()]
        faults = [line for line in lines if line not in _NO_FAULTS] + changed
        if not changed and sqlite.execute("SELECT count(*) FROM total").fetchone()[0] != 1:
            faults.append("its totals are gone")
    return faults
