"""From the paths that a person types to messages."""

import mailbox
import os
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context

from spamnb.errors import MailError
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.reading import Reading, read
from spamnb.maildir.folders import Folder, FolderUnavailableError, is_maildir
from spamnb.maildir.mailbox import read_bytes, scan

_STANDARD_INPUT = "-"
_MBOX_MARK = b"\n\nFrom "
_FEW = 64  # fewer messages than this are read sooner than processes are started
_CHUNK = 32  # messages a task


@dataclass(frozen=True, slots=True)
class Source:
    """A message that can be read: where it is, for a person, and a file or the bytes themselves."""

    where: str
    file: str
    content: bytes | None = None


def sources(paths: Iterable[str]) -> Iterator[Source]:
    """The messages at these paths, in order. Raises MailError for a path without mail."""
    for path in paths:
        if path == _STANDARD_INPUT:
            yield from _standard_input()
        elif os.path.isdir(path):
            yield from _directory(path)
        elif os.path.exists(path):
            yield from _file(path)
        else:
            raise MailError(f"there is no {path}: give {_kinds()}")


def _kinds() -> str:
    return "a message file, a directory of them, a Maildir, an mbox file, or - for standard input"


def _standard_input() -> Iterator[Source]:
    content = sys.stdin.buffer.read()
    if not content.strip():
        raise MailError("nothing came on standard input: pipe a message into it")
    messages = content.split(_MBOX_MARK) if content.startswith(b"From ") else [content]
    for message in messages:  # a mail program pipes several messages as an mbox
        yield Source(_STANDARD_INPUT, "", message.partition(b"\n")[2] if len(messages) > 1 else message)


def _directory(path: str) -> Iterator[Source]:
    if is_maildir(path):
        folder = Folder(path, path)
        try:
            entries = sorted(scan(folder), key=lambda entry: entry.name)
        except FolderUnavailableError as fault:
            raise MailError(str(fault)) from fault
        yield from (Source(entry.path(folder), entry.path(folder)) for entry in entries)
        return
    found = False
    for directory, below, names in os.walk(path, onerror=_unreadable):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            file = os.path.join(directory, name)
            if not name.startswith(".") and os.path.isfile(file):
                found = True
                yield Source(file, file)
    if not found:
        raise MailError(f"{path} holds no messages: give {_kinds()}")


def _unreadable(fault: OSError) -> None:
    raise MailError(f"cannot list {fault.filename}: {fault.strerror}") from fault


def _file(path: str) -> Iterator[Source]:
    file = os.path.realpath(path)
    try:
        with open(file, "rb") as reading:
            several = reading.read(5) == b"From " and _MBOX_MARK in reading.read()
    except OSError as fault:
        raise MailError(f"cannot read {path}: {fault.strerror}") from fault
    if not several:
        yield Source(path, file)
        return
    box = mailbox.mbox(file, create=False)
    try:
        for number, key in enumerate(box.iterkeys(), 1):
            yield Source(f"{path}:{number}", "", box.get_bytes(key))
    finally:
        box.close()


def read_source(source: Source) -> Reading:
    """Read one message. Raises MailError where its file cannot be read."""
    if source.content is not None:
        return read(source.content)
    try:
        return read(read_bytes(source.file, DEFAULT_LIMITS.message_bytes + 1)[0])
    except FileNotFoundError as fault:
        raise MailError(f"{source.where} is gone") from fault


def readings(found: Iterable[Source]) -> Iterator[tuple[Source, Reading | MailError]]:
    """Read messages, many of them on all cores; in order. A message that cannot be read yields its error."""
    waiting = iter(found)
    first = list(islice(waiting, _FEW))
    if len(first) < _FEW or (os.cpu_count() or 1) == 1:
        yield from map(_try, first)
        yield from map(_try, waiting)
        return
    # fork: the workers need the reader only, which is loaded already; nothing else runs in this process
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        chunks = _chunks(first, waiting)
        running = [pool.submit(_try_all, chunk) for chunk in islice(chunks, 8)]
        while running:
            yield from running.pop(0).result()
            running += [pool.submit(_try_all, chunk) for chunk in islice(chunks, 1)]


def _chunks(first: list[Source], rest: Iterator[Source]) -> Iterator[list[Source]]:
    for start in range(0, len(first), _CHUNK):
        yield first[start : start + _CHUNK]
    while chunk := list(islice(rest, _CHUNK)):
        yield chunk


def _try(source: Source) -> tuple[Source, Reading | MailError]:
    try:
        return source, read_source(source)
    except MailError as fault:
        return source, fault
    except Exception as fault:  # MaildirError: not a regular file, no permission
        return source, MailError(str(fault))


def _try_all(chunk: list[Source]) -> list[tuple[Source, Reading | MailError]]:
    return [_try(source) for source in chunk]
