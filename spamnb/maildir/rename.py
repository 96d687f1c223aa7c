"""Move one message to another folder so that no crash can lose it.

The rule behind every path below: the source name goes last, and whoever removes it owns the move. So at each
instruction the message has at least one complete, durable file; where the kernel can rename without
replacing, it has exactly one. If the source is gone when its turn comes (a client changed a flag, a person
moved it), the copy we made is taken back and `FileNotFoundError` says so: that other hand was first. But not where
the message has no other name by then: NFS may say "not there" of a name that it removed for us, having lost its
first answer, and what nobody else has must not be thrown away.

Nothing is ever replaced. Content, mtime and mode stay as they are.
"""

import contextlib
import errno
import functools
import itertools
import os
import stat
from collections.abc import Callable

from spamnb.errors import MaildirError
from spamnb.maildir.departures import touch_cur
from spamnb.maildir.folders import Folder, FolderUnavailableError

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_CHUNK = 1024 * 1024

_NO_RENAMEAT2 = {errno.ENOSYS, errno.EINVAL}  # an old kernel; a file system that knows no flags (NFS, FUSE)
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}  # FAT, some FUSE, protected_hardlinks


def move(source: str, folder: Folder, subdir: str, name: str) -> str:
    """Move the message file `source` to `folder`'s `subdir` under the file name `name`; the final path.

    Inside one file system a rename, then both directories are made durable. Across file systems a copy in
    the destination's `tmp/`, made durable with its mtime and mode, renamed into place, and only then is the
    source removed: killed before that, both files exist, and `finish` completes the move.

    Raises `FileExistsError` when the name is taken, `FileNotFoundError` when the source vanished, and
    `FolderUnavailableError` when the destination is not there. An `OSError` from making a directory durable
    can come after the file has moved: look where it is.
    """
    directory = folder.subdir(subdir)
    destination = os.path.join(directory, name)
    try:
        try:
            rename_noreplace(source, destination)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _move_across(source, folder.subdir("tmp"), destination)
        _touch_if_new(source)
        fsync_directory(directory)
    except FileNotFoundError as error:
        for needed in (directory, folder.subdir("tmp")):
            if not os.path.isdir(needed):
                raise FolderUnavailableError(f"cannot move mail there: no directory {needed!r}") from error
        raise
    # A client may remove a folder once its last message has left; then nothing there needs to be durable.
    with contextlib.suppress(FileNotFoundError):
        fsync_directory(os.path.dirname(source))
    return destination


def finish(source: str, destination: str) -> None:
    """Complete a move that was killed when both files stood: remove the source, if they hold the same bytes.

    Raises `MaildirError`, and removes nothing, when they differ or are one and the same file name.
    """
    if _is_same_name(source, destination):
        raise MaildirError(f"the source and the destination of a move are one file: {source!r}")
    if not _is_same_content(source, destination):
        raise MaildirError(f"{destination!r} is not a copy of {source!r}; look at both before removing one")
    fsync_directory(os.path.dirname(destination))
    _remove(source)
    fsync_directory(os.path.dirname(source))


def _remove(path: str) -> None:
    os.unlink(path)
    _touch_if_new(path)


def _touch_if_new(source: str) -> None:
    folder, subdir = os.path.split(os.path.dirname(source))
    if subdir == "new":  # a file that leaves `cur/` changes it by that
        touch_cur(folder)


def rename_noreplace(source: str, destination: str) -> None:
    """Rename within a file system; `FileExistsError` when the destination exists. What each way guarantees:

    - `renameat2(RENAME_NOREPLACE)`: atomic, never replaces; killed at any point, exactly one name exists.
    - `link` and `unlink`, where flags are unknown: never replaces; killed between the two, both names exist
      and are one file, which `finish` mends.
    - a look and `rename`, where links are unknown too: atomic, exactly one name, but a file that appears
      under the destination's name between the look and the rename is replaced. Base names are unique, so
      only a program that broke that rule could make one.
    """
    try:
        _rename_flagged(source, destination)
    except OSError as error:
        if error.errno not in _NO_RENAMEAT2:
            raise
        _rename_by_link(source, destination)


def _rename_by_link(source: str, destination: str) -> None:
    try:
        try:
            os.link(source, destination, follow_symlinks=False)
        except FileExistsError:  # by our own first attempt, of which NFS lost the answer?
            if not os.path.samestat(os.lstat(source), os.lstat(destination)):
                raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(destination):
            taken = os.strerror(errno.EEXIST)
            raise FileExistsError(errno.EEXIST, taken, source, None, destination) from None
        os.rename(source, destination)
    else:
        _give_up_source(source, destination, lambda: os.lstat(destination).st_nlink - 1)


def _give_up_source(source: str, destination: str, others: Callable[[], int]) -> None:
    """Remove the source; `others` says how many names the message has besides the destination."""
    try:
        os.unlink(source)
    except OSError as fault:
        if _number(others) > 0:
            with contextlib.suppress(OSError):
                _remove(destination)
        elif isinstance(fault, FileNotFoundError):
            return
        raise


def _number(others: Callable[[], int]) -> int:
    try:
        return others()
    except OSError:  # a file that is there no more, says NFS
        return 0


def _move_across(source: str, tmp: str, destination: str) -> None:
    reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(reading).st_mode):
            raise MaildirError(f"not a message: {source!r} is no regular file; take it out of the folder")
        draft, writing = _open_draft(tmp)
        try:
            try:
                copied = _copy(reading, writing)
                os.fsync(writing)
            finally:
                os.close(writing)
            fsync_directory(tmp)
            rename_noreplace(draft, destination)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft)
            raise
        fsync_directory(os.path.dirname(destination))
        status = os.fstat(reading)
        if (status.st_size, status.st_mtime_ns) != copied:
            _remove(destination)
            raise MaildirError(f"{source!r} is still being written: it stays where it is")
        _give_up_source(source, destination, lambda: os.fstat(reading).st_nlink)
    finally:
        os.close(reading)


def _open_draft(tmp: str) -> tuple[str, int]:
    """A new file in `tmp/`. One left by a killed move is passed over: mail software sweeps it after 36 h."""
    for attempt in itertools.count():
        draft = os.path.join(tmp, f"move.P{os.getpid()}Q{attempt}")
        with contextlib.suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            return draft, os.open(draft, flags, 0o600)
    raise AssertionError("counting does not end")


def _copy(reading: int, writing: int) -> tuple[int, int]:
    """Copy content, mode and times; the size and the mtime of what was copied."""
    status, size = os.fstat(reading), 0
    while chunk := os.read(reading, _CHUNK):
        write_all(writing, chunk)
        size += len(chunk)
    os.fchmod(writing, stat.S_IMODE(status.st_mode))
    os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))  # mtime is IMAP's INTERNALDATE
    return size, status.st_mtime_ns


def _is_same_name(one: str, other: str) -> bool:
    directories = os.path.dirname(one) or ".", os.path.dirname(other) or "."
    return os.path.basename(one) == os.path.basename(other) and os.path.samefile(*directories)


def _is_same_content(one: str, other: str) -> bool:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with contextlib.ExitStack() as opened:
        files = []
        for path in (one, other):
            files.append(os.open(path, flags))
            opened.callback(os.close, files[-1])
        states = [os.fstat(file) for file in files]
        if not all(stat.S_ISREG(state.st_mode) for state in states) or states[0].st_size != states[1].st_size:
            return False
        if os.path.samestat(*states):
            return True
        streams = [opened.enter_context(os.fdopen(file, "rb", closefd=False)) for file in files]
        while True:
            chunks = [stream.read(_CHUNK) for stream in streams]
            if chunks[0] != chunks[1]:
                return False
            if not chunks[0]:
                return True


def write_all(file: int, content: bytes) -> None:
    """Write all of `content`: one `os.write` may take only a part."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]


def fsync_directory(path: str) -> None:
    """Make the names in a directory durable, where the file system can do that."""
    directory = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems: fsync is for files only
            raise
    finally:
        os.close(directory)


def _rename_flagged(source: str, destination: str) -> None:
    if (failure := _renameat2()(os.fsencode(source), os.fsencode(destination))) != 0:
        raise OSError(failure, os.strerror(failure), source, None, destination)


@functools.cache
def _renameat2() -> Callable[[bytes, bytes], int]:
    """The C library's renameat2 with RENAME_NOREPLACE, as a function from two paths to an errno or 0."""
    import ctypes  # noqa: PLC0415 - 10 ms that only a program that moves mail should pay

    library = ctypes.CDLL(None, use_errno=True)
    try:
        function = library.renameat2
    except AttributeError:  # glibc before 2.28
        return lambda source, destination: errno.ENOSYS
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int

    def rename(source: bytes, destination: bytes) -> int:
        failed = function(_AT_FDCWD, source, _AT_FDCWD, destination, _RENAME_NOREPLACE)
        return ctypes.get_errno() if failed else 0

    return rename
