"""inotify(7) through the C library: one instance, and a test whether a file system reports changes at all."""

import array
import contextlib
import ctypes
import fcntl
import os
import select
import struct
import termios
from collections.abc import Iterator

from spamnb.base.errors import SpamnbError

# linux/inotify.h
MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x40, 0x80, 0x100, 0x200
DELETE_SELF, MOVE_SELF = 0x400, 0x800
UNMOUNT, Q_OVERFLOW, IGNORED, ISDIR = 0x2000, 0x4000, 0x8000, 0x4000_0000  # the kernel sends these unasked
ONLYDIR, DONT_FOLLOW = 0x0100_0000, 0x0200_0000

_HEAD = struct.Struct("iIII")  # struct inotify_event: watch descriptor, mask, cookie, length of the name
_PROBE_SECONDS = 2.0
_PROBE_MASK = CREATE

_LIBRARY = ctypes.CDLL(None, use_errno=True)
_LIBRARY.inotify_add_watch.argtypes = ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32


class CannotWatchError(SpamnbError):
    """The configuration demands inotify, but it is not available."""


class Inotify:
    """An instance of inotify; each call raises the system's OSError."""

    def __init__(self) -> None:
        self.descriptor = _checked(_LIBRARY.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))

    def add(self, path: str, mask: int) -> int:
        """Watch a directory. Returns its watch descriptor, which does not change as long as the directory stays."""
        return _checked(_LIBRARY.inotify_add_watch(self.descriptor, os.fsencode(path), mask), path)

    def remove(self, watch: int) -> None:
        """Stop watching a directory. Nothing happens if its watch has ended by itself."""
        _LIBRARY.inotify_rm_watch(self.descriptor, watch)

    def read(self) -> Iterator[tuple[int, int, bytes]]:
        """Return all events that wait in the kernel: watch descriptor, mask, and the entry's name or b""."""
        size = array.array("i", [0])
        fcntl.ioctl(self.descriptor, termios.FIONREAD, size)
        data = os.read(self.descriptor, size[0]) if size[0] else b""
        place = 0
        while place < len(data):
            watch, mask, _, length = _HEAD.unpack_from(data, place)
            place += _HEAD.size + length
            yield watch, mask, data[place - length : place].rstrip(b"\0")

    def close(self) -> None:
        """Close the instance, with all of its watches."""
        os.close(self.descriptor)


def _checked(result: int, path: str | None = None) -> int:
    if result < 0:
        fault = ctypes.get_errno()
        raise OSError(fault, os.strerror(fault), path)
    return result


def tells(directory: str) -> bool | None:
    """Whether the kernel reports a new file in a directory within two seconds; None if this cannot be tried.

    The directory is opened once. So its owner cannot replace it during the test and spoil the result.
    """
    name = f"spamnb-probe.{os.getpid()}"
    with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
        opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        stack.callback(os.close, opened)
        inotify = Inotify()
        stack.callback(inotify.close)
        inotify.add(f"/proc/self/fd/{opened}", _PROBE_MASK)
        new = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
        os.close(os.open(name, new, 0o600, dir_fd=opened))
        poll = select.poll()
        poll.register(inotify.descriptor, select.POLLIN)
        try:
            return bool(poll.poll(1000 * _PROBE_SECONDS))
        finally:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=opened)
    return None
