"""Find messages in a file, a directory of files, a Maildir, an mbox, or a stream."""

import os
import stat
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import BinaryIO, NamedTuple

from spamnb.base.errors import MaildirError, MailError, UsageError
from spamnb.base.patterns import lazy_pattern
from spamnb.base.wording import escaped, named
from spamnb.mail.intake import Intake, take
from spamnb.maildir.folders import Folder, is_maildir
from spamnb.maildir.messages import read_chunks, scan

STANDARD_INPUT = "-"
KINDS = "a message file, a directory of them, a Maildir, an mbox file, or - for standard input"

_LINE = 1 << 16  # bytes of a line that are read at once
# QUIRK: "From " begins lines of ordinary text too. Like mutt, we require the time that every mbox writer adds.
_SEPARATOR = lazy_pattern(rb"From [^\n]{0,300}?\d:\d\d[^\n]{0,60}\n")
_BLANK = (b"\n", b"\r\n")
_LOOKED_THROUGH = 1 << 20  # bytes of a file to search at once for a second message


class Source(NamedTuple):
    """A message that can be read: its place, for a person, and its file, its bytes, or why it cannot be read.

    within: as for `read_chunks`.
    """

    where: str
    file: str = ""
    content: bytes | None = None
    fault: str = ""
    within: Folder | None = None

    @property
    def path(self) -> str:
        """Return the absolute path of the message, with a number if it is in an mbox; "" for one from a stream."""
        is_stream = self.content is not None and self.where.partition(":")[0] == STANDARD_INPUT
        return "" if is_stream else os.path.abspath(self.where)

    def read(self) -> bytes:
        """Return the message's bytes as `take` gives them. Raises MailError if they cannot be read."""
        if self.fault:
            raise MailError(self.fault)
        content = self.content
        if content is None:
            try:
                content = take(read_chunks(self.file, self.within))
            except FileNotFoundError:
                raise MailError("it is gone: it was moved or deleted in the meantime") from None
            except MaildirError as fault:
                raise MailError(str(fault)) from fault
        if not content.strip():
            raise MailError("it is empty")
        return content


def find_sources(paths: Sequence[str], stream: BinaryIO | None = None) -> Iterator[Source]:
    """Yield the messages at these paths, in order; for `-`, the messages of the stream.

    Raises MailError for a path that cannot hold mail, before it yields the first message: so a mistyped path is found
    before anything is learned.
    """
    if paths.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input can be read only once: write `-` only once")
    for path in paths:
        check(path, stream)
    return (source for path in paths for source in _at(path, stream))


def how_many(paths: Sequence[str]) -> int | None:
    """Return the number of messages at these paths; None if only reading them would tell."""
    return None if STANDARD_INPUT in paths else sum(1 for _ in find_sources(paths))


def check(path: str, stream: BinaryIO | None = None) -> None:
    """Raise MailError for a path that cannot hold mail, and for `-` without a stream."""
    if path == STANDARD_INPUT:
        if stream is None:
            raise MailError("standard input is closed: pipe a message into it, or give a path")
        return
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            os.scandir(path).close()
    except FileNotFoundError:
        raise MailError(f"there is no {escaped(path) or 'file without a name'}: give {KINDS}") from None
    except OSError as fault:
        raise MailError(f"cannot read {named(path)}: {fault.strerror}; check the path and its permissions") from fault
    if stat.S_ISDIR(mode):
        if not is_maildir(path) and next(_in_directory(path), None) is None:
            raise MailError(f"{named(path)} holds no messages: give {KINDS}")
    elif not stat.S_ISREG(mode):
        raise MailError(f"{named(path)} is a device, a pipe or a socket: give {KINDS}")


def split(file: BinaryIO) -> Iterator[bytes]:
    """Yield the messages of an mbox, or the only message of a file, each as `take` gives it."""
    message: Intake | None = None
    blank, is_mbox = True, None
    for line in iter(partial(file.readline, _LINE), b""):
        separates = blank and is_mbox is not False and _SEPARATOR.match(line) is not None
        if is_mbox is None:
            is_mbox = separates
        elif separates and message is not None:
            yield message.finish()
            message = None
        message = message or Intake()
        message.feed(line)
        blank = line in _BLANK
    if message is not None:
        yield message.finish()


def _at(path: str, stream: BinaryIO | None) -> Iterator[Source]:
    if path == STANDARD_INPUT and stream is not None:
        return _in_stream(stream)
    return _in_directory(path) if os.path.isdir(path) else in_file(path)


def _in_stream(stream: BinaryIO) -> Iterator[Source]:
    found = _numbered(STANDARD_INPUT, split(stream))
    first = next(found, None)
    if first is None:
        raise MailError("nothing came on standard input: pipe a message into it")
    yield first
    yield from found


def _in_directory(path: str) -> Iterator[Source]:
    """Yield the messages below a directory. A Maildir gives its own messages, and none of its subfolders."""
    try:
        if is_maildir(path):
            folder = Folder(path, path)
            for message in sorted(scan(folder), key=lambda entry: entry.name):
                yield Source(message.path(folder), message.path(folder), within=folder)
            return
        with os.scandir(path) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except (OSError, MaildirError) as fault:
        yield Source(path, fault=f"cannot list it: {fault.strerror if isinstance(fault, OSError) else fault}")
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _in_directory(entry.path)
        elif entry.is_file():
            yield from in_file(entry.path)


def in_file(path: str) -> Iterator[Source]:
    """Yield the message of a file, or all messages of an mbox."""
    # A person may give a link. Only in a Maildir, links are not followed.
    file = os.path.realpath(path) if os.path.islink(path) else path
    try:
        if os.path.isfile(file):  # opening a named pipe would block
            with open(file, "rb") as content:
                if _may_hold_several(content):
                    yield from _numbered(path, split(content))
                    return
    except OSError:
        pass  # reported when it is read
    yield Source(path, file)


def _may_hold_several(content: BinaryIO) -> bool:
    """Tell whether a file is an mbox that may hold several messages. The file stays at its beginning.

    Messages that programs have saved one by one begin with an mbox's line too: the workers read these.
    """
    if content.read(5) != b"From ":
        return False
    content.seek(0)
    size = os.fstat(content.fileno()).st_size
    start = content.read(min(size, _LOOKED_THROUGH))
    content.seek(0)
    return size > _LOOKED_THROUGH or b"\n\nFrom " in start or b"\n\r\nFrom " in start


def _numbered(path: str, contents: Iterator[bytes]) -> Iterator[Source]:
    """A single message is named by its path, several by path and number."""
    first = list(islice(contents, 2))
    if len(first) == 1:
        yield Source(path, content=first[0])
        return
    for number, content in enumerate(chain(first, contents), 1):
        yield Source(f"{path}:{number}", content=content)
