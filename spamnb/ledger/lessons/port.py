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

from spamnb.base.label import How, Label, is_unseen
from spamnb.bayes.base import Counts
from spamnb.ledger.lessons.acquaintance import Seen, SignedBefore
from spamnb.ledger.lessons.batch import Batch
from spamnb.ledger.lessons.evidence import Evidence
from spamnb.ledger.lessons.export_format import ExportedCounts
from spamnb.mail.reading import Reading
from spamnb.mail.relations import Addressees, Relations

_PAGE = 500  # lessons that `pages` yields at a time


@dataclass(frozen=True, slots=True)
class Lesson:
    """The last lesson of a message; `label` is None if it was forgotten.

    number: of the change that made this lesson; later changes have higher numbers. weak: perhaps no person decided it.
    at: seconds since the epoch. why: a sentence for people. how: the way by which it was learned. takes_back: a value
    that its learner keeps for its own records (see `Relabel`).

    An import is also a change (`how` is How.IMPORT): digest is that of its counts, summary the name of their source,
    and label None; takes_back is None while it counts.
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
        """The label that a person has given the message; a weak label is not a decision."""
        return None if self.weak else self.label

    @property
    def is_of_init(self) -> bool:
        """Whether `spamnb init` has learned the message by its folder: nobody has said what it is.

        Ham from a folder of lists is weak. Weak spam is from the service: it first saw the message in a spam folder.
        """
        return self.label is not None and self.how is How.SEEN and (self.label is Label.HAM or not self.weak)

    @property
    def is_unseen(self) -> bool:
        """Whether the filter has learned the message from a spam folder that nobody had ever opened."""
        return is_unseen(self.label, self.weak, self.how)

    def is_as(self, other: "Lesson") -> bool:
        """Whether two lessons of one message agree, except in their numbers and in texts for people."""
        return (self.label, self.weak, self.at, self.how) == (other.label, other.weak, other.at, other.how)


@dataclass(frozen=True, slots=True)
class Teacher:
    """A learned message that holds a given token.

    message: its number in the store. learned_at: seconds since the epoch. digest: its identity.
    """

    message: int
    summary: str
    label: Label
    learned_at: float
    digest: bytes


class Change(NamedTuple):
    """A message, by its identity, with its label before this change (None: not learned)."""

    digest: bytes
    before: Label | None


class Relabel(NamedTuple):
    """The label to give a message (`after` None: forget it), if it still has the label `before`.

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


class LessonCopy(NamedTuple):
    """A lesson with everything that another store needs for an equal one.

    tokenizer: the version that has read the message. tokens: with their occurrences, including those of what was known
    of its sender; None if they were not asked for. relations: as in `acquaintance.packed`.
    """

    lesson: Lesson
    tokenizer: int
    tokens: Mapping[str, int] | None
    relations: bytes

    def with_its_tokens(self) -> Mapping[str, int]:
        """The tokens of the lesson. Raises ValueError if they are missing."""
        if self.tokens is None:
            raise ValueError(f"the lesson of {self.lesson.digest.hex()} lacks its tokens")
        return self.tokens


class LearnedTokens(NamedTuple):
    """Learned messages with the tokens that they were learned with, and the tokens' counts, all of one moment.

    lengths: int64 (n_messages,), tokens of each message. columns, occurrences: int64 (n_entries,), the entries of all
    messages in order: an index into `ids` and the tokens of `counts`, and the token's occurrences in the message. ids:
    int64 (n_tokens,), the store's own numbers of the tokens, from 0 up, sorted.
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
    """The learned messages as a whole.

    last_at: when one was last learned, in seconds since the epoch; None before the first. tokenizers: the versions of
    the tokenizer that have read them.
    """

    last_at: float | None
    tokenizers: frozenset[int]


class Batcher(Protocol):
    """Learns many messages in several calls, and may remember tokens from one to the next."""

    def learn(
        self, batches: Sequence[Batch], label: Label, why: str, at: float, *, how: How, weak: bool = False
    ) -> list[Change]:
        """Learn the messages of the batches with a label. If it fails, or a transaction undoes it, drop this object."""

    def read_again(self, batches: Sequence[Batch]) -> int:
        """Give messages that another version of the tokenizer has read the tokens of the batches.

        Returns how many. Labels, times and reasons stay, and so do the tokens of what was known of the sender.
        """


class Lessons(Protocol):
    """Learned messages, each with its label and the tokens that it was learned with, and the counts that are their sum.

    A method that changes something does all of it or nothing. A store on disk raises LedgerError if it cannot be used.
    """

    def evidence(self, tokens: Sequence[str], without: bytes | None = None) -> Evidence:
        """Return the counts of these tokens in plain numbers.

        without: the identity of a message that is left out, exactly as if it were forgotten.
        """

    def seen(self, messages: Sequence[Relations], without: bytes | None = None) -> list[Seen]:
        """Return what decisions and sent mail say of each of these messages.

        without: the identity of a message whose own lesson is left out.
        """

    def signed_before(self, message: Relations, without: bytes | None = None) -> SignedBefore:
        """Return the decisions about mail of who answers for a message.

        without: the identity of a message whose own lesson is left out.
        """

    def totals(self) -> NDArray[np.int64]:
        """Return int64 (7,): messages, tokens summed over messages, and occurrences, each ham then spam; vocabulary."""

    def stats(self) -> LessonStats:
        """Return the learned messages as a whole."""

    def find(self, digest: bytes) -> Lesson | None:
        """Return the last lesson of the message of that identity, or None if it was never learned."""

    def changes(self, since: int, most: int = 1000) -> list[Lesson]:
        """Return the first lessons with a number above `since`, at most `most`, in the order of their numbers.

        Numbers become visible in their order: once a lesson is visible, no lesson with a lower number appears later,
        even if others write at the same time. So a reader that goes on after the last number it has read misses none.
        """

    def last_change(self) -> int:
        """Return the number of the last change of a lesson or an import; 0 before the first."""

    def newest(self, label: Label, most: int) -> list[Lesson]:
        """Return the messages that were last learned with this label, at most `most`, the newest first."""

    def holding(self, tokens: Collection[str], least: int, label: Label, most: int) -> list[Lesson]:
        """Return the lessons among the `newest` that hold at least `least` of these distinct tokens."""

    def learn(
        self, readings: Iterable[Reading], label: Label, why: str, at: float, *, how: How, weak: bool = False
    ) -> list[Change]:
        """Learn messages. Returns those that changed, with what they were before.

        A message that already has the label stays unchanged. A message with the other label is corrected with exactly
        the tokens it was learned with. A weak label changes no decision; a decision replaces a weak label, even an
        equal one. If several messages have one identity, the first counts.

        A new message is also learned with tokens for what is known of its sender at that moment
        (`acquaintance.tokens_of`).
        """

    def learned_with_other_tokenizer(self, after: bytes = b"", most: int = 1000) -> list[bytes]:
        """Return learned messages whose tokens are of a different tokenizer version than this program's.

        Returns the first `most` identities above `after`, sorted.
        """

    def batcher(self) -> Batcher:
        """Return a batcher, which learns many messages."""

    def relabel(self, changes: Sequence[Relabel], at: float) -> list[bool]:
        """Make the kept tokens of messages count for other labels, one after the other.

        Returns which changes were made: a change is skipped if the message no longer has the label that it names as
        before.
        """

    def forget(self, digests: Iterable[bytes], why: str, at: float, *, how: How) -> int:
        """Forget messages by their identities. Returns how many were learned. Their tokens are kept for `relabel`."""

    def copies_of(self, digests: Sequence[bytes], with_tokens: Collection[bytes]) -> list[LessonCopy]:
        """Return the lessons of messages, in order, for all that are or were learned; with tokens for `with_tokens`."""

    def take_over(self, lessons: Iterable[LessonCopy]) -> int:
        """Make each lesson equal to the other store's, with its tokens and relations. Returns how many changed.

        A new message gets no further tokens for what is known of its sender. A lesson that is already equal keeps its
        number. Raises ValueError if a lesson lacks its tokens.
        """

    def add_import(self, counts: ExportedCounts, name: str, why: str, at: float) -> int:
        """Add counts from elsewhere, under a name; they may come again. Returns the change's number.

        Raises LedgerError if the sums would be too large.
        """

    def take_import_back(self, digest: bytes, why: str, at: float, *, takes_back: int) -> int:
        """Subtract the counts of an import with this digest again. Returns the change's number.

        takes_back: as for `Relabel`; it takes back one import, even if several processes try it several times. Raises
        LedgerError if that was done before, or if no such import still counts.
        """

    def imported(self) -> tuple[int, int]:
        """Return how many ham and spam messages are behind the imports that count."""

    def add_sent(self, messages: Mapping[bytes, Addressees]) -> None:
        """Keep to whom a person's sent messages went, by the identities of the messages.

        If a message has several copies, the addressees of each are kept: a copy that was delivered there has none.
        """

    def drop_sent(self, digests: Iterable[bytes]) -> None:
        """Forget messages that the person has sent."""

    def sent(self, after: bytes = b"", most: int = 1000) -> list[bytes]:
        """Return the first identities of sent messages above `after`, at most `most`, sorted."""

    def recipients(self, most: int) -> int:
        """Return to how many addresses the person has written, counted up to `most`."""

    # The methods below show the lessons: which tokens were learned, and which messages taught them. No mail is judged
    # or learned by these.

    def counts(self, tokens: Sequence[str], without: bytes | None = None) -> Counts:
        """Return the counts of these tokens, as in `evidence`, in their order; zeros for tokens never learned."""

    def learned(self, digests: Sequence[bytes]) -> LearnedTokens:
        """Return the messages among these that are learned now, in order, with their tokens and the tokens' counts."""

    def families(self) -> NDArray[np.int64]:
        """Return the family of each token: int64 (n,), a number for each id, as in `first_numbers`."""

    def texts(self, ids: Collection[int]) -> dict[int, str]:
        """Return the tokens of these ids."""

    def frequent(self, least: int, kinds: Sequence[str] | None = None) -> FrequentTokens:
        """Return the tokens that at least `least` messages hold; kinds: with one of these prefixes (`subject:`)."""

    def beginning_with(self, text: str, most: int) -> list[str]:
        """Return the first `most` tokens that begin with this text and that messages hold, sorted."""

    def teachers(self, tokens: Sequence[str], most: int = 3, without: bytes | None = None) -> dict[str, list[Teacher]]:
        """Return for each token learned messages that hold it, the newest first and at most `most` of them.

        without: a message that is left out.
        """

    def verify(self) -> list[str]:
        """Return the faults of the counts: each differs from the sum over the learned messages. Empty: all is well."""

    def export(self) -> Iterator[str]:
        """Yield all counts as lines of text (`export_format`), as of this moment."""


def pages(lessons: Lessons, since: int = 0) -> Iterator[list[Lesson]]:
    """Yield all lessons with a number above `since`, in the order of their numbers, some at a time.

    You may learn and forget between the pages: what changes then comes again, at the end.
    """
    while page := lessons.changes(since, _PAGE):
        yield page
        since = page[-1].number


def replaces(label: Label, weak: bool, before: Label | None, was_weak: bool) -> bool:
    """Whether a label changes what a message is learned as, or how firmly."""
    if before is None:
        return True
    return before is not label and was_weak if weak else before is not label or was_weak


def forgetting(lessons: Lessons, digests: Iterable[bytes], why: str, how: How) -> list[Relabel]:
    """Return the changes that forget the learned ones of these messages."""
    changes = []
    for digest in dict.fromkeys(digests):
        lesson = lessons.find(digest)
        if lesson is not None and lesson.label is not None:
            changes.append(Relabel(digest, lesson.label, lesson.weak, None, False, why, how))
    return changes


def as_counts(evidence: Evidence, tokens: Sequence[str]) -> Counts:
    """Return counts of these tokens, in their order; zeros for tokens without evidence."""
    zeros = (0, 0, 0, 0)
    rows = [evidence.counts.get(token, zeros) for token in tokens]
    return Counts.of(np.array(rows, dtype=np.int64).reshape(-1, 4).T, np.array(evidence.totals, dtype=np.int64))
