"""Check the file by which the service tells another program of its moves."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from spamnb.base.wording import plural
from spamnb.checkup.finding import Finding, fault, ok, warning
from spamnb.checkup.installation import STATUS_OF_MBSYNC

_WHAT = "moves carried on"
_WAITING_MINUTES = 15  # a run of mbsync over a slow line takes as long


def of_moved_file(path: Path | None) -> Iterator[Finding]:
    """Report whether the file can be made, and whether another program removes it."""
    if path is None:
        return
    directory = path.parent
    if not os.access(directory, os.W_OK | os.X_OK):
        means = f"{path} cannot be made after a move: {directory} is missing, or not yours"
        yield fault(_WHAT, means, "correct `moved_file` under `service` in the configuration")
        return
    try:
        minutes = int(time.time() - os.lstat(path).st_mtime) // 60
    except FileNotFoundError:
        minutes = 0
    if minutes < _WAITING_MINUTES:
        yield ok(_WHAT, f"by the program that waits for {path}")
        return
    means = f"{path} has been there for {plural(minutes, 'minute')}: no program has taken the filter's moves further"
    step = f"start that program; with `spamnb init --imap` it is mbsync: {STATUS_OF_MBSYNC}"
    yield warning(_WHAT, means, step)
