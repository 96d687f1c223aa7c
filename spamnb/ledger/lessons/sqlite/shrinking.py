"""Making a ledger smaller: the least useful tokens are forgotten, until the file is small enough."""

import collections
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from spamnb.base.errors import SpamnbError, UsageError
from spamnb.base.wording import megabytes
from spamnb.ledger.file.locks import is_running
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.sqlite.pruning import Plan

# While the file is written again nobody else can write, and a service waits 10 s for that.
_LARGEST_WITH_SERVICE = 150_000_000
_ROUNDS = 3  # what is learned meanwhile, and what the estimate was short of
_SPARE = 16_000_000  # bytes; for the log of the steps before


@dataclass(frozen=True, slots=True)
class Shrunk:
    """How many tokens were forgotten, how many of them were in one message only, and the bytes that the file takes."""

    tokens: int
    hapaxes: int
    size: int


def plan(ledger: Ledger, target: int) -> Plan:
    """What to forget so that the file takes `target` bytes. Raises UsageError where that cannot be."""
    found = ledger.pruning.plan(target)
    if found.size > target:
        raise UsageError(
            f"without any token the ledger would still be {megabytes(found.size)}: that much is message records and"
            " history; choose a larger size"
        )
    return found


def shrink(ledger: Ledger, target: int, shown: Callable[[Iterator[int]], Iterable[int]] = iter) -> Shrunk:
    """Forget tokens and write the file again; others may work with the ledger meanwhile.

    `shown` hands on the numbers of messages processed so far. Raises UsageError as `plan` does, and SpamnbError where
    there is too little room.
    """
    os.environ["SQLITE_TMPDIR"] = os.path.dirname(os.path.abspath(ledger.path))  # whose room is looked at
    tokens = hapaxes = 0
    wanted = target
    for number in range(_ROUNDS):
        next_ = ledger.pruning.plan(wanted) if number else plan(ledger, wanted)  # begun, it forgets what there is
        _need_room(ledger.path, 2 * next_.size + _SPARE)
        if next_.size > _LARGEST_WITH_SERVICE and is_running(ledger.path):
            raise SpamnbError("the ledger is too large to be written again while the service runs: stop that first")
        collections.deque(shown(ledger.pruning.forget(next_, time.sleep)), 0)
        ledger.pruning.compact()
        tokens, hapaxes, size = tokens + next_.tokens, hapaxes + next_.hapaxes, ledger.pruning.size()
        if size <= target:
            break
        wanted = target - (size - next_.size)  # by so much the estimate was too low
    return Shrunk(tokens, hapaxes, size)


def _need_room(ledger: str, needed: int) -> None:
    directory = os.path.dirname(os.path.abspath(ledger))
    lacking = needed - shutil.disk_usage(directory).free
    if lacking > 0:
        raise SpamnbError(
            f"the file has to be written again, and there is too little room for that in {directory}: free"
            f" {megabytes(lacking)} more. Nothing was forgotten"
        )
