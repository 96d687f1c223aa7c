"""Learn and forget many messages, in transactions."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from spamnb.acts import training
from spamnb.acts.current_files import CurrentFiles, mbox_of
from spamnb.base.errors import MailError
from spamnb.base.label import How, Label
from spamnb.bulk.mapping import Done, LeftOut, left_out
from spamnb.config import Config
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.tokens.tokenizer import VERSION

# A transaction writes each token of its messages once, does not hold the ledger for long, and leaves little to learn
# when all is read. Its size is the number of batches read in the meantime: few if reading takes longest, so that all
# cores have work until the end; many if this process takes longest. A message of csdmc2010 takes this process 0.38 ms
# in transactions of 8 batches, 0.34 of 16, and 0.32 of 32.
_LEAST, _MOST = 16, 32  # batches
_ENTRIES = 500_000  # tokens of long messages: some 50 MB
_WAITED = 0.005  # seconds; a batch that takes longer was not ready yet
_MESSAGES = 500


class Committed(NamedTuple):
    """The result of one transaction: messages seen, changed, and corrected; and those that could not be read.

    read_again: the number of messages whose tokens came from another tokenizer, and are today's now.
    """

    seen: int
    changed: int
    corrected: int
    left_out: LeftOut
    read_again: int = 0


def learn(
    ledger: Ledger,
    read: Iterable[tuple[Batch, LeftOut]],
    label: Label,
    why: str,
    clock: Callable[[], float] = time.time,
    *,
    how: How = How.HAND,
    weak: bool = False,
) -> Iterator[Committed]:
    """Learn what `read_batch` has read. Messages learned with another tokenizer get the tokens of this reading."""
    batcher = ledger.lessons.batcher()
    for some in _transactions(read):
        batches = [batch for batch, _ in some]
        changes = training.learn_batches(ledger, batches, label, why, clock(), batcher, how=how, weak=weak)
        corrected = sum(change.before not in (None, label) for change in changes)
        seen = sum(len(batch.digests) for batch in batches)
        yield Committed(seen, len(changes), corrected, _unread(some), batcher.read_again(batches))


def read_again(ledger: Ledger, read: Iterable[tuple[Batch, LeftOut]]) -> Iterator[Committed]:
    """Give messages learned with another tokenizer the tokens that `read_batch` has read; all else stays."""
    batcher = ledger.lessons.batcher()
    is_whole = True
    for some in _transactions(read):
        batches, unread = [batch for batch, _ in some], _unread(some)
        is_whole = is_whole and not unread
        seen = sum(len(batch.digests) for batch in batches)
        yield Committed(seen, 0, 0, unread, batcher.read_again(batches))
    if is_whole:
        ledger.state.read_again = VERSION


def files_to_read_again(ledger: Ledger, config: Config) -> list[str]:
    """Return the existing files of messages learned with another tokenizer; mboxes too."""
    paths: dict[str, None] = {}
    last = b""
    while digests := ledger.lessons.learned_with_other_tokenizer(last):
        last = digests[-1]
        current = CurrentFiles(ledger, config, digests)
        for digest in digests:
            for file in current.of(digest):  # all copies: one of them may have changed
                mbox = None if os.path.lexists(file.path) else mbox_of(file.path)
                paths[mbox or file.path] = None
    return list(paths)


def _unread(some: Sequence[tuple[Batch, LeftOut]]) -> LeftOut:
    return list(chain.from_iterable(unread for _, unread in some))


def _transactions(
    read: Iterable[tuple[Batch, LeftOut]], clock: Callable[[], float] = time.monotonic
) -> Iterator[list[tuple[Batch, LeftOut]]]:
    some: list[tuple[Batch, LeftOut]] = []
    entries, asked = 0, clock()
    for one in read:
        has_waited = clock() - asked > _WAITED
        some.append(one)
        entries += len(one[0].tokens.columns)
        if len(some) == _MOST or entries > _ENTRIES or (has_waited and len(some) >= _LEAST):
            yield some
            some, entries = [], 0
        asked = clock()
    if some:
        yield some


def forget(
    ledger: Ledger, digests: Iterable[Done[bytes]], why: str, clock: Callable[[], float] = time.time
) -> Iterator[Committed]:
    """Forget the lessons from the messages that `identify` has read."""
    waiting = iter(digests)
    while some := list(islice(waiting, _MESSAGES)):
        known = [digest for _, digest in some if not isinstance(digest, MailError)]
        yield Committed(len(known), training.forget(ledger, known, why, clock(), how=How.HAND), 0, left_out(some))
