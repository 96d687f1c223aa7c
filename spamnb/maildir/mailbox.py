"""The messages of one folder: list them, find one again, read one, deliver one."""

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from spamnb.errors import MaildirError
from spamnb.maildir.folders import Folder, FolderUnavailableError
from spamnb.maildir.names import parse_name
from spamnb.maildir.rename import fsync_directory, rename_noreplace, write_all

_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a FIFO that someone put here would otherwise wait for its writer.
_OPEN_MESSAGE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_CHUNK = 256 << 10  # bytes

# A message goes from new to cur, never back: in this order one that is moved meanwhile is seen twice at
# worst; in the other it could be missed.
_READING_ORDER = ("new", "cur")


@dataclass(frozen=True, slots=True)
class Entry:
    """A message file: `new` or `cur`, and its file name there."""

    subdir: str
    name: str

    def path(self, folder: Folder) -> str:
        """Where it lies in `folder`."""
        return os.path.join(folder.path, self.subdir, self.name)


def scan(folder: Folder) -> list[Entry]:
    """The messages of a folder, in no order: regular files in `new/` and `cur/` without a leading dot.

    A file that is renamed while we look may be missing here or appear under both names, so absence is a hint
    and `locate` the proof. Raises `FolderUnavailableError` if either directory cannot be listed to its end.
    """
    return [Entry(subdir, name) for subdir in _READING_ORDER for name in _messages(folder, subdir)]


def locate(folder: Folder, base: str, flags: str = "") -> Entry | None:
    """The message with this base name, whatever its flags are now; None if it is not in the folder.

    A UID field in either name does not count (`Name.key`). `flags` are those it had when it was last seen: under
    that name it is found without a listing. Looks twice: POSIX leaves it open whether readdir shows a file that is
    renamed meanwhile. Raises `FolderUnavailableError` like `scan`.
    """
    for entry in (Entry("new", base), Entry("cur", f"{base}:2,{flags}")):
        if _is_message(entry.path(folder)):
            return entry
    wanted = parse_name(base).key
    stem = wanted.partition(",")[0]
    for subdir in _READING_ORDER * 2:
        for name in _messages(folder, subdir):
            if name.startswith(stem) and parse_name(name).key == wanted:
                return Entry(subdir, name)
    return None


def _is_message(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _messages(folder: Folder, subdir: str) -> Iterator[str]:
    path = folder.subdir(subdir)
    try:
        directory = os.open(path, _OPEN_DIRECTORY)
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if not entry.name.startswith(".") and entry.is_file(follow_symlinks=False):
                        yield entry.name
        finally:
            os.close(directory)
    except OSError as error:
        raise FolderUnavailableError(
            f"cannot list {path!r}: {error.strerror}; its messages are unknown until it is back"
        ) from error


def read_bytes(path: str, limit: int) -> tuple[bytes, int]:
    """The first `limit` bytes of a file, and its size in bytes. Raises what `read_chunks` raises."""
    with _opened(path) as (file, size):
        return _read_up_to(file, limit), size


def read_chunks(path: str) -> Iterator[bytes]:
    """All of a file's bytes, 256 KB at a time.

    Raises `FileNotFoundError` for a file that vanished, which is normal, and `MaildirError` for one that
    cannot be read or that is not a regular file: links are not followed, FIFOs and devices not read.
    """
    with _opened(path) as (file, _):
        while chunk := os.read(file, _CHUNK):
            yield chunk


@contextlib.contextmanager
def _opened(path: str) -> Iterator[tuple[int, int]]:
    """A message file's descriptor, and its size in bytes."""
    try:
        file = os.open(path, _OPEN_MESSAGE)
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise MaildirError(f"not a message: {path!r} is no regular file; take it out of the folder")
            yield file, status.st_size
        finally:
            os.close(file)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise MaildirError(f"cannot read {path!r}: {error.strerror}") from error


def _read_up_to(file: int, limit: int) -> bytes:
    chunks = []
    while limit > 0 and (chunk := os.read(file, limit)):
        chunks.append(chunk)
        limit -= len(chunk)
    return b"".join(chunks)


def deliver(folder: Folder, content: bytes, base: str) -> str:
    """Put a new message into `new/` as a delivery agent does, by way of `tmp/`; its path.

    Raises `FileExistsError` when the base name is taken.
    """
    draft = os.path.join(folder.subdir("tmp"), base)
    final = os.path.join(folder.subdir("new"), base)
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            write_all(file, content)
            os.fsync(file)
        finally:
            os.close(file)
        rename_noreplace(draft, final)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
    fsync_directory(folder.subdir("new"))
    return final
