"""What a filter needs of the store of its lessons, whichever store that is; one test suite holds all stores to it.

>>> from spamnb.base.label import How, Label
>>> from spamnb.ledger.lessons.memory import MemoryLessons
>>> from spamnb.mail.reading import Reading
>>> lessons = MemoryLessons()  # of a ledger: Ledger(path).lessons
>>> lessons.learn([Reading(b"a", "lunch?", {"noon": 2})], Label.HAM, "my own", 0.0, how=How.HAND)
[Change(digest=b'a', before=None)]
>>> lessons.evidence(["noon"]).counts
{'noon': [1, 0, 2, 0]}
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from spamnb.base.label import How, Label
from spamnb.bayes.base import Counts
from spamnb.ledger.lessons.acquaintance import Acquaintance
from spamnb.ledger.lessons.batch import Batch
from spamnb.ledger.lessons.evidence import Evidence
from spamnb.ledger.lessons.export_format import ExportedCounts
from spamnb.mail.reading import Reading
from spamnb.mail.relations import Relations


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a message was learned as last; `label` is None where it was forgotten.

    number: of the change that made it so; later changes have higher numbers. weak: no person may have decided it.
    at: seconds since the epoch. why: a sentence for
    people. how: by what it came to be that. takes_back: what its learner gave for its own records (see `Relabel`).

    Among the changes an import is one too (`how` is How.IMPORT): digest is that of its counts, summary the name of what
    they came from, and label None; takes_back is None while it counts.
    """

    number: int
    digest: bytes
    summary: str
    label: Label | None
    weak: bool
    at: float
    why: str
    how: How
    takes_back: int | None

    @property
    def decision(self) -> Label | None:
        """What a person has called the message: a weak label is no decision."""
        return None if self.weak else self.label

    def is_as(self, other: "Lesson") -> bool:
        """Whether two lessons of one message are the same, but for their numbers and what is for people."""
        return (self.label, self.weak, self.at, self.how) == (other.label, other.weak, other.at, other.how)


@dataclass(frozen=True, slots=True)
class Teacher:
    """A learned message that holds a given token. message: its number in the store. learned_at: seconds since the
    epoch. digest: its identity.
    """

    message: int
    summary: str
    label: Label
    learned_at: float
    digest: bytes


class Change(NamedTuple):
    """A message, by its identity, that was learned otherwise before (None: not at all)."""

    digest: bytes
    before: Label | None


class Relabel(NamedTuple):
    """What a message shall be learned as (`after` None: not any more), provided that it is learned as before now.

    takes_back: kept with the lesson, for the learner's own records: the action there that this undoes.
    """

    digest: bytes
    before: Label | None
    before_weak: bool
    after: Label | None
    after_weak: bool
    why: str
    how: How
    takes_back: int | None = None


class Kept(NamedTuple):
    """A lesson with all that another store needs to have the very same.

    tokenizer: the version that has read the message. tokens: with their occurrences, those of what was known of it
    among them; None where they were not asked for. relations: as `acquaintance.packed` has them.
    """

    lesson: Lesson
    tokenizer: int
    tokens: Mapping[str, int] | None
    relations: bytes

    def with_its_tokens(self) -> Mapping[str, int]:
        """Its tokens. Raises ValueError where they are not here."""
        if self.tokens is None:
            raise ValueError(f"the lesson of {self.lesson.digest.hex()} is without its tokens")
        return self.tokens


class LearnedTokens(NamedTuple):
    """Learned messages with the tokens that they were learned with, and the counts of these, all of one moment.

    lengths: int64 (n_messages,), tokens of each message. columns, occurrences: int64 (n_entries,), the entries of all
    messages in order: an index into `ids` and the tokens of `counts`, and the token's occurrences in the message.
    ids: int64 (n_tokens,), the store's own numbers of the tokens, from 0 up, sorted.
    """

    lessons: list[Lesson]
    lengths: NDArray[np.int64]
    columns: NDArray[np.int64]
    occurrences: NDArray[np.int64]
    ids: NDArray[np.int64]
    counts: Counts


class FrequentTokens(NamedTuple):
    """Tokens that many messages hold, by the store's own numbers of them, int64 (n,), sorted, with their counts."""

    ids: NDArray[np.int64]
    counts: Counts


class LessonStats(NamedTuple):
    """What the learned messages are like as a whole.

    last_at: when one was learned last, seconds since the epoch; None where none is learned. tokenizers: the versions of
    the tokenizer with which they were read.
    """

    last_at: float | None
    tokenizers: frozenset[int]


class Batcher(Protocol):
    """Learns many messages in several calls, and may remember tokens from one to the next."""

    def learn(
        self, batches: Sequence[Batch], label: Label, why: str, at: float, *, how: How, weak: bool = False
    ) -> list[Change]:
        """As `Lessons.learn`, for messages in batches. Where it fails, or is undone by a transaction, drop this one."""

    def read_again(self, batches: Sequence[Batch]) -> int:
        """Give the tokens in the batches to those of their messages that are learned with another tokenizer's.

        Returns how many. What they are learned as stays, and when and why, and the tokens of what was known of them.
        """


class Lessons(Protocol):
    """Learned messages, each with its label and the tokens that it was learned with, and the counts that are their sum.

    Each method that changes something does all of it or nothing. A store that is kept on disk raises LedgerError where
    it cannot be used.
    """

    def evidence(self, tokens: Sequence[str], without: bytes | None = None) -> Evidence:
        """The counts of these tokens in plain numbers.

        without: a message, by its identity, that is left out, exactly as if it were forgotten.
        """

    def known(self, messages: Sequence[Relations], without: bytes | None = None) -> list[frozenset[Acquaintance]]:
        """What decisions and sent mail say of each of these messages.

        without: a message, by its identity, whose own lesson is left out.
        """

    def totals(self) -> NDArray[np.int64]:
        """int64 (7,): messages, tokens summed over messages, and occurrences, each ham then spam; vocabulary."""

    def stats(self) -> LessonStats:
        """What the learned messages are like as a whole."""

    def find(self, digest: bytes) -> Lesson | None:
        """What the message of that identity was learned as last, or None where it never was."""

    def changes(self, since: int, most: int = 1000) -> list[Lesson]:
        """The first lessons, and at most so many, whose number is above `since`, in the order of their numbers.

        Numbers become visible in their order: no lesson is ever seen first whose number is below one that could be seen
        before, whoever else writes meanwhile. So who goes on behind the last number that was read misses none.
        """

    def last_change(self) -> int:
        """The number of the last change of a lesson or an import; 0 before the first."""

    def newest(self, label: Label, most: int) -> list[Lesson]:
        """The messages that were learned last with this label, and at most so many, the newest first."""

    def learn(
        self, readings: Iterable[Reading], label: Label, why: str, at: float, *, how: How, weak: bool = False
    ) -> list[Change]:
        """Learn messages. Returns those that changed, with what they were before.

        A message that is learned so already is left as it is; one that was learned otherwise is corrected with exactly
        the tokens it was learned with. A weak label changes no decision; a decision replaces a weak label, also the
        same one. Of several messages of one identity the first counts.

        A message that is new is learned with the tokens of what is known of it at that moment too
        (`acquaintance.tokens_of`).
        """

    def read_otherwise(self, after: bytes = b"", most: int = 1000) -> list[bytes]:
        """Learned messages with tokens of another version of the tokenizer than this program's.

        The first identities above that one, and at most so many, sorted.
        """

    def batcher(self) -> Batcher:
        """One that learns many messages."""

    def relabel(self, changes: Sequence[Relabel], at: float) -> list[bool]:
        """Make the kept tokens of messages count for other labels, one after the other.

        Returns which changes were made: one is not where the message is not learned as the change has it before.
        """

    def forget(self, digests: Iterable[bytes], why: str, at: float, *, how: How) -> int:
        """Forget messages by their identities. Returns how many were learned. Their tokens are kept for `relabel`."""

    def kept(self, digests: Sequence[bytes], with_tokens: Collection[bytes]) -> list[Kept]:
        """Those of the messages that are or were learned, in their order; with tokens where these are asked for."""

    def take_over(self, lessons: Iterable[Kept]) -> int:
        """Make each message what it is there, with exactly those tokens and relations. Returns how many changed.

        A message that is new gets no further tokens by what is known of it. One that is so already keeps its number.
        Raises ValueError where a lesson is without its tokens.
        """

    def add_import(self, counts: ExportedCounts, name: str, why: str, at: float) -> int:
        """Add counts that came from elsewhere, under a name; also the same ones again. Returns the change's number.

        Raises LedgerError where the sums would be too large.
        """

    def take_import_back(self, digest: bytes, why: str, at: float, *, takes_back: int) -> int:
        """Take the counts of an import, of this digest, from the others again. Returns the change's number.

        takes_back: as for `Relabel`; it takes back one import, however often and by how many processes it is tried.
        Raises LedgerError where that was done, or no such import counts any more.
        """

    def imported(self) -> tuple[int, int]:
        """How many ham and spam messages stand behind the imports that count."""

    def add_sent(self, messages: Mapping[bytes, Iterable[int]]) -> None:
        """Keep the answers that messages of the person's may get (`relations.expected_replies`), by their identities.

        Of several copies of a message those of each are kept: one that was delivered there may get none.
        """

    def drop_sent(self, digests: Iterable[bytes]) -> None:
        """Forget messages that the person has sent."""

    def sent(self, after: bytes = b"", most: int = 1000) -> list[bytes]:
        """The first identities of sent messages above that one, and at most so many, sorted."""

    # From here on: what is looked into, which tokens were learned, and by whom they were taught. No mail is judged or
    # learned by these.

    def counts(self, tokens: Sequence[str], without: bytes | None = None) -> Counts:
        """The counts of these tokens, as `evidence` has them, in their order; zeros for tokens never learned."""

    def learned(self, digests: Sequence[bytes]) -> LearnedTokens:
        """Those of the messages that are learned now, in their order, with their tokens and the counts of these."""

    def crowds(self) -> NDArray[np.int64]:
        """Which tokens are of one crowd: int64 (n,), a number for each id, as `first_numbers` has it."""

    def texts(self, ids: Collection[int]) -> dict[int, str]:
        """The tokens of these ids."""

    def frequent(self, least: int, kinds: Sequence[str] | None = None) -> FrequentTokens:
        """The tokens that at least so many messages hold; kinds: with one of these prefixes (`subject:`)."""

    def beginning_with(self, text: str, most: int) -> list[str]:
        """The first tokens that begin so and that messages hold, sorted, and at most so many."""

    def teachers(self, tokens: Sequence[str], most: int = 3, without: bytes | None = None) -> dict[str, list[Teacher]]:
        """For each token learned messages that hold it, the newest first and at most `most` of them.

        without: a message that is left out.
        """

    def verify(self) -> list[str]:
        """The faults of the counts: each differs from the sum over the learned messages. Empty: all is well."""

    def export(self) -> Iterator[str]:
        """All counts as lines of text (`export_format`), as they are at this moment."""


def replaces(label: Label, weak: bool, before: Label | None, was_weak: bool) -> bool:
    """Whether a label changes what a message is learned as, or how firmly."""
    if before is None:
        return True
    return before is not label and was_weak if weak else before is not label or was_weak


def forgetting(lessons: Lessons, digests: Iterable[bytes], why: str, how: How) -> list[Relabel]:
    """The changes by which those of the messages that are learned are forgotten."""
    changes = []
    for digest in dict.fromkeys(digests):
        lesson = lessons.find(digest)
        if lesson is not None and lesson.label is not None:
            changes.append(Relabel(digest, lesson.label, lesson.weak, None, False, why, how))
    return changes


def as_counts(evidence: Evidence, tokens: Sequence[str]) -> Counts:
    """Counts of these tokens, in their order; zeros for those of which there is no evidence."""
    zeros = (0, 0, 0, 0)
    rows = [evidence.counts.get(token, zeros) for token in tokens]
    return Counts.of(np.array(rows, dtype=np.int64).reshape(-1, 4).T, np.array(evidence.totals, dtype=np.int64))
