"""One service a ledger: a lock that goes with the process."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from spamnb.errors import SpamnbError

_PATIENCE = 0.5  # seconds; whoever asks whether a service runs holds the lock for an instant
_PAUSE = 0.02


@contextmanager
def alone(ledger: str) -> Iterator[None]:
    """Hold the lock that says a service works with this ledger; SpamnbError where another one holds it."""
    path = ledger + ".lock"
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as fault:
        raise SpamnbError(f"cannot make {path}: {fault.strerror}; check the directory and its owner") from fault
    try:
        _take(lock, ledger)
        os.utime(lock)  # since when it runs
        yield
    finally:
        os.close(lock)


def _take(lock: int, ledger: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as fault:
            if time.monotonic() >= deadline:
                raise SpamnbError(f"another spamnb service already works with {ledger}: stop that one first") from fault
            time.sleep(_PAUSE)
        else:
            return


def is_running(ledger: str) -> bool:
    """Whether a service works with this ledger; makes no file."""
    try:
        lock = os.open(ledger + ".lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def running_since(ledger: str) -> float | None:
    """Since when a service works with this ledger, in seconds since the epoch; None where none does."""
    if not is_running(ledger):
        return None
    try:
        return os.stat(ledger + ".lock").st_mtime
    except OSError:
        return None
