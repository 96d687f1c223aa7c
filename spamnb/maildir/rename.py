"""Move one message to another folder so that no crash can lose it.

The rule behind every path below: the source name is removed last, and the process that removes it owns the move. So at
each instruction the message has at least one complete, durable file. If the kernel can rename without replacing, it has
exactly one. If the source is already gone at that point, a client has changed a flag or moved the message. Then our
copy is removed again, and `FileNotFoundError` is raised. But the copy stays if the message has no other name: NFS may
answer "not there" for a name that it removed for us, if its first answer was lost.

Nothing is ever replaced. Content, owner, mtime and mode stay unchanged. Source and destination are opened without
following a link, and everything there is done by their descriptors: a link that somebody puts in their place gets no
mail, and gives none.
"""

import contextlib
import errno
import functools
import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from typing import BinaryIO

from spamnb.base.durable import sync
from spamnb.base.errors import MaildirError
from spamnb.maildir.departures import touch
from spamnb.maildir.folders import Folder, FolderUnavailableError, give_as_root, link_in_the_way
from spamnb.maildir.names import parse_name

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_CHUNK = 1024 * 1024
# O_NONBLOCK: otherwise, opening a FIFO in this place would wait for its writer.
_OPEN_MESSAGE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_NO_DIRECTORY = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
_NO_RENAMEAT2 = {errno.ENOSYS, errno.EINVAL}  # an old kernel; a file system that knows no flags (NFS, FUSE)
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}  # FAT, some FUSE, protected_hardlinks


def move(source: str, folder: Folder, subdir: str, name: str, *, within: Folder | None = None) -> str:
    """Move the message file `source` to `folder`'s `subdir` under the file name `name`. Returns the final path.

    within: the folder whose `new` or `cur` holds the source; no link on the way there is followed.

    Inside one file system, the file is renamed, and then both directories are made durable. Across file systems, the
    file is copied into the destination's `tmp/`, made durable with its mtime and mode, and renamed into place. Only
    then the source is removed. If the process is killed before that, both files exist, and `finish` completes the move.

    Raises `FileExistsError` if the name is taken, `FileNotFoundError` if the source vanished, and
    `FolderUnavailableError` if the destination is missing or a symbolic link. An `OSError` from making a directory
    durable can come after the file has moved: look where it is.
    """
    destination = os.path.join(folder.subdir(subdir), name)
    with _opened(folder, subdir) as directory, _above(source, within) as here:
        try:
            rename_noreplace(source, destination, src_dir_fd=here, dst_dir_fd=directory)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            with _opened(folder, "tmp") as tmp:
                _move_across(source, here, tmp, destination, directory)
        _touch_if_new(source, here)
        sync(directory)
        # A client may remove a folder once its last message has left; then nothing there needs to be durable.
        with contextlib.suppress(FileNotFoundError):
            sync(os.path.dirname(source) if here is None else here)
    return destination


@contextlib.contextmanager
def _opened(folder: Folder, subdir: str) -> Iterator[int]:
    """Open a directory of the destination. Raises FolderUnavailableError if it is missing or behind a link."""
    with contextlib.ExitStack() as stack:
        try:
            directory = stack.enter_context(folder.opened(subdir))
        except OSError as error:
            if error.errno not in _NO_DIRECTORY:
                raise
            path = error.filename
            what = link_in_the_way(path) if os.path.islink(path) else f"there is no directory {path!r}"
            raise FolderUnavailableError(f"cannot move mail there: {what}") from error
        yield directory


@contextlib.contextmanager
def _above(path: str, within: Folder | None) -> Iterator[int | None]:
    """Open the directory of a message, if its folder is known. Raises OSError as `Folder.opened` does."""
    if within is None:
        yield None
        return
    is_keywords = os.path.dirname(path) == within.path
    with within.opened("" if is_keywords else _subdir(path)) as directory:
        yield directory


def finish(source: str, destination: str, of: Folder, to: Folder) -> None:
    """Complete a move that was killed when both files existed: remove the source, if they hold the same bytes.

    of, to: the folders whose `new` or `cur` hold the source and the destination.

    Raises `MaildirError`, and removes nothing, if they differ or are one and the same file name.
    """
    with of.opened(_subdir(source)) as here, to.opened(_subdir(destination)) as there:
        is_one_name = os.path.basename(source) == os.path.basename(destination)
        if is_one_name and os.path.sameopenfile(here, there):
            raise MaildirError(f"the source and the destination of a move are one file: {source!r}")
        with _open_message(source, here) as one, _open_message(destination, there) as other:
            if not _is_same_content(one, other):
                raise MaildirError(f"{destination!r} is not a copy of {source!r}; look at both before removing one")
        sync(there)
        _remove(source, here)
        sync(here)


def remove_drafts(folder: Folder, base: str) -> None:
    """Remove what killed moves have left in the folder's `tmp/`; only for a base name that no move is using now.

    Some mail software removes files from there after 36 hours, but not all does, and not if nobody opens the folder.
    """
    ours = _draft_prefix(base)
    with contextlib.suppress(OSError), folder.opened("tmp") as tmp:
        for name in os.listdir(tmp):
            if name.startswith(ours):
                os.unlink(name, dir_fd=tmp)


def _draft_prefix(base: str) -> str:
    """Return the beginning of the drafts' names for a base name, which may be as long as a name can be."""
    return f"move.{hashlib.blake2b(os.fsencode(base), digest_size=8).hexdigest()}."


def _remove(path: str, directory: int | None) -> None:
    os.unlink(_within(path, directory), dir_fd=directory)
    _touch_if_new(path, directory)


def _within(path: str, directory: int | None) -> str:
    """Return a file's name for a call that gets its open directory, or None."""
    return path if directory is None else os.path.basename(path)


def _status(path: str, directory: int | None) -> os.stat_result:
    return os.stat(_within(path, directory), dir_fd=directory, follow_symlinks=False)


def _subdir(path: str) -> str:
    """Return the `new` or `cur` that a message is in."""
    return os.path.basename(os.path.dirname(path))


def _touch_if_new(source: str, directory: int | None) -> None:
    """Change the mtime of `cur/` if a message has left `new/`: one that leaves `cur/` changes it anyway."""
    if _subdir(source) == "new":
        beside = os.path.dirname(source) if directory is None else "."
        with contextlib.suppress(OSError):
            touch(os.path.join(beside, os.pardir, "cur"), directory)


def rename_noreplace(
    source: str, destination: str, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
) -> None:
    """Rename within a file system; `FileExistsError` if the destination exists.

    src_dir_fd, dst_dir_fd: the open directory of a path; then only the name of the path counts. Each way guarantees:

    - `renameat2(RENAME_NOREPLACE)`: atomic, never replaces; if killed at any point, exactly one name exists.
    - `link` and `unlink`, if flags are unknown: never replaces. If killed between the two, both names exist and are one
      file. `finish` removes one of them.
    - a look and `rename`, if links are unknown too: atomic, exactly one name, but it replaces a file that appears under
      the destination's name between the look and the rename. Base names are unique, so only a program that broke that
      rule could make one.
    """
    try:
        _rename_flagged(source, destination, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
    except OSError as error:
        if error.errno not in _NO_RENAMEAT2:
            raise
        _rename_by_link(source, destination, src_dir_fd, dst_dir_fd)


def _rename_by_link(source: str, destination: str, src_dir_fd: int | None, dst_dir_fd: int | None) -> None:
    names = _within(source, src_dir_fd), _within(destination, dst_dir_fd)
    try:
        try:
            os.link(*names, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, follow_symlinks=False)
        except FileExistsError:  # by our own first attempt, if NFS lost the answer?
            if not os.path.samestat(_status(source, src_dir_fd), _status(destination, dst_dir_fd)):
                raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        with contextlib.suppress(FileNotFoundError):
            _status(destination, dst_dir_fd)
            taken = os.strerror(errno.EEXIST)
            raise FileExistsError(errno.EEXIST, taken, source, None, destination) from None
        os.rename(*names, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
    else:
        take_back = functools.partial(_remove, destination, dst_dir_fd)
        _give_up_source(source, src_dir_fd, take_back, lambda: _status(destination, dst_dir_fd).st_nlink - 1)


def _give_up_source(
    source: str, directory: int | None, take_back: Callable[[], None], others: Callable[[], int]
) -> None:
    """Remove the source. take_back removes the destination; others counts the message's names besides the source."""
    try:
        os.unlink(_within(source, directory), dir_fd=directory)
    except OSError as fault:
        number = 0
        with contextlib.suppress(OSError):  # NFS raises this for a file that is gone
            number = others()
        if number > 0:
            with contextlib.suppress(OSError):
                take_back()
        elif isinstance(fault, FileNotFoundError):
            return
        raise


def _move_across(source: str, here: int | None, tmp: int, destination: str, directory: int) -> None:
    """Move a file to another file system. here, tmp, directory: open directories of the source and the destination."""
    with _open_message(source, here) as file:
        draft = f"{_draft_prefix(parse_name(os.path.basename(destination)).key)}{secrets.token_hex(8)}.part"
        try:  # if killed here, it leaves a draft for `remove_drafts`
            copied = _copy(file, draft, tmp)
            sync(tmp)
            rename_noreplace(draft, destination, src_dir_fd=tmp, dst_dir_fd=directory)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(draft, dir_fd=tmp)
        sync(directory)
        status = os.fstat(file.fileno())
        if (status.st_size, status.st_mtime_ns) != copied:
            _remove(destination, directory)
            raise MaildirError(f"{source!r} is still being written: it stays where it is")
        take_back = functools.partial(_remove, destination, directory)
        _give_up_source(source, here, take_back, lambda: os.fstat(file.fileno()).st_nlink)


@contextlib.contextmanager
def open_message(path: str, within: Folder | None = None) -> Iterator[BinaryIO]:
    """Open a message file to read. Raises OSError, or MaildirError if it is not a regular file; follows no link.

    within: the folder whose `new` or `cur` holds it; then no link on the way there is followed either.
    """
    with _above(path, within) as directory, _open_message(path, directory) as file:
        yield file


@contextlib.contextmanager
def _open_message(path: str, directory: int | None) -> Iterator[BinaryIO]:
    name = _within(path, directory)
    with open(name, "rb", opener=lambda name, _: os.open(name, _OPEN_MESSAGE, dir_fd=directory)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise MaildirError(f"not a message: {path!r} is not a regular file; take it out of the folder")
        yield file


def _copy(file: BinaryIO, draft: str, directory: int) -> tuple[int, int]:
    """Copy content, owner, mode and times, durably, to a new file. Returns the size and mtime of the copied content."""
    status, size = os.fstat(file.fileno()), 0
    writing = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=directory)
    try:
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            rest = memoryview(chunk)
            while rest:
                rest = rest[os.write(writing, rest) :]
        give_as_root(writing, status)
        os.fchmod(writing, stat.S_IMODE(status.st_mode))
        os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))  # mtime is IMAP's INTERNALDATE
        os.fsync(writing)
    finally:
        os.close(writing)
    return size, status.st_mtime_ns


def _is_same_content(one: BinaryIO, other: BinaryIO) -> bool:
    if os.path.sameopenfile(one.fileno(), other.fileno()):
        return True
    while (chunk := one.read(_CHUNK)) == other.read(_CHUNK):
        if not chunk:
            return True
    return False


def _rename_flagged(source: str, destination: str, *, src_dir_fd: int | None, dst_dir_fd: int | None) -> None:
    names = os.fsencode(_within(source, src_dir_fd)), os.fsencode(_within(destination, dst_dir_fd))
    if (failure := _renameat2()(*names, src_dir_fd, dst_dir_fd)) != 0:
        raise OSError(failure, os.strerror(failure), source, None, destination)


@functools.cache
def _renameat2() -> Callable[[bytes, bytes, int | None, int | None], int]:
    """Return the C library's renameat2 with RENAME_NOREPLACE: from two paths and their directories to an errno or 0."""
    import ctypes  # noqa: PLC0415 - 10 ms that only a program that moves mail should pay

    library = ctypes.CDLL(None, use_errno=True)
    try:
        function = library.renameat2
    except AttributeError:  # glibc before 2.28
        return lambda *_: errno.ENOSYS
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int

    def rename(source: bytes, destination: bytes, src_dir_fd: int | None, dst_dir_fd: int | None) -> int:
        above = (_AT_FDCWD if descriptor is None else descriptor for descriptor in (src_dir_fd, dst_dir_fd))
        failed = function(next(above), source, next(above), destination, _RENAME_NOREPLACE)
        return ctypes.get_errno() if failed else 0

    return rename
