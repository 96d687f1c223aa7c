"""Files that are written whole, and what may be written to at all.

A draft is written beside the file, and gets its name when it is complete and on the disk. Only a regular file is
replaced: run by root, a rename would put a file in the place of a device.
"""

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

_MOST_LINKS = 40  # as Linux follows
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS}  # what file systems without hard links say


@contextlib.contextmanager
def writing(path: str, *, replace: bool = True) -> Iterator[BinaryIO]:
    """A file to write bytes to: `/dev/stdout` and `/dev/fd/N` as they are open, anything else as a `draft`."""
    descriptor = open_already(path)
    if descriptor is not None:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            yield file
        return
    with draft(path, replace=replace) as part, open(part, "wb") as file:
        yield file


@contextlib.contextmanager
def draft(path: str, *, replace: bool = True) -> Iterator[str]:
    """The path of a new file, for its owner alone, which becomes `path` at the end, complete and on the disk.

    Where the block fails the draft is removed, and `path` is as it was. A symbolic link stays, and its target is
    replaced. Raises OSError for what cannot be written, and as `check` does.
    """
    check(path, replace=replace)
    final = os.path.realpath(path)
    directory = os.path.dirname(final)
    descriptor, part = tempfile.mkstemp(prefix=".", suffix=".part", dir=directory)
    os.close(descriptor)
    try:
        yield part
        name(part, final, replace=replace)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


def check(path: str, *, replace: bool = True) -> None:
    """Raise OSError where `writing` would: FileExistsError where something is there that shall not be replaced."""
    if open_already(path) is not None:
        return
    if not replace and os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    directory = os.path.dirname(os.path.realpath(path))
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
        os.stat(directory)
    if stat.S_ISDIR(mode) or not os.path.basename(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "It is no regular file", path)
    if not os.access(directory, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), directory)


def sync(path: str) -> None:
    """Wait until the content of a file, or the names in a directory, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def name(part: str, final: str, *, replace: bool = True) -> None:
    """Give a complete file its final name in the same directory, durably.

    Raises FileExistsError where something has that name and shall not be replaced; but where the file system has no
    hard links, what got the name at this very moment is replaced. Raises OSError where it cannot be done.
    """
    sync(part)
    _rename(part, final, replace)
    sync(os.path.dirname(final))


def _rename(part: str, final: str, replace: bool) -> None:
    if not replace:
        try:
            os.link(part, final)  # unlike rename, it replaces nothing
        except OSError as fault:
            if fault.errno not in _NO_LINKS:
                raise
            if os.path.lexists(final):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), final) from fault
        else:
            os.unlink(part)
            return
    os.rename(part, final)


def open_already(path: str) -> int | None:
    """The descriptor of this process that the path stands for, as `/dev/stdout` does; None for any other path."""
    for _ in range(_MOST_LINKS):
        directory, name = os.path.split(path)
        if name.isdecimal() and os.path.realpath(directory) == f"/proc/{os.getpid()}/fd":
            return int(name)
        try:
            path = os.path.join(directory, os.readlink(path))
        except OSError:
            return None
    return None
