"""Files that a person names for results."""

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
    """The argument type of such a file; `-` is standard output. Raises UsageError where that is closed."""
    if typed == "-" and sys.stdout is None:
        raise UsageError("standard output is closed: name a file")
    return _STANDARD_OUTPUT if typed == "-" else typed


@contextlib.contextmanager
def opened(path: str, *, replace: bool = True) -> Iterator[BinaryIO]:
    """The file to write results to, as `durable.writing` has it. Raises as `check` does."""
    with plain_faults(path), durable.writing(path, replace=replace) as file:
        yield file


def check(path: str, *, replace: bool = True) -> None:
    """Raise SpamnbError where results cannot be written: better before long work than after it."""
    with plain_faults(path):
        durable.check(path, replace=replace)


@contextlib.contextmanager
def stream(path: str) -> Iterator[int | None]:
    """The descriptor of what is open already, or of a pipe with a name; None for a file."""
    descriptor = durable.open_already(path)
    if descriptor is None and os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode):
        with open(path, "wb", buffering=0) as pipe:
            yield pipe.fileno()
    else:
        yield descriptor


def refuse_ledger(ledger: str, path: str) -> None:
    """Raise UsageError where the file is the ledger, or one that is kept beside it, by whatever name."""
    if os.path.realpath(path) in {os.path.realpath(ledger + part) for part in _LEDGER_FILES}:
        raise UsageError(f"{named(path)} is the ledger's own: name another file")


@contextlib.contextmanager
def plain_faults(path: str) -> Iterator[None]:
    """What goes wrong with a file for results, as UsageError or SpamnbError with what to do."""
    try:
        yield
    except BrokenPipeError:
        raise
    except FileExistsError as fault:
        raise UsageError(f"{named(path)} exists already: name another file, or replace it with --force") from fault
    except OSError as fault:
        shown = "standard output" if path == _STANDARD_OUTPUT else named(path)
        is_full = fault.errno in {errno.ENOSPC, errno.EDQUOT}
        step = "free some space" if is_full else "name a file in a directory of yours"
        raise SpamnbError(f"cannot write {shown}: {fault.strerror}; {step}") from fault
