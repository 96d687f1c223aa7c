"""Replace the ledger's file on disk, and prevent that while it is in use.

SQLite finds a file's write-ahead log by its name. After a rename under an open connection, that connection would
write to the log of the new file, and finally delete it. So each connection holds a shared lock on the
ledger's directory (`locks.open_lock`), and a process that replaces the file holds an exclusive one. A lock file would
also be needed on a read-only disk; and closing a second descriptor of the ledger itself would drop SQLite's own locks.
If the lock must be a file, and it is missing or cannot be opened, a connection that only reads does without it: it
checks that its file still has the name.

A replacement has several steps, and a power cut may come between any two of them:

1. The new file is made complete and durable under a name of its own.
2. It gets the name `LEDGER.incoming-damaged` or `LEDGER.incoming-replaced`. From here on the replacement is certain: if
   not this process, the next one that opens the ledger makes it.
3. The old file, with its log, is set aside as `LEDGER.damaged-TIME` or `LEDGER.replaced-TIME`. TIME is the new file's,
   so that a process that goes on uses the same name.
4. The new file gets the ledger's name.
"""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from typing import Literal, get_args

from spamnb.base import durable
from spamnb.base.errors import LedgerBusyError, LedgerError, LedgerUnavailableError, next_step
from spamnb.ledger.file.locks import open_lock, take
from spamnb.ledger.file.parts import SQLITE_PARTS, USE_LOCK

Why = Literal["damaged", "replaced"]

_PARTS = (*SQLITE_PARTS, "")  # the file itself last: while it has its name, some work is left


@contextlib.contextmanager
def holding(path: str, *, exclusive: bool = True, seconds: float = 10.0, only_read: bool = False) -> Iterator[None]:
    """Hold the ledger exclusively; or, if not `exclusive`, keep others from replacing it.

    It finishes an interrupted replacement before others may have the ledger open, unless nothing may be written. Raises
    LedgerBusyError when the time is over.
    """
    deadline = time.monotonic() + seconds
    descriptor = _locked(path, exclusive, deadline, make=not only_read)
    while not (exclusive or only_read) and _incoming(path) is not None:
        os.close(descriptor)
        with holding(path, seconds=seconds):
            finish(path)
        descriptor = _locked(path, exclusive, deadline, make=True)
    try:
        yield
    finally:
        os.close(descriptor)


def present(path: str) -> str:
    """Return the path of the ledger's file: its own, or one beside it if its replacement was interrupted."""
    why = _incoming(path)
    return path if why is None else f"{path}.incoming-{why}"


def _locked(path: str, exclusive: bool, deadline: float, make: bool) -> int:
    directory, name = os.path.split(os.path.abspath(path))
    try:
        descriptor, is_lock = open_lock(directory, name + USE_LOCK, make=make)
    except PermissionError as fault:
        raise LedgerError(
            f"No permission to use the ledger {path}: check who owns {fault.filename} and its directory"
        ) from fault
    except OSError as fault:
        if fault.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise LedgerUnavailableError(
                f"The disk that holds the ledger {path} is full: free some space. Nothing was lost"
            ) from fault
        usual = "check the ledger's directory and who owns it, or set `ledger` in the configuration to another path"
        raise LedgerError(f"{fault.filename} cannot be opened ({fault.strerror}): {next_step(fault, usual)}") from fault
    try:
        if is_lock and not take(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH, deadline):
            raise LedgerBusyError(f"Another spamnb is at work with the ledger {path}: try again when it has ended")
    except OSError:
        pass  # a file system without locks, which cannot hold a ledger for two anyway
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def put(path: str, new: str, at: float, why: Why) -> str | None:
    """Put a new file from the same directory in the ledger's place. The caller holds the ledger exclusively.

    Returns the new path of the old file, or None if there was none. Changes nothing if the new file is missing.
    """
    begin(path, new, at, why)
    return finish(path)


def begin(path: str, new: str, at: float, why: Why) -> None:
    """Begin to replace a ledger; the next process that can `finish` does it. The caller needs no lock."""
    while any(os.path.lexists(_aside(path, why, at) + part) for part in _PARTS):
        at += 1
    os.utime(new, (int(at), int(at)))
    durable.name(new, f"{path}.incoming-{why}")


def finish(path: str) -> str | None:
    """Finish a replacement that was begun, if any; the caller holds the ledger exclusively. Returns as `put` does."""
    why = _incoming(path)
    if why is None:
        return None
    incoming = f"{path}.incoming-{why}"
    aside = _aside(path, why, os.stat(incoming).st_mtime)
    for part in _PARTS:
        with contextlib.suppress(FileNotFoundError):
            os.rename(path + part, aside + part)
    durable.sync(os.path.dirname(path))  # first: a log without its file must not meet another file
    os.rename(incoming, path)
    durable.sync(os.path.dirname(path))
    return aside if os.path.exists(aside) else None


def _incoming(path: str) -> Why | None:
    return next((why for why in get_args(Why) if os.path.lexists(f"{path}.incoming-{why}")), None)


def _aside(path: str, why: Why, at: float) -> str:
    return f"{path}.{why}-{time.strftime('%Y-%m-%dT%H-%M-%SZ', time.gmtime(int(at)))}"
