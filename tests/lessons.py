"""The lessons in the ledgers of tests."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from spamnb.acts.training import learn_batches, relabel, take_back_import
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.ledger.lessons.port import Change, Relabel
from spamnb.mail.reading import Reading, read

NO_MAILBOX = Config((), Path("/nowhere"))
"""A configuration in which no message has a file."""


class Taught(NamedTuple):
    """A message that is to be learned, and when."""

    reading: Reading
    label: Label
    at: float = 1.0


def sample_lessons(number: int) -> Iterator[Taught]:
    """So many made-up ham and as many spam messages."""
    for label in Label:
        for each in range(number):
            yield Taught(read(message(label.word, each)), label)


def lesson(name: str, label: int, tokens: Mapping[str, int], at: float = 1.0) -> Taught:
    """A lesson on the message of that name."""
    return Taught(Reading(name.encode(), name, tokens), Label(label), at)


def learn(ledger: Ledger, lessons: Iterable[Taught]) -> list[Change]:
    """Learn these, and record it in the history. Returns what changed."""
    changed = []
    for (label, at), some in groupby(lessons, key=lambda one: (Label(one.label), one.at)):
        changed += learn_batches(ledger, [Batch.of(one.reading for one in some)], label, "a test", at, how=How.HAND)
    return changed


def set_label(
    ledger: Ledger,
    message: int,
    label: int | None,
    at: float,
    why: str = "a test",
    *,
    how: How = How.HAND,
    weak: bool = False,
    takes_back: int | None = None,
) -> bool:
    """Forget a message (None), or make its kept tokens count for a label; whether it was learned before at all."""
    before = ledger.messages.get(message)
    after = None if label is None else Label(label)
    change = Relabel(before.digest, before.label, before.weak, after, weak, why, how, takes_back)
    (made,) = relabel(ledger, [change], at)
    return made


def label_of(ledger: Ledger, digest: bytes) -> Label | None:
    """Return the label of a message."""
    found = ledger.lessons.find(digest)
    return None if found is None else found.label


def known(ledger: Ledger, token: str) -> list[int]:
    """Ham and spam messages with the token, and its occurrences in them."""
    counts = ledger.lessons.counts([token])
    return [*counts.messages[:, 0].tolist(), *counts.occurrences[:, 0].tolist()]


def take_back(ledger: Ledger, imported: int, at: float) -> None:
    """Take back the import of an action."""
    action = ledger.journal.get(imported)
    assert action is not None
    take_back_import(ledger, action, at)


def wrong_count(token: int) -> str:
    """A statement that says that one of the first 31 tokens is in 99 ham messages; some of them must be in ham."""
    before = 4 + token  # bytes of its block: the widths of the columns, and the first column
    parts = f"substr(numbers, 1, {before}) || x'63' || substr(numbers, {before + 2})"
    return f"UPDATE counts SET numbers = CAST({parts} AS BLOB) WHERE block = 0"
