"""What the ledger learns: messages with their labels and their tokens."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

from spamnb.mail.matrix import TokenMatrix, gather
from spamnb.mail.reading import Reading
from spamnb.mail.tokenizer import VERSION

LABELS = ("ham", "spam")  # by their numbers; kept where no numpy is needed, which the workers do not wait for


@dataclass(frozen=True, slots=True)
class Lesson:
    """A message to learn: its identity, what it is, its tokens with their occurrences, and why it is learned.

    weak: no person has decided it; a weak lesson never replaces a decision, and any decision replaces it.
    """

    digest: bytes
    label: int
    tokens: Mapping[str, int]
    tokenizer: int
    summary: str
    why: str
    at: float
    weak: bool = False


class Head(NamedTuple):
    """A lesson without its tokens."""

    digest: bytes
    label: int
    tokenizer: int
    summary: str
    why: str
    at: float
    weak: bool


class Sheaf(NamedTuple):
    """Several lessons, bound together; `tokens` has a row for each of them."""

    heads: list[Head]
    tokens: TokenMatrix

    def learned_at(self, at: float) -> Self:
        """The same lessons, learned at that time."""
        return type(self)([head._replace(at=at) for head in self.heads], self.tokens)


def lesson(reading: Reading, label: int, why: str, at: float, *, weak: bool = False) -> Lesson:
    """What is learned from a message that is ham (0) or spam (1)."""
    return Lesson(reading.digest, label, reading.tokens, VERSION, reading.summary, why, at, weak)


def bind(lessons: Iterable[Lesson]) -> Sheaf:
    """Bind lessons into a sheaf."""
    bound = list(lessons)
    heads = [Head(one.digest, one.label, one.tokenizer, one.summary, one.why, one.at, one.weak) for one in bound]
    return Sheaf(heads, gather(one.tokens for one in bound))
