"""Files that a person names for results."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import BinaryIO

from spamnb import durable
from spamnb.cli.output import named
from spamnb.errors import SpamnbError, UsageError

STANDARD = "-"
_PARTS = ("", "-wal", "-shm", ".lock", ".use.lock")


@contextlib.contextmanager
def opened(path: str, *, replace: bool = True) -> Iterator[BinaryIO]:
    """The file to write results to, as `durable.writing` has it; `-` is standard output. Raises as `check` does."""
    if path == STANDARD:
        _check_standard()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with plain_faults(path), durable.writing(path, replace=replace) as file:
        yield file


def check(path: str, *, replace: bool = True) -> None:
    """Raise SpamnbError where results cannot be written: better said before long work than after it."""
    with plain_faults(path):
        if path != STANDARD:
            durable.check(path, replace=replace)


def is_stream(path: str) -> bool:
    """Whether results go to what is open already: a sentence about them might end up among them."""
    return path == STANDARD or durable.open_already(path) is not None


def stream(path: str) -> int | None:
    """The descriptor of what is open already; None for a file. Raises UsageError for a closed standard output."""
    if path != STANDARD:
        return durable.open_already(path)
    _check_standard()
    return sys.stdout.fileno()


def _check_standard() -> None:
    if sys.stdout is None:
        raise UsageError("standard output is closed: name a file")


def refuse_ledger(ledger: str, path: str) -> None:
    """Raise UsageError where the file is the ledger, or one that is kept beside it, by whatever name."""
    if os.path.realpath(path) in {os.path.realpath(ledger + part) for part in _PARTS}:
        raise UsageError(f"{named(path)} is the ledger's own: name another file")


@contextlib.contextmanager
def plain_faults(path: str) -> Iterator[None]:
    """What the system says of a file for results, as UsageError or SpamnbError with what to do."""
    try:
        yield
    except BrokenPipeError:
        raise
    except FileExistsError as fault:
        raise UsageError(f"{named(path)} is there already: name another file, or replace it with --force") from fault
    except OSError as fault:
        raise SpamnbError(
            f"cannot write {named(path)}: {fault.strerror}; name a file in a directory of yours"
        ) from fault
