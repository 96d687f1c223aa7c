"""The messages that a command line names."""

import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from spamnb.base.errors import UsageError
from spamnb.bulk.mapping import LeftOut
from spamnb.bulk.sources import KINDS, STANDARD_INPUT, Source, find_sources
from spamnb.cli.common.output import is_terminal, warn

MESSAGES = "message files, directories of them, Maildir folders, mbox files, or - for standard input"


def standard_input() -> BinaryIO | None:
    """Return standard input in bytes, or None if it was closed before the start."""
    return None if sys.stdin is None else sys.stdin.buffer


def messages(paths: Sequence[str]) -> Iterator[Source]:
    """Yield the messages at these paths, as `find_sources` finds them."""
    return find_sources(paths, standard_input())


def or_standard_input(paths: Sequence[str], command: str, instead: str = "") -> Sequence[str]:
    """Return the paths; without any, standard input. Raises UsageError if that is a terminal.

    instead: a sentence about what the person may have meant.
    """
    if paths:
        return paths
    if sys.stdin is None or is_terminal(sys.stdin):
        raise UsageError(f"{command} needs a PATH: {KINDS}; or pipe a message into spamnb {command}{instead}")
    return [STANDARD_INPUT]


def report_left_out(left_out: LeftOut) -> None:
    """Print on standard error the names of messages that cannot be read."""
    for source, fault in left_out:
        warn(f"left out {source.where}: {fault}")
