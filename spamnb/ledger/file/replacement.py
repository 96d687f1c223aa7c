"""Putting another file in the ledger's place on disk, and keeping it there while it is in use.

SQLite finds a file's write-ahead log by its name. If a ledger were renamed under an open connection, that
connection would write to the log of whatever file has the name by then, and delete it in the end. So each
connection holds a shared lock on the ledger's directory (`locks.open_lock`), and a process that replaces the file
holds an exclusive one. A lock file would have to be made also where nothing may be written, and closing a second
descriptor of the ledger itself would drop SQLite's own locks. Where it has to be a file and none is there or can be
opened, a connection that only reads goes without: it looks whether the file is still the one that has the name.

A replacement has several steps, and power may fail between any two of them:

1. The new file is made complete and durable under a name of its own.
2. It gets the name `LEDGER.incoming-damaged` or `LEDGER.incoming-replaced`: from here on the replacement will be
   made, by the next process that opens the ledger if not by us.
3. The old file, with its log, is set aside as `LEDGER.damaged-TIME` or `LEDGER.replaced-TIME`; TIME is the new
   file's, so that the process that goes on uses the same name.
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

_PARTS = (*SQLITE_PARTS, "")  # the file itself last: as long as it has its name, not all is done


@contextlib.contextmanager
def holding(path: str, *, exclusive: bool = True, seconds: float = 10.0, only_read: bool = False) -> Iterator[None]:
    """Hold the ledger exclusively; or, where that is not wanted, keep others from replacing it.

    A replacement that was interrupted is finished before others may have the ledger open, unless nothing may be
    written. Raises LedgerBusyError when the time is over.
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
    """The path of the ledger's file: its own, or one beside it where its replacement was interrupted."""
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
    """Put a new file from the same directory in the ledger's place, which the caller holds exclusively.

    Returns the path that the old file has now, or None where there was none. Nothing is changed where the new file is
    not there.
    """
    begin(path, new, at, why)
    return finish(path)


def begin(path: str, new: str, at: float, why: Why) -> None:
    """The same, but that the replacement is made by the next process that can `finish` it: nothing need be held."""
    while any(os.path.lexists(_aside(path, why, at) + part) for part in _PARTS):
        at += 1
    os.utime(new, (int(at), int(at)))
    durable.name(new, f"{path}.incoming-{why}")


def finish(path: str) -> str | None:
    """Make the replacement that was begun, if one was; the caller holds the ledger exclusively. Returns as `put`."""
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
