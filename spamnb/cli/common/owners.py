"""The owners of a path: of each directory and link on the way, and of the file at its end.

`stat` looks only at the file at the end, and the next look-up of the same path may end at another file. Here each step
is opened once, relative to the directory before it, and its owner is read from the open descriptor. This holds for each
directory, each followed link, and the end. If all of these belong to root and to one other user, nobody else has
chosen the end of the path.
"""

import os
import shlex
import stat
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from spamnb.base.errors import SpamnbError
from spamnb.base.wording import named

_MOST_LINKS = 40  # the limit of Linux
_ENTRY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_ROOT = "/"


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a path leads. uids: the owners of each directory and link on the way, and of the end.

    path: the part that exists, without links. is_whole: whether all of it exists.
    """

    path: str
    status: os.stat_result
    is_whole: bool
    uids: frozenset[int]


def reach(path: Path) -> Reached:
    """Follow an absolute path as far as it exists. Raises SpamnbError if everybody could redirect it."""
    coming, uids, links = list(reversed(path.parts[1:])), set[int](), 0
    with ExitStack() as opened:
        here, last, status = _ROOT, *_opened(opened, _ROOT, None)
        while True:
            uids.add(status.st_uid)
            if not coming:
                return Reached(here, status, True, frozenset(uids))
            _check_shared(here, status)
            shown = os.path.normpath(os.path.join(here, coming[-1]))
            try:
                found, what = _opened(opened, coming[-1], last)
            except (FileNotFoundError, NotADirectoryError, PermissionError):  # on a network disk root may be nobody
                return Reached(here, status, False, frozenset(uids))
            except OSError as fault:
                raise SpamnbError(f"cannot look at {named(shown)}: {fault.strerror}; check the path") from fault
            coming.pop()
            if not stat.S_ISLNK(what.st_mode):
                here, last, status = shown, found, what
                continue
            uids.add(what.st_uid)
            links += 1
            if links > _MOST_LINKS:
                return Reached(here, status, False, frozenset(uids))
            target = PurePosixPath(os.readlink("", dir_fd=found))
            coming.extend(reversed(target.parts[target.is_absolute() :]))
            if target.is_absolute():
                here, last, status = _ROOT, *_opened(opened, _ROOT, None)


def _check_shared(path: str, status: os.stat_result) -> None:
    """Refuse a directory in which everybody may replace other users' files."""
    is_shared = status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX
    if stat.S_ISDIR(status.st_mode) and is_shared:
        raise SpamnbError(
            f"everybody may write in {named(path)}, so root does not use it: chmod o-w {shlex.quote(path)}"
        )


def _opened(opened: ExitStack, name: str, directory: int | None) -> tuple[int, os.stat_result]:
    descriptor = os.open(name, _ENTRY, dir_fd=directory)
    opened.callback(os.close, descriptor)
    return descriptor, os.fstat(descriptor)
