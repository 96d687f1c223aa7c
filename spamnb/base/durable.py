"""Write files as a whole or not at all, and check what can be written to.

A draft is written beside the file. It gets the file's name when it is complete and on the disk. Only a regular file is
replaced: as root, a rename would otherwise put a file in the place of a device.
"""

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

_MOST_LINKS = 40  # the limit of Linux
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS}  # from file systems without hard links


@contextlib.contextmanager
def writing(path: str, *, replace: bool = True) -> Iterator[BinaryIO]:
    """Open a file for bytes: `/dev/stdout` and `/dev/fd/N` by their open descriptors, any other path as a `draft`."""
    descriptor = open_already(path)
    if descriptor is not None:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            yield file
        return
    with draft(path, replace=replace) as part, open(part, "wb") as file:
        yield file


@contextlib.contextmanager
def draft(path: str, *, replace: bool = True) -> Iterator[str]:
    """Give the path of a new file for its owner only. At the end it becomes `path`, complete and on the disk.

    If the block fails, the draft is removed and `path` is unchanged. A symbolic link stays, and its target is replaced.
    Raises OSError if the file cannot be written, and as `check` does.
    """
    check(path, replace=replace)
    final = os.path.realpath(path)
    with scratch(os.path.dirname(final)) as part:
        yield part
        name(part, final, replace=replace)


@contextlib.contextmanager
def scratch(directory: str, prefix: str = ".") -> Iterator[str]:
    """Give the path of a new file for its owner only. It is removed at the end if it still has that name."""
    descriptor, path = tempfile.mkstemp(prefix=prefix, suffix=".part", dir=directory)
    os.close(descriptor)
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def check(path: str, *, replace: bool = True) -> None:
    """Raise OSError if `writing` would: FileExistsError for a file that must not be replaced."""
    if open_already(path) is not None:
        return
    if not replace and os.path.lexists(path):
        raise _error(errno.EEXIST, path)
    directory = os.path.dirname(os.path.realpath(path))
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
        os.stat(directory)
    if stat.S_ISDIR(mode) or not os.path.basename(path):
        raise _error(errno.EISDIR, path)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "Not a regular file", path)
    if not os.access(directory, os.W_OK | os.X_OK):
        is_shut = os.statvfs(directory).f_flag & os.ST_RDONLY  # for everybody: the disk, or a unit's sandbox
        raise _error(errno.EROFS if is_shut else errno.EACCES, directory)


def _error(code: int, path: str) -> OSError:
    return OSError(code, os.strerror(code), path)


def sync(path: str | int) -> None:
    """Wait until the content of a file, or the names in a directory, are on the disk.

    path: "" for the current directory, or the descriptor of an open file.
    """
    descriptor = os.open(path or ".", os.O_RDONLY | os.O_CLOEXEC) if isinstance(path, str) else path
    try:
        os.fsync(descriptor)
    except OSError as fault:
        if fault.errno != errno.EINVAL:  # some network file systems sync files only
            raise
    finally:
        if descriptor != path:
            os.close(descriptor)


def name(part: str, final: str, *, replace: bool = True) -> None:
    """Give a complete file its final name in the same directory, durably.

    Raises FileExistsError if another file has that name and must not be replaced. Without hard links in the file
    system, a file that gets the name at this very moment is replaced. Raises OSError if the renaming fails.
    """
    sync(part)
    if replace or not _linked(part, final):
        os.rename(part, final)
    sync(os.path.dirname(final))


def _linked(part: str, final: str) -> bool:
    """Give a file another name without replacing anything, unlike a rename; False without hard links."""
    try:
        os.link(part, final)
    except OSError as fault:
        if fault.errno not in _NO_LINKS:
            raise
        if os.path.lexists(final):
            raise _error(errno.EEXIST, final) from fault
        return False
    os.unlink(part)
    return True


def open_already(path: str) -> int | None:
    """Return the descriptor of this process that the path stands for, as `/dev/stdout` does; None for other paths."""
    for _ in range(_MOST_LINKS):
        directory, name = os.path.split(path)
        if name.isdecimal() and os.path.realpath(directory) == f"/proc/{os.getpid()}/fd":
            return int(name)
        try:
            path = os.path.join(directory, os.readlink(path))
        except OSError:
            return None
    return None
