"""`train` and `untrain`: learning by hand."""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator

from spamnb.cli.output import progress
from spamnb.cli.sources import Source, readings, sources
from spamnb.errors import MailError
from spamnb.mail.reading import Reading

_WORDS = ("ham", "spam")
_BATCH = 1000  # messages a transaction: each token that they share is written once, and the ledger is not held long


def train(options: argparse.Namespace) -> int:
    """Learn the messages at the paths."""
    counted = learn(sources(options.paths), options.label, "trained by hand", options)
    if not options.quiet:
        print(counted)
    return 0


def learn(found: Iterable[Source], label: int, why: str, options: argparse.Namespace) -> str:
    """Learn messages as ham (0) or spam (1), on all cores. Returns what was done, in words."""
    reads = readings(found)
    first = next(reads, None)  # the workers are started before numpy, whose threads do not survive a fork, is loaded
    from spamnb.cli.context import open_ledger
    from spamnb.filter import lesson

    seen = changed = corrected = 0
    _, ledger = open_ledger(options)
    with ledger:
        rest = _good(reads if first is None else _chain(first, reads))
        for batch in _batches(progress(rest, f"learning {_WORDS[label]}", options.quiet), _BATCH):
            done = ledger.learned.learn([lesson(reading, label, why, time.time()) for _, reading in batch])
            seen += len(batch)
            changed += len(done)
            corrected += sum(before is not None for _, before in done)
    known = f", {seen - changed} known already" if seen > changed else ""
    was = f", {corrected} of them corrected" if corrected else ""
    return f"learned {changed} message{'s' if changed != 1 else ''} as {_WORDS[label]}{was}{known}"


def untrain(options: argparse.Namespace) -> int:
    """Forget the messages at the paths."""
    reads = list(_good(readings(sources(options.paths))))
    from spamnb.cli.context import open_ledger

    forgotten = 0
    _, ledger = open_ledger(options)
    with ledger, ledger.transaction():
        for _, reading in reads:
            known = ledger.messages.find(reading.digest)
            if known is not None and known.label is not None:
                ledger.learned.set_label(known.id, None, time.time(), "forgotten by hand")
                forgotten += 1
    if not options.quiet:
        unknown = len(reads) - forgotten
        print(
            f"forgot {forgotten} message{'s' if forgotten != 1 else ''}"
            + (f", {unknown} not learned" if unknown else "")
        )
    return 0


def _good(reads: Iterable[tuple[Source, Reading | MailError]]) -> Iterator[tuple[Source, Reading]]:
    """The messages that could be read; of the others, what is wrong goes to standard error."""
    for source, reading in reads:
        if isinstance(reading, MailError):
            print(f"spamnb: left out {source.where}: {reading}", file=sys.stderr)
        else:
            yield source, reading


def _chain(
    first: tuple[Source, Reading | MailError], rest: Iterator[tuple[Source, Reading | MailError]]
) -> Iterator[tuple[Source, Reading | MailError]]:
    yield first
    yield from rest


def _batches(items: Iterable[tuple[Source, Reading]], size: int) -> Iterator[list[tuple[Source, Reading]]]:
    batch = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
