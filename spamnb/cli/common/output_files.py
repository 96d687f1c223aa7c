"""Files that a person names for the results of a command."""

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterator
from typing import BinaryIO

from spamnb.base import durable
from spamnb.base.errors import SpamnbError, UsageError
from spamnb.base.wording import named
from spamnb.ledger.file.parts import SERVICE_LOCK, SQLITE_PARTS, USE_LOCK

_STANDARD_OUTPUT = "/dev/stdout"
_LEDGER_FILES = ("", *SQLITE_PARTS, SERVICE_LOCK, USE_LOCK)


def output_file(typed: str) -> str:
    """Return the path that was typed; `-` is standard output. Raises UsageError if that is closed."""
    if typed == "-" and sys.stdout is None:
        raise UsageError("standard output is closed: name a file")
    return _STANDARD_OUTPUT if typed == "-" else typed


@contextlib.contextmanager
def opened(path: str, *, replace: bool = True) -> Iterator[BinaryIO]:
    """Open a file for results with `durable.writing`. Raises like `check`."""
    with plain_faults(path), durable.writing(path, replace=replace) as file:
        yield file


def check(path: str, *, replace: bool = True) -> None:
    """Raise SpamnbError if results cannot be written, so that a user learns it before the long work."""
    with plain_faults(path):
        durable.check(path, replace=replace)


@contextlib.contextmanager
def stream(path: str) -> Iterator[int | None]:
    """Yield the descriptor of an open stream or of a named pipe; None for a file."""
    descriptor = durable.open_already(path)
    if descriptor is None and os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode):
        with open(path, "wb", buffering=0) as pipe:
            yield pipe.fileno()
    else:
        yield descriptor


def refuse_ledger(ledger: str, path: str) -> None:
    """Raise UsageError if the file is the ledger or a file that belongs to it, under any name."""
    if os.path.realpath(path) in {os.path.realpath(ledger + part) for part in _LEDGER_FILES}:
        raise UsageError(f"{named(path)} is the ledger's own: name another file")


@contextlib.contextmanager
def plain_faults(path: str) -> Iterator[None]:
    """Turn a fault of a file for results into a UsageError or SpamnbError with the next step."""
    try:
        yield
    except BrokenPipeError:
        raise
    except FileExistsError as fault:
        raise UsageError(f"{named(path)} exists already: name another file, or replace it with --force") from fault
    except OSError as fault:
        shown = "standard output" if path == _STANDARD_OUTPUT else named(path)
        is_full = fault.errno in {errno.ENOSPC, errno.EDQUOT}
        step = "free some space" if is_full else "name one of your directories"
        raise SpamnbError(f"cannot write {shown}: {fault.strerror}; {step}") from fault
