"""The messages of one folder: list them, find one again, read one, deliver one; and the folder's keywords."""

import contextlib
import os
import stat
import string
from collections.abc import Iterator
from enum import Enum
from typing import BinaryIO, NamedTuple

from spamnb.base import durable
from spamnb.base.errors import MaildirError, next_step
from spamnb.maildir.folders import Folder, FolderUnavailableError, give_as_root
from spamnb.maildir.names import parse_name
from spamnb.maildir.rename import open_message, rename_noreplace

KEYWORDS_FILE = "dovecot-keywords"
KEYWORDS_LIMIT = 64 * 1024
"""Bytes read of `dovecot-keywords`: 26 letters have meaning, and keywords are short."""

LINKED_SECONDS = 2.0  # the time for which a file with a second name is left to another program

_CHUNK = 256 << 10  # bytes
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_BYTES = 64 << 20  # no mail server accepts more by default; identifying 1 MB takes 10 ms

# A message goes from new to cur, never back. In this order, a message that moves in the meantime is at worst seen
# twice. In the other order it could be missed.
_READING_ORDER = ("new", "cur")


class Entry(NamedTuple):
    """A message file: its directory, `new` or `cur`, and its file name there."""

    subdir: str
    name: str

    def path(self, folder: Folder) -> str:
        """Return the path of the message in `folder`."""
        return os.path.join(folder.path, self.subdir, self.name)


def entries(folder: Folder) -> Iterator[Entry]:
    """Yield the messages of a folder, in no order: regular files in `new/` and `cur/` without a leading dot.

    A file that is renamed during the listing may be missing here or appear under both names. So absence is a hint, and
    `locate` is the proof. Raises `FolderUnavailableError` if either directory cannot be listed to its end.
    """
    return (Entry(subdir, name) for subdir in _READING_ORDER for name in _messages(folder, subdir))


def scan(folder: Folder) -> list[Entry]:
    """Return all that `entries` yields."""
    return list(entries(folder))


def locate(folder: Folder, base: str, flags: str = "") -> Entry | None:
    """Return the message with this base name, whatever its flags are now; None if it is not in the folder.

    A UID field in either name does not count (`Name.key`). `flags` are its last known flags: a file with these is found
    without a listing. It looks twice: POSIX does not say whether readdir shows a file that is renamed in the meantime.
    Raises `FolderUnavailableError` like `scan`.
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
        with folder.opened(subdir) as directory, os.scandir(directory) as entries:
            for entry in entries:
                if not entry.name.startswith(".") and entry.is_file(follow_symlinks=False):
                    yield entry.name
    except OSError as error:
        step = next_step(error, "its messages are unknown until it is back")
        raise FolderUnavailableError(f"cannot list {path!r}: {error.strerror}; {step}") from error


class Links(NamedTuple):
    """How many names a file has, and since when: the time when it last got or lost one. Both are 0 if it is gone.

    That time is in seconds since the epoch; the content is older. A change of the file's mode sets it too. If a file
    has two names, each existed before that time.
    """

    number: int
    since: float

    @property
    def left_until(self) -> float:
        """Until when the file is left to another program, in seconds since the epoch; 0 if it has one name.

        An IMAP server moves a message by a second name (a hard link), then removes the name that it knows. If that name
        were gone by then, the message would be in two folders. A second name that stays makes no difference.
        """
        return self.since + LINKED_SECONDS if self.number > 1 else 0.0


def links_of(path: str) -> Links:
    """Return how many names a file has, and since when."""
    try:
        status = os.lstat(path)
    except OSError:
        return Links(0, 0.0)
    return Links(status.st_nlink, status.st_ctime)


def read_bytes(path: str, limit: int, within: Folder | None = None) -> tuple[bytes, int]:
    """Return the first `limit` bytes of a file, and its size in bytes. Raises what `read_chunks` raises."""
    with _readable(path, within) as file:
        return file.read(limit), os.fstat(file.fileno()).st_size


def read_chunks(path: str, within: Folder | None = None) -> Iterator[bytes]:
    """Yield all of a file's bytes, 256 KB at a time. within: as for `open_message`.

    Raises `FileNotFoundError` for a file that vanished, which is normal. Raises `MaildirError` for a file that cannot
    be read, is longer than 64 MB, or is not a regular file: links are not followed, and FIFOs and devices are not read.
    """
    size = 0
    with _readable(path, within) as file:
        _check_size(os.fstat(file.fileno()).st_size, path)
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            _check_size(size, path)  # the file may grow during reading
            yield chunk


class Unread(Enum):
    """The reason why a message file is not read, if its status tells it."""

    FORBIDDEN = "may not be read"
    EMPTY = "of no bytes"
    LONG = f"longer than {_MOST_BYTES >> 20} MB"


def why_unread(path: str) -> Unread | None:
    """Return why a message file will not be read; None if nothing prevents it, or it has just been moved."""
    try:
        size = os.lstat(path).st_size
    except OSError:
        return None
    if not os.access(path, os.R_OK):
        return Unread.FORBIDDEN
    return Unread.LONG if size > _MOST_BYTES else None if size else Unread.EMPTY


def _check_size(size: int, path: str) -> None:
    if size > _MOST_BYTES:
        raise MaildirError(f"{path!r} is not read as a message: it is longer than {_MOST_BYTES >> 20} MB")


@contextlib.contextmanager
def _readable(path: str, within: Folder | None = None) -> Iterator[BinaryIO]:
    try:
        with open_message(path, within) as file:
            yield file
    except FileNotFoundError:
        raise
    except OSError as error:
        raise MaildirError(f"cannot read {path!r}: {error.strerror}") from error


def read_keywords(folder: Folder) -> dict[str, str]:
    """Return the folder's keywords by their letter a-z, from Dovecot's file; empty without a readable file.

    A line is `0 $Junk`: number 0 is the letter a. Lines of any other form, and numbers without a letter, are ignored.
    """
    try:
        content, _ = read_bytes(folder.subdir(KEYWORDS_FILE), KEYWORDS_LIMIT, folder)
    except (FileNotFoundError, MaildirError):
        return {}
    keywords: dict[str, str] = {}
    for line in content.decode("utf-8", "replace").splitlines():
        number, _, keyword = line.partition(" ")
        if keyword and number.isascii() and number.isdigit() and len(number) <= 2:
            for letter in string.ascii_lowercase[int(number) : int(number) + 1]:
                keywords.setdefault(letter, keyword)
    return keywords


def deliver(folder: Folder, content: bytes, base: str) -> str:
    """Put a new message into `new/` as a delivery agent does, through `tmp/`. Returns its path.

    Raises `FileExistsError` if the base name is taken.
    """
    final = os.path.join(folder.subdir("new"), base)
    with durable.scratch(folder.subdir("tmp"), "deliver.") as draft:
        with open(draft, "wb") as file:
            file.write(content)
        durable.sync(draft)
        rename_noreplace(draft, final)
    durable.sync(folder.subdir("new"))
    return final


def write_draft(folder: Folder, content: bytes, base: str) -> None:
    """Write a message into `tmp/`, durably, under the name that it will have in `new/`; replace an earlier draft.

    As root, it gets the owner of the directory. Raises OSError if it cannot be written; then there is no draft.
    """
    with folder.opened("tmp") as tmp:
        drop_draft(folder, base)
        descriptor = os.open(base, _NEW_FILE, 0o600, dir_fd=tmp)
        try:
            with open(descriptor, "wb") as file:
                give_as_root(descriptor, os.fstat(tmp))
                file.write(content)
                file.flush()
                durable.sync(descriptor)
            durable.sync(tmp)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(base, dir_fd=tmp)
            raise


def has_draft(folder: Folder, base: str) -> bool:
    """Tell whether there is a draft that is not in `new/` too. Raises OSError if `tmp/` cannot be looked at.

    In file systems without renaming by flags, a kill may leave both names of the file: then the draft goes.
    """
    with folder.opened("tmp") as tmp:
        try:
            if os.stat(base, dir_fd=tmp, follow_symlinks=False).st_nlink == 1:
                return True
        except FileNotFoundError:
            return False
    drop_draft(folder, base)
    return False


def drop_draft(folder: Folder, base: str) -> None:
    """Remove a draft, if there is one."""
    with folder.opened("tmp") as tmp, contextlib.suppress(FileNotFoundError):
        os.unlink(base, dir_fd=tmp)


def deliver_draft(folder: Folder, base: str) -> None:
    """Put a draft into `new/`, durably. Raises OSError: FileNotFoundError if there is none."""
    with folder.opened("tmp") as tmp, folder.opened("new") as new:
        rename_noreplace(base, base, src_dir_fd=tmp, dst_dir_fd=new)
        durable.sync(new)
        durable.sync(tmp)
