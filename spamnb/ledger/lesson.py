"""What the ledger learns: messages with their labels and their tokens."""

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from spamnb.mail.reading import Reading
from spamnb.mail.tokenizer import VERSION


@dataclass(frozen=True, slots=True)
class Lesson:
    """A message to learn: its identity, what it is, its tokens with their occurrences, and why it is learned."""

    digest: bytes
    label: int
    tokens: Mapping[str, int]
    tokenizer: int
    summary: str
    why: str
    at: float


class Head(NamedTuple):
    """A lesson without its tokens."""

    digest: bytes
    label: int
    tokenizer: int
    summary: str
    why: str
    at: float


class Sheaf(NamedTuple):
    """Several lessons, with each distinct token of theirs written once: a sparse matrix by rows (CSR).

    A process that reads mail hands its lessons over in this form: a third of the strings, and the counting of them
    is arithmetic on arrays.

    heads: one a lesson. vocabulary: the distinct tokens. lengths: "I" (n_lessons,), tokens of each lesson.
    columns, occurrences: "I" (n_entries,), the entries of all lessons in order: a place in the vocabulary, and how
    often that token occurs.
    """

    heads: list[Head]
    vocabulary: list[str]
    lengths: "array[int]"
    columns: "array[int]"
    occurrences: "array[int]"


def lesson(reading: Reading, label: int, why: str, at: float) -> Lesson:
    """What is learned from a message that someone called ham (0) or spam (1)."""
    return Lesson(reading.digest, label, reading.tokens, VERSION, reading.summary, why, at)


def bind(lessons: Iterable[Lesson]) -> Sheaf:
    """Bind lessons into a sheaf.

    >>> sheaf = bind([Lesson(b"1", 0, {"x": 2, "y": 1}, 1, "", "", 0.0), Lesson(b"2", 1, {"y": 5}, 1, "", "", 0.0)])
    >>> sheaf.vocabulary, *map(list, sheaf[2:])
    (['x', 'y'], [2, 1], [0, 1, 1], [2, 1, 5])
    """
    bound = list(lessons)
    tokens = list(chain.from_iterable(one.tokens for one in bound))
    vocabulary = list(dict.fromkeys(tokens))
    place = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
    return Sheaf(
        [Head(one.digest, one.label, one.tokenizer, one.summary, one.why, one.at) for one in bound],
        vocabulary,
        array("I", [len(one.tokens) for one in bound]),
        array("I", list(map(place.__getitem__, tokens))),
        array("I", list(chain.from_iterable(one.tokens.values() for one in bound))),
    )
