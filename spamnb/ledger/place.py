"""The ledger's place on disk: who has the file there open, and how another file is put there.

SQLite finds a file's write-ahead log by its name. If a ledger were renamed under an open connection, that
connection would write to the log of whatever file has the name by then, and delete it in the end. So each
connection holds a shared lock on the ledger's directory, and whoever puts another file in the ledger's place
holds it alone. It is the directory that is locked where no stranger can open it (`locks`), with flock(2): a lock file
would have to be made also where nothing may be written, and closing a second descriptor of the ledger itself would
drop SQLite's own locks. Where it has to be a file and none is there or can be opened, a connection that only reads
goes without: it looks whether the file is still the one that has the name.

A replacement has several steps, and power may fail between any two of them:

1. The new file is made complete and durable under a name of its own.
2. It gets the name `LEDGER.incoming-damaged` or `LEDGER.incoming-replaced`: from here on the replacement will be
   made, by whoever opens the ledger next if not by us.
3. The old file, with its log, is set aside as `LEDGER.damaged-TIME` or `LEDGER.replaced-TIME`; TIME is the new
   file's, so that whoever goes on uses the same name.
4. The new file gets the ledger's name.
"""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from typing import Literal

from spamnb.durable import sync
from spamnb.errors import LedgerBusyError, LedgerError, LedgerUnavailableError
from spamnb.ledger.locks import open_lock

Why = Literal["damaged", "replaced"]

_WHYS: tuple[Why, ...] = ("damaged", "replaced")
_PARTS = ("-wal", "-shm", "-journal", "")  # the file itself last: as long as it has its name, not all is done
_PAUSE = 0.02


def hold(path: str, *, alone: bool, seconds: float, only_read: bool = False) -> int:
    """A descriptor that holds the place of the ledger, shared or alone, until it is closed.

    Held in common, no replacement is left half made: it is ended first, unless nothing may be written. Raises
    LedgerBusyError when the time is over.
    """
    deadline = time.monotonic() + seconds
    while True:
        descriptor = _locked(path, alone, deadline, make=not only_read)
        if alone or only_read or not _incoming(path):
            return descriptor
        os.close(descriptor)
        with holding(path, seconds=seconds):
            finish(path)


@contextlib.contextmanager
def holding(path: str, *, alone: bool = True, seconds: float = 10.0) -> Iterator[None]:
    """Nobody else has the ledger open; or nobody puts another file in its place, where it is not held alone."""
    descriptor = hold(path, alone=alone, seconds=seconds)
    try:
        yield
    finally:
        os.close(descriptor)


def present(path: str) -> str:
    """Where the ledger is: in its place, or next to it where its replacement was interrupted."""
    incoming = _incoming(path)
    return f"{path}.incoming-{incoming[0]}" if incoming else path


def _locked(path: str, alone: bool, deadline: float, make: bool) -> int:
    descriptor, is_lock = _opened(path, make)
    try:
        while is_lock:
            try:
                fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
                break
            except OSError as fault:
                if fault.errno not in {errno.EWOULDBLOCK, errno.EACCES}:
                    break  # a file system without locks, which cannot hold a ledger for two anyway
                if time.monotonic() >= deadline:
                    raise LedgerBusyError(
                        f"Another spamnb is at work with the ledger {path}: try again when it has ended"
                    ) from fault
                time.sleep(_PAUSE)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _opened(path: str, make: bool) -> tuple[int, bool]:
    directory, name = os.path.split(os.path.abspath(path))
    try:
        return open_lock(directory, f"{name}.use.lock", make=make)
    except PermissionError as fault:
        raise LedgerError(
            f"No permission to use the ledger {path}: check who owns {fault.filename} and its directory"
        ) from fault
    except OSError as fault:
        if fault.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise LedgerUnavailableError(
                f"The disk that holds the ledger {path} is full: free some space. Nothing was lost"
            ) from fault
        raise LedgerError(
            f"{fault.filename} cannot be opened ({fault.strerror}): check the ledger's directory and who owns it,"
            " or set `ledger` in the configuration to another path"
        ) from fault


def put(path: str, at: float, why: Why, make: Callable[[str], None]) -> str | None:
    """Put a new file in the ledger's place, which the caller holds alone. `make` writes it at the path it is given.

    Returns where the old file is now, or None where there was none. Nothing is changed if `make` fails.
    """
    while _exists(_aside(path, why, at)):
        at += 1
    part = f"{path}.incoming.part"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(part)
    try:
        make(part)
        os.utime(part, (int(at), int(at)))
        sync(part)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    os.rename(part, f"{path}.incoming-{why}")
    _make_directory_durable(path)
    return finish(path)


def finish(path: str) -> str | None:
    """Make the replacement that was begun, if one was; the caller holds the place alone. Returns as `put` does."""
    for why in _incoming(path):
        incoming = f"{path}.incoming-{why}"
        aside = _aside(path, why, os.stat(incoming).st_mtime)
        for part in _PARTS:
            with contextlib.suppress(FileNotFoundError):
                os.rename(path + part, aside + part)
        _make_directory_durable(path)  # before the next step: a log without its file must not meet another file
        os.rename(incoming, path)
        _make_directory_durable(path)
        return aside if os.path.exists(aside) else None
    return None


def _make_directory_durable(path: str) -> None:
    sync(os.path.dirname(os.path.abspath(path)))


def _incoming(path: str) -> list[Why]:
    return [why for why in _WHYS if os.path.lexists(f"{path}.incoming-{why}")]


def _aside(path: str, why: Why, at: float) -> str:
    return f"{path}.{why}-{time.strftime('%Y-%m-%dT%H-%M-%SZ', time.gmtime(int(at)))}"


def _exists(aside: str) -> bool:
    return any(os.path.lexists(aside + part) for part in _PARTS)
