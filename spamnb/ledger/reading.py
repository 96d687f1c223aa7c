"""Looking into a ledger's file without changing it: no file is made beside it, and no log is emptied into it."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from urllib.parse import quote

from spamnb.errors import LedgerError
from spamnb.ledger.faults import FAULTS, Fault, plain, primary_code
from spamnb.ledger.schema import APPLICATION_ID, check, moment

# A table of each part; a file that lost one of them is no ledger any more, however sound its pages are.
_TABLES = ("message", "token", "count", "mailbox", "folder", "file", "action", "note")


def open_for_reading(path: str, busy_seconds: float = 10.0) -> sqlite3.Connection:
    """A connection that only reads.

    Without a write-ahead log beside it nobody has the file open, and it is read as it lies. With one it has to be
    opened in the usual way, since the newest commits are in the log; but a connection that cannot write does not
    empty the log into the file when it is closed, as SQLite would do otherwise.
    """
    mode = "mode=ro" if os.path.exists(path + "-wal") else "immutable=1"
    uri = f"file:{quote(os.fsencode(os.path.abspath(path)))}?{mode}"
    return sqlite3.connect(uri, uri=True, timeout=busy_seconds, isolation_level=None, check_same_thread=False)


@contextlib.contextmanager
def reading(path: str) -> Iterator[sqlite3.Connection]:
    """The same, closed at the end."""
    with contextlib.closing(open_for_reading(path)) as sqlite:
        yield sqlite


def faults_of(path: str) -> list[str]:
    """What is wrong with a ledger's file; nothing if it can be worked with. Writes nothing.

    Asked is whether SQLite can read all its pages (`quick_check`), and whether it is a ledger with all its parts;
    not whether its counts are right, which is `verify`'s question. Raises LedgerError where damage is not the
    matter: another program's database, a later version, a file that cannot be read.
    """
    try:
        size = os.stat(path).st_size
    except FileNotFoundError:
        return ["it is missing"]
    except OSError as fault:
        raise LedgerError(f"The ledger {path} cannot be read ({fault.strerror}): check who owns it") from fault
    if size == 0:
        return ["it is empty"]
    try:
        with reading(path) as sqlite, moment(sqlite):
            check(sqlite, path)
            if sqlite.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                return ["it holds nothing"]
            faults = [row[0] for row in sqlite.execute("PRAGMA quick_check(5)") if row[0] != "ok"]
            if sqlite.execute("SELECT count(*) FROM total").fetchone()[0] != 1:
                faults.append("its totals are gone")
            for table in _TABLES:
                sqlite.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone()  # noqa: S608 - a name of this module
    except FAULTS as fault:
        if _is_damage(fault):
            return [str(fault)]
        raise plain(fault, path) from fault
    return faults


def _is_damage(fault: Fault) -> bool:
    """Whether the file's content is at fault: SQLITE_ERROR is a table that is not there."""
    if isinstance(fault, UnicodeDecodeError):
        return True
    if getattr(fault, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHORT_READ:
        return True
    return primary_code(fault) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
