"""`train` and `untrain`: learning by hand."""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from typing import TypeVar

from spamnb.cli.output import plural, printable, progress
from spamnb.cli.paths import how_many, sources
from spamnb.cli.sources import Done, Source, each, one_by_one, read_all
from spamnb.errors import MailError
from spamnb.ledger.lesson import LABELS, Sheaf, bind, lesson
from spamnb.mail.identity import identity

T = TypeVar("T")

# Messages a transaction: each token that they share is written once, the ledger is not held long, and little is left
# to be learned when all is read.
_BATCH = 500
_EXIT_ERROR = 3

_Bound = tuple[Sheaf, list[tuple[Source, MailError]]]  # what can be learned, and what is wrong with the others


def train(options: argparse.Namespace) -> int:
    """Learn the messages at the paths."""
    found = sources(options.paths)
    return learn(found, lambda: how_many(options.paths), options.label, "trained by hand", options)


def learn(
    found: Iterable[Source], total: int | Callable[[], int | None], label: int, why: str, options: argparse.Namespace
) -> int:
    """Learn messages as ham (0) or spam (1), on all cores, and say how many. Returns the exit code."""
    seen = changed = corrected = left_out = 0
    with ExitStack() as stack:
        sheaves = stack.enter_context(each(found, _Binder(label, why)))
        from spamnb.cli.context import open_ledger  # numpy takes 0.1 s to import: the workers read meanwhile

        ledger = stack.enter_context(open_ledger(options)[1])
        shown = progress(sheaves, f"learning {LABELS[label]}", options.quiet, total, _size)
        for batch in _batches(shown):
            for source, fault in (unread for _, faults in batch for unread in faults):
                left_out += 1
                _say_left_out(source, fault)
            now = time.time()  # one clock for all: the workers read ahead
            done = ledger.learned.learn_sheaves([sheaf.learned_at(now) for sheaf, _ in batch])
            seen += sum(len(sheaf.heads) for sheaf, _ in batch)
            changed += len(done)
            corrected += sum(before is not None for _, before in done)
    if not options.quiet:
        was = f", {corrected} of them corrected" if corrected else ""
        known = f", {seen - changed} known already" if seen > changed else ""
        print(f"learned {plural(changed, 'message')} as {LABELS[label]}{was}{known}")
    return _EXIT_ERROR if left_out else 0


class _Binder:
    """Reads messages, and binds them into a sheaf of lessons."""

    def __init__(self, label: int, why: str) -> None:
        self._label = label
        self._why = why

    def __call__(self, chunk: list[Source]) -> list[_Bound]:
        done = read_all(chunk)
        lessons = [lesson(got, self._label, self._why, 0.0) for _, got in done if not isinstance(got, MailError)]
        return [(bind(lessons), [(source, got) for source, got in done if isinstance(got, MailError)])]


def _size(bound: _Bound) -> int:
    return len(bound[0].heads) + len(bound[1])


def _batches(bound: Iterable[_Bound]) -> Iterator[list[_Bound]]:
    batch: list[_Bound] = []
    size = 0
    for one in bound:
        batch.append(one)
        size += _size(one)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _say_left_out(source: Source, fault: MailError) -> None:
    print(f"spamnb: left out {printable(source.where)}: {printable(str(fault))}", file=sys.stderr)


def untrain(options: argparse.Namespace) -> int:
    """Forget the messages at the paths."""
    seen = forgotten = 0
    with ExitStack() as stack:
        digests = _Readable(stack.enter_context(each(sources(options.paths), _identities)))
        from spamnb.cli.context import open_ledger

        ledger = stack.enter_context(open_ledger(options)[1])
        shown = progress(digests, "forgetting", options.quiet, lambda: how_many(options.paths))
        while batch := list(islice(shown, _BATCH)):
            seen += len(batch)
            with ledger.transaction():
                for digest in batch:
                    known = ledger.messages.find(digest)
                    if known is not None and known.label is not None:
                        ledger.learned.set_label(known.id, None, time.time(), "forgotten by hand")
                        forgotten += 1
    if not options.quiet:
        unknown = f", {seen - forgotten} not learned" if seen > forgotten else ""
        print(f"forgot {plural(forgotten, 'message')}{unknown}")
    return _EXIT_ERROR if digests.left_out else 0


def _identities(chunk: list[Source]) -> list[Done[bytes]]:
    return one_by_one(lambda source: identity(source.read()), chunk)


class _Readable(Iterator[T]):
    """What was made of the messages that could be read; what is wrong with the others goes to standard error."""

    def __init__(self, done: Iterator[Done[T]]) -> None:
        self._done = done
        self.left_out = 0

    def __next__(self) -> T:
        for source, result in self._done:
            if not isinstance(result, MailError):
                return result
            self.left_out += 1
            _say_left_out(source, result)
        raise StopIteration
