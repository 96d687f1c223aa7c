"""Locks on a ledger and on directories; the kernel drops each when its process ends, in whatever way.

flock(2) only needs an open descriptor, so every user who may list a directory may also lock it. If only users who may
write in a directory can open it, the directory itself is locked. Then no file need be made, even on a read-only disk.
If others can open it too, the lock is on a file in it that they cannot open.

The choice follows from the modes of the directory and its parent. So processes agree, even if they know it by different
paths or run as different users. They only disagree as long as one of them holds a lock from before a change of mode.
"""

import contextlib
import errno
import fcntl
import os
import secrets
import stat
import struct
import time
from collections.abc import Iterator

from spamnb.base.errors import SpamnbError
from spamnb.ledger.file.parts import SERVICE_LOCK

_READ, _WRITE, _SEARCH = 0o044, 0o022, 0o011  # of the group and of others; an access list shows as the group's
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PAUSE = 0.02  # seconds between two attempts
_PATIENCE = 0.5  # seconds; `running_since` holds the lock for an instant
_FLOCK = "@hhqqi0q"  # struct flock: l_type, l_whence, l_start, l_len, l_pid
_OFFSETS = 2**62


def take(descriptor: int, operation: int, deadline: float) -> bool:
    """Lock an open file as flock(2) does. Returns False if another process still holds it at that `time.monotonic()`.

    Raises OSError if the file system has no such locks.
    """
    while True:
        try:
            fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
        except OSError as fault:
            if fault.errno not in {errno.EWOULDBLOCK, errno.EACCES}:
                raise
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PAUSE)
        else:
            return True


# --- a directory, which only users who may change its content can keep locked --------------------------------------


def open_lock(path: str, name: str, *, make: bool = True) -> tuple[int, bool]:
    """Return what `lock_of` returns for the directory of a path. Raises OSError with the path of the fault."""
    directory = os.open(path, _OPEN_DIRECTORY)
    try:
        return lock_of(directory, name, make=make)
    except OSError as fault:
        fault.filename = os.path.normpath(os.path.join(path, name))
        raise
    finally:
        os.close(directory)


def lock_of(directory: int, name: str, *, make: bool = True) -> tuple[int, bool]:
    """Return a descriptor to lock for an open directory, which the caller closes, and whether it can serve as a lock.

    `make`: create the file of that name if one is needed. Without it, if the file is missing or cannot be opened, the
    descriptor is useless as a lock. Raises OSError.
    """
    is_lock = not _is_open_to_strangers(directory)
    if not is_lock:
        if make:
            return _open_made(name, directory), True
        with contextlib.suppress(OSError):
            return os.open(name, os.O_RDONLY | _FLAGS, dir_fd=directory), True
    return os.dup(directory), is_lock


def _is_open_to_strangers(directory: int) -> bool:
    """Whether somebody who may not write in it can open it."""
    mode = os.fstat(directory).st_mode
    is_only_read = mode & _READ & ~((mode & _WRITE) << 1)
    return bool(is_only_read and os.stat(os.pardir, dir_fd=directory).st_mode & _SEARCH)


def _open_made(name: str, directory: int) -> int:
    """Open the file; create it if needed, for those who may write in the directory, with the directory's owner."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            return os.open(name, os.O_RDWR | _FLAGS, dir_fd=directory)
        with contextlib.suppress(FileExistsError):  # another process was first
            file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600, dir_fd=directory)
            status = os.fstat(directory)
            os.fchmod(file, 0o600 | stat.S_IMODE(status.st_mode & _WRITE) * 3)
            if os.geteuid() == 0:  # else root, who was first, would lock the owner out
                os.fchown(file, status.st_uid, status.st_gid)
            return file


# --- the service that works with a ledger -------------------------------------------------------------------------


@contextlib.contextmanager
def only_service(ledger: str, patience: float = _PATIENCE) -> Iterator[int]:
    """Be the only service that works with this ledger. Yields the descriptor of its lock file, which only it may write.

    patience: seconds to wait for another holder. Raises SpamnbError if another service works with the ledger.
    """
    with open_claim(ledger + SERVICE_LOCK) as lock:
        if not take(lock, fcntl.LOCK_EX, time.monotonic() + patience):
            raise SpamnbError(f"another spamnb service already works with {ledger}: stop that one first")
        os.utime(lock)  # the start of the service
        yield lock


@contextlib.contextmanager
def open_claim(path: str) -> Iterator[int]:
    """Yield a descriptor of a file that services lock; create it if needed. Raises SpamnbError if that fails."""
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as fault:
        raise SpamnbError(f"cannot make {path}: {fault.strerror}; check the directory and its owner") from fault
    try:
        yield lock
    finally:
        os.close(lock)


def last_claimed(ledger: str) -> int:
    """Return when a service last began or ended to work with a ledger, in nanoseconds since the epoch; 0 for never."""
    try:
        return os.stat(ledger + SERVICE_LOCK).st_mtime_ns
    except OSError:
        return 0


def running_since(ledger: str) -> float | None:
    """Return since when a service works with this ledger, in seconds since the epoch, or None. Makes no file."""
    try:
        lock = os.open(ledger + SERVICE_LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return os.fstat(lock).st_mtime
    finally:
        os.close(lock)
    return None


def is_running(ledger: str) -> bool:
    """Whether a service works with this ledger."""
    return running_since(ledger) is not None


# --- the process that carries out an intent -----------------------------------------------------------------------


class IntentOwner:
    """This process as the owner of intents.

    Each process locks one byte of the ledger's directory, at a random offset, and its intents carry that offset. If the
    byte of an intent is not locked, a crash has left the intent open. We rejected a process number with its start time:
    in another container, or under `hidepid`, the number has no meaning. The lock belongs to an open file description
    (fcntl(2), F_OFD_SETLK): closing another descriptor of the directory does not drop it, and it does not collide with
    flock(2). Nothing is written to the disk.
    """

    def __init__(self, ledger: str) -> None:
        self._directory = os.path.dirname(os.path.abspath(ledger))
        self._descriptor: int | None = None
        self._name: str | None = None

    def name(self) -> str | None:
        """The name that this process's intents carry; None if the file system has no such locks."""
        if self._name is None:
            offset = str(secrets.randbelow(_OFFSETS))
            # Shared, since a directory cannot be opened for writing.
            if self._lock(fcntl.F_OFD_SETLK, fcntl.F_RDLCK, offset) is not None:
                self._name = offset
        return self._name

    def is_another(self, name: str | None) -> bool:
        """Whether the owner of that name is another process that is still alive."""
        if name is None or name == self._name:
            return False
        return self._lock(fcntl.F_OFD_GETLK, fcntl.F_WRLCK, name) not in {None, fcntl.F_UNLCK}

    def close(self) -> None:
        """Give up ownership: intents that are still open count as left open."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = self._name = None

    def _lock(self, command: int, kind: int, offset: str) -> int | None:
        """Return the kind of lock that fcntl(2) reports; None if there is no such byte or no such lock."""
        try:
            if self._descriptor is None:
                self._descriptor = os.open(self._directory, _OPEN_DIRECTORY)
            question = struct.pack(_FLOCK, kind, os.SEEK_SET, int(offset), 1, 0)
            return int(struct.unpack(_FLOCK, fcntl.fcntl(self._descriptor, command, question))[0])
        except (OSError, ValueError, OverflowError, struct.error):
            return None
