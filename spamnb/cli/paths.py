"""From the paths that a person types to messages."""

import os
import stat
import sys
from collections.abc import Iterator, Sequence

from spamnb.cli.mbox import split
from spamnb.cli.output import is_terminal, printable
from spamnb.cli.sources import Source
from spamnb.errors import MaildirError, MailError, UsageError
from spamnb.maildir.folders import Folder, is_maildir
from spamnb.maildir.mailbox import scan

STANDARD_INPUT = "-"
KINDS = "a message file, a directory of them, a Maildir, an mbox file, or - for standard input"


def sources(paths: Sequence[str]) -> Iterator[Source]:
    """The messages at these paths, in order.

    Raises MailError for a path that cannot hold mail, before the first message is given: a mistyped path is
    found before anything is learned.
    """
    if paths.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input can be read once only: give - once")
    for path in paths:
        check(path)
    return (source for path in paths for source in _at(path))


def how_many(paths: Sequence[str]) -> int | None:
    """How many messages lie at these paths; None where only reading them would tell."""
    return None if STANDARD_INPUT in paths else sum(1 for _ in sources(paths))


def or_standard_input(paths: Sequence[str], command: str) -> Sequence[str]:
    """The paths, or where none was given standard input, unless that is a terminal: then a UsageError."""
    if paths:
        return paths
    if sys.stdin is None or is_terminal(sys.stdin):
        raise UsageError(f"{command} what? Give {KINDS}; or pipe a message into spamnb {command}")
    return [STANDARD_INPUT]


def check(path: str) -> None:
    """Raise MailError for a path that cannot hold mail."""
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise MailError("standard input is closed: pipe a message into it, or give a path")
        return
    shown = printable(path)
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            os.scandir(path).close()
    except FileNotFoundError:
        raise MailError(f"there is no {shown or 'file without a name'}: give {KINDS}") from None
    except OSError as fault:
        raise MailError(f"cannot read {shown}: {fault.strerror}; check the path and its permissions") from fault
    if stat.S_ISDIR(mode):
        if not is_maildir(path) and next(_directory(path), None) is None:
            raise MailError(f"{shown} holds no messages: give {KINDS}")
    elif not stat.S_ISREG(mode):
        raise MailError(f"{shown} is a device, a pipe or a socket: give {KINDS}")


def _at(path: str) -> Iterator[Source]:
    if path == STANDARD_INPUT:
        return _standard_input()
    return _directory(path) if os.path.isdir(path) else _file(path)


def _standard_input() -> Iterator[Source]:
    found = _numbered(STANDARD_INPUT, split(sys.stdin.buffer))
    first = next(found, None)
    if first is None:
        raise MailError("nothing came on standard input: pipe a message into it")
    yield first
    yield from found


def _directory(path: str) -> Iterator[Source]:
    """The messages below a directory. A Maildir gives its own messages, without those of its sub-folders."""
    try:
        if is_maildir(path):
            folder = Folder(path, path)
            for message in sorted(scan(folder), key=lambda entry: entry.name):
                yield Source(message.path(folder), message.path(folder))
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
            yield from _directory(entry.path)
        elif entry.is_file():
            yield from _file(entry.path)


def _file(path: str) -> Iterator[Source]:
    # a person may well give a link; only in a Maildir none is followed
    file = os.path.realpath(path) if os.path.islink(path) else path
    try:
        with open(file, "rb") as content:
            if content.read(5) == b"From ":
                content.seek(0)
                yield from _numbered(path, split(content))
                return
    except OSError:
        pass  # said when it is read
    yield Source(path, file)


def _numbered(path: str, contents: Iterator[bytes]) -> Iterator[Source]:
    """A single message goes by its path, several by path and number."""
    first, second = next(contents, None), next(contents, None)
    if first is None:
        return
    if second is None:
        yield Source(path, content=first)
        return
    yield Source(f"{path}:1", content=first)
    yield Source(f"{path}:2", content=second)
    yield from (Source(f"{path}:{number}", content=content) for number, content in enumerate(contents, 3))
