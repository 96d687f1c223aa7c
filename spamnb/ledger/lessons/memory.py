"""Lessons in memory, by the port of `Lessons`: for evaluations, which learn thousands of messages without a ledger."""

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spamnb.base.errors import LedgerError
from spamnb.base.label import How, Label
from spamnb.bayes.base import Counts
from spamnb.bayes.score_arrays import first_numbers
from spamnb.ledger.lessons.acquaintance import (
    Acquaintance,
    KeptRelations,
    Seen,
    SignedBefore,
    packed,
    tokens_of,
    unpacked,
)
from spamnb.ledger.lessons.batch import OCCURRENCES_MAX, Batch
from spamnb.ledger.lessons.evidence import Evidence
from spamnb.ledger.lessons.export_format import ExportedCounts, write
from spamnb.ledger.lessons.port import (
    Change,
    FrequentTokens,
    LearnedTokens,
    Lesson,
    LessonCopy,
    LessonStats,
    Relabel,
    Teacher,
    forgetting,
    replaces,
)
from spamnb.mail.reading import Reading
from spamnb.mail.relations import Addressees, Relations
from spamnb.mail.tokens.kinds import family_of, kind
from spamnb.mail.tokens.tokenizer import VERSION


class _Kept(NamedTuple):
    """A learned message: its tokens' ids, int32 (n,), their occurrences, uint16 (n,), and its relations.

    tokenizer: the version that has read it.
    """

    lesson: Lesson
    ids: NDArray[np.int32]
    occurrences: NDArray[np.uint16]
    relations: KeptRelations
    tokenizer: int = VERSION

    @property
    def called(self) -> list["_Called"]:
        """What the lesson says of its sender over the path, and of who answers for the message."""
        return [(*known, self.lesson.label, self.lesson.weak) for known in self.relations._asdict().items()]


_Called = tuple[str, int | None, Label | None, bool]
"""A field of `KeptRelations` and its hash, the label of such mail, and whether it is weak."""


class _Import(NamedTuple):
    """An import: its lesson in `changes`, its tokens' ids, int32 (n,), their counts, and its messages, ham and spam.

    counts: int64 (n, 4), as in `ExportedCounts`.
    """

    lesson: Lesson
    ids: NDArray[np.int32]
    counts: NDArray[np.int64]
    messages: tuple[int, int]


class MemoryLessons:
    """Learns and counts as the ledger does, and keeps nothing on disk."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._family_numbers = first_numbers()
        self._families: list[int] = []  # of the first ids, as far as they were asked for
        self._counts: NDArray[np.int64] = np.zeros((4, 1 << 16), dtype=np.int64)
        self._totals: NDArray[np.int64] = np.zeros(7, dtype=np.int64)
        self._kept: dict[bytes, _Kept] = {}
        self._imports: list[_Import] = []
        self._last = 0
        self._called: Counter[_Called] = Counter()
        self._sent: dict[bytes, list[Addressees]] = {}

    def counts(self, tokens: Sequence[str], without: bytes | None = None) -> Counts:
        """Return the counts of these tokens, in their order; zeros for tokens never learned."""
        own = None if without is None else self._kept.get(without)
        if own is not None:
            self._add(own, -1)
        none = len(self._ids)
        ids = np.fromiter((self._ids.get(token, none) for token in tokens), np.int64, len(tokens))
        counts = self._counts_of(ids)
        counts.messages[:, ids == none] = counts.occurrences[:, ids == none] = 0
        if own is not None:
            self._add(own, 1)
        return counts

    def evidence(self, tokens: Sequence[str], without: bytes | None = None) -> Evidence:
        """Return the counts of these tokens."""
        found = self.counts(tokens, without)
        rows = np.concatenate([found.messages, found.occurrences]).T.tolist()
        sums = found.class_messages, found.class_token_messages, found.class_occurrences
        totals = [*np.concatenate(sums).tolist(), int(found.vocabulary_size)]
        return Evidence(dict(zip(tokens, rows, strict=True)), totals, self._last)

    def _counts_of(self, ids: NDArray[np.int64]) -> Counts:
        return Counts.of(self._counts[:, ids], self._totals.copy())

    def totals(self) -> NDArray[np.int64]:
        """Return int64 (7,), as the ledger does."""
        return self._totals.copy()

    def stats(self) -> LessonStats:
        """Return when a message was last learned, and which tokenizer versions have read the messages."""
        learned = [kept for kept in self._kept.values() if kept.lesson.label is not None]
        last = max((kept.lesson for kept in learned), key=lambda lesson: lesson.number, default=None)
        return LessonStats(None if last is None else last.at, frozenset(kept.tokenizer for kept in learned))

    def find(self, digest: bytes) -> Lesson | None:
        """Return the last lesson of the message of that identity, or None if it was never learned."""
        return self._kept[digest].lesson if digest in self._kept else None

    def changes(self, since: int, most: int = 1000) -> list[Lesson]:
        """Return the first lessons with a number above `since`, at most `most`, in the order of their numbers."""
        lessons = chain((kept.lesson for kept in self._kept.values()), (kept.lesson for kept in self._imports))
        later = (lesson for lesson in lessons if lesson.number > since)
        return sorted(later, key=lambda lesson: lesson.number)[:most]

    def last_change(self) -> int:
        """Return the number of the last change of a lesson or an import; 0 before the first."""
        return self._last

    def newest(self, label: Label, most: int) -> list[Lesson]:
        """Return the messages that were last learned with this label, at most `most`, the newest first."""
        found = (kept.lesson for kept in self._kept.values() if kept.lesson.label is label)
        return heapq.nlargest(most, found, key=lambda lesson: lesson.number)

    def holding(self, tokens: Collection[str], least: int, label: Label, most: int) -> list[Lesson]:
        """Return the lessons among the `newest` that hold at least `least` of these distinct tokens."""
        met = {self._ids[token] for token in tokens if token in self._ids}
        found = self.newest(label, most)
        return [one for one in found if len(met.intersection(self._kept[one.digest].ids.tolist())) >= least]

    def learned(self, digests: Sequence[bytes]) -> LearnedTokens:
        """Return the messages among these that are learned now, in order, with their tokens and the tokens' counts."""
        found = [self._kept[digest] for digest in digests if digest in self._kept]
        found = [kept for kept in found if kept.lesson.label is not None]
        none = np.zeros(0, dtype=np.int64)
        lengths = np.array([len(kept.ids) for kept in found], dtype=np.int64)
        ids, columns = _distinct(np.concatenate([none, *(kept.ids for kept in found)]), len(self._ids))
        occurrences = np.concatenate([none, *(kept.occurrences for kept in found)])
        return LearnedTokens([kept.lesson for kept in found], lengths, columns, occurrences, ids, self._counts_of(ids))

    def families(self) -> NDArray[np.int64]:
        """Return the family of each token: int64 (n,), a number for each id."""
        numbers = self._family_numbers
        new = islice(self._ids, len(self._families), None)
        self._families += [numbers.setdefault(family_of(token), len(numbers)) for token in new]
        return np.array(self._families, dtype=np.int64)

    def texts(self, ids: Collection[int]) -> dict[int, str]:
        """Return the tokens of these ids."""
        wanted = set(ids)
        return {id_: token for token, id_ in self._ids.items() if id_ in wanted}

    def learn(
        self, readings: Iterable[Reading], label: Label, why: str, at: float, *, how: How, weak: bool = False
    ) -> list[Change]:
        """Learn messages. Returns those that changed, with what they were before."""
        changed = []
        for reading in list(readings):  # if one cannot be read, nothing is learned
            kept = self._kept.get(reading.digest)
            before = None if kept is None else kept.lesson.label
            if kept is None or replaces(label, weak, before, kept.lesson.weak):
                lesson = Lesson(0, reading.digest, reading.summary, label, weak, at, why, how, None)
                if kept is None or before is None:
                    self._set(_Kept(lesson, *self._new(reading)))
                else:
                    self._set(kept._replace(lesson=lesson))
                changed.append(Change(reading.digest, before))
        return changed

    def learned_with_other_tokenizer(self, after: bytes = b"", most: int = 1000) -> list[bytes]:
        """Return learned messages with tokens of another tokenizer version; only lessons from another store."""
        return sorted(digest for digest in self._kept if digest > after and self._is_otherwise(digest))[:most]

    def _is_otherwise(self, digest: bytes) -> bool:
        kept = self._kept.get(digest)
        return kept is not None and kept.lesson.label is not None and kept.tokenizer != VERSION

    def read_again(self, readings: Iterable[Reading]) -> int:
        """Give messages that another version of the tokenizer has read the tokens of the readings."""
        others = [reading for reading in readings if self._is_otherwise(reading.digest)]
        number = 0
        for reading in others:
            if not self._is_otherwise(reading.digest):
                continue  # if several have one identity, the first counts
            kept = self._kept[reading.digest]
            known = [token for token in tokens_of(Acquaintance) if self._ids.get(token) in kept.ids]
            ids, occurrences = self._numbered({**reading.tokens, **dict.fromkeys(known, 1)})
            again = _Kept(kept.lesson, ids, occurrences, kept.relations)
            self._add(kept, -1)
            self._add(again, 1)
            self._kept[reading.digest] = again
            number += 1
        self._last += bool(number)  # results computed from the old tokens, and kept by `last_change`, are outdated
        return number

    def batcher(self) -> "_Batcher":
        """Return a batcher, which learns many messages."""
        return _Batcher(self)

    def relabel(self, changes: Sequence[Relabel], at: float) -> list[bool]:
        """Make the kept tokens of messages count for other labels. Returns which changes were made."""
        made = []
        for one in changes:
            kept = self._kept.get(one.digest)
            if kept is None or (kept.lesson.label, kept.lesson.weak) != (one.before, one.before_weak):
                made.append(False)
                continue
            learned = one.after, one.after_weak, at, one.why, one.how, one.takes_back
            self._set(kept._replace(lesson=Lesson(0, one.digest, kept.lesson.summary, *learned)))
            made.append(True)
        return made

    def forget(self, digests: Iterable[bytes], why: str, at: float, *, how: How) -> int:
        """Forget messages by their identities. Returns how many were learned."""
        return sum(self.relabel(forgetting(self, digests, why, how), at))

    def copies_of(self, digests: Sequence[bytes], with_tokens: Collection[bytes]) -> list[LessonCopy]:
        """Return the lessons of messages, in order, for all that are or were learned; with tokens for `with_tokens`."""
        found = [self._kept[digest] for digest in digests if digest in self._kept]
        wanted = [kept for kept in found if kept.lesson.digest in with_tokens]
        text_of = self.texts(set(chain.from_iterable(kept.ids.tolist() for kept in wanted)))
        tokens = {
            kept.lesson.digest: {
                text_of[id_]: number for id_, number in zip(kept.ids.tolist(), kept.occurrences.tolist(), strict=True)
            }
            for kept in wanted
        }
        return [
            LessonCopy(kept.lesson, kept.tokenizer, tokens.get(kept.lesson.digest), packed(kept.relations))
            for kept in found
        ]

    def take_over(self, lessons: Iterable[LessonCopy]) -> int:
        """Make each lesson equal to the other store's, with its tokens and relations. Returns how many changed."""
        made = []
        for kept in lessons:  # if one lacks its tokens, nothing is taken over
            ids, occurrences = self._numbered(kept.with_its_tokens())
            made.append(_Kept(kept.lesson, ids, occurrences, unpacked(kept.relations), kept.tokenizer))
        changed = 0
        for new in made:
            former = self._kept.get(new.lesson.digest)
            if former is None or not _are_same(former, new):
                self._set(new._replace(lesson=replace(new.lesson, takes_back=None)))
                changed += 1
        return changed

    def add_import(self, counts: ExportedCounts, name: str, why: str, at: float) -> int:
        """Add counts from elsewhere, under a name. Returns the number of the change."""
        counts.check_sums(self._totals[:6].tolist())
        self._last += 1
        lesson = Lesson(self._last, counts.digest, name, None, False, at, why, How.IMPORT, None)
        ids, _ = self._numbered(dict.fromkeys(counts.tokens, 1))
        self._imports.append(_Import(lesson, ids, counts.counts, (counts.ham, counts.spam)))
        self._add_import(self._imports[-1], 1)
        return self._last

    def take_import_back(self, digest: bytes, why: str, at: float, *, takes_back: int) -> int:
        """Subtract the counts of an import again. Returns the number of the change."""
        imports = [kept for kept in self._imports if kept.lesson.digest == digest]
        counting = [kept for kept in imports if kept.lesson.takes_back is None]
        if not counting or takes_back in (kept.lesson.takes_back for kept in imports):
            raise LedgerError("that import no longer counts")
        kept = counting[-1]
        self._add_import(kept, -1)
        self._last += 1
        lesson = replace(kept.lesson, number=self._last, why=why, at=at, takes_back=takes_back)
        self._imports[self._imports.index(kept)] = _Import(lesson, kept.ids[:0], kept.counts[:0], (0, 0))
        return self._last

    def imported(self) -> tuple[int, int]:
        """Return how many ham and spam messages are behind the imports that count."""
        return sum(kept.messages[0] for kept in self._imports), sum(kept.messages[1] for kept in self._imports)

    def seen(self, messages: Sequence[Relations], without: bytes | None = None) -> list[Seen]:
        """Return what decisions and sent mail say of each of these messages."""
        own = None if without is None else self._kept.get(without)
        return [self._seen(each, own) for each in messages]

    def _seen(self, relations: Relations, own: _Kept | None = None) -> Seen:
        """Return what is kept about the sender of a message; without the lesson `own`."""
        sent = list(chain.from_iterable(self._sent.values()))
        over_path = "sender_over_path", relations.sender_over_path
        return Seen(
            ham=self._called_so((*over_path, Label.HAM, False), own) > 0,
            spam=self._called_so((*over_path, Label.SPAM, False), own) > 0,
            answered=any(not set(relations.answers).isdisjoint(each.answers) for each in sent),
            kept=self._called_so((*over_path, Label.HAM, True), own) > 0,
            written_to=any(relations.as_recipient in each.recipients for each in sent),
        )

    def signed_before(self, message: Relations, without: bytes | None = None) -> SignedBefore:
        """Return the decisions about mail of who answers for a message."""
        own = None if without is None else self._kept.get(without)
        signed = "signed_by", message.signed_by
        return SignedBefore(*[self._called_so((*signed, label, False), own) for label in Label])

    def _called_so(self, asked: _Called, own: _Kept | None) -> int:
        """Return how many lessons say this; without the lesson `own`."""
        return 0 if asked[1] is None else self._called[asked] - (own is not None and asked in own.called)

    def add_sent(self, messages: Mapping[bytes, Addressees]) -> None:
        """Keep to whom a person's sent messages went, by the identities of the messages."""
        for digest, found in messages.items():
            self._sent.setdefault(digest, []).append(found)

    def drop_sent(self, digests: Iterable[bytes]) -> None:
        """Forget messages that the person has sent."""
        for digest in digests:
            self._sent.pop(digest, None)

    def sent(self, after: bytes = b"", most: int = 1000) -> list[bytes]:
        """Return the first identities of sent messages above `after`, at most `most`, sorted."""
        return sorted(digest for digest in self._sent if digest > after)[:most]

    def recipients(self, most: int) -> int:
        """Return to how many addresses the person has written, counted up to `most`."""
        sent = chain.from_iterable(self._sent.values())
        return min(most, len(set(chain.from_iterable(each.recipients for each in sent))))

    def frequent(self, least: int, kinds: Sequence[str] | None = None) -> FrequentTokens:
        """Return the tokens that at least `least` messages hold; kinds: with one of these prefixes."""
        tokens = [token for token in self._ids if kinds is None or kind(token) in kinds]
        ids = np.array([self._ids[token] for token in tokens], dtype=np.int64)
        ids = ids[self._counts[:2, ids].sum(axis=0) >= least]
        return FrequentTokens(ids, self._counts_of(ids))

    def beginning_with(self, text: str, most: int) -> list[str]:
        """Return the first `most` tokens that begin with this text and that messages hold, sorted."""
        tokens = sorted(token for token in self._ids if token.startswith(text))
        return [token for token in tokens if self._counts[:2, self._ids[token]].any()][:most]

    def teachers(self, tokens: Sequence[str], most: int = 3, without: bytes | None = None) -> dict[str, list[Teacher]]:
        """Return for each token learned messages that hold it, the newest first and at most `most` of them."""
        found: dict[str, list[Teacher]] = {token: [] for token in tokens}
        for lesson, ids, *_ in sorted(self._kept.values(), key=lambda kept: -kept.lesson.number):
            if lesson.label is None or lesson.digest == without:
                continue
            teacher = Teacher(lesson.number, lesson.summary, lesson.label, lesson.at, lesson.digest)
            for token, teachers in found.items():
                if len(teachers) < most and self._ids.get(token) in ids:
                    teachers.append(teacher)
        return found

    def verify(self) -> list[str]:
        """Return the faults of the counts: each differs from the sum over the learned messages. Empty: all is well."""
        again = MemoryLessons()
        again._counts = np.zeros_like(self._counts)
        for kept in self._kept.values():
            again._add(kept, 1)
        for imported in self._imports:
            again._add_import(imported, 1)
        same = np.array_equal(again._counts, self._counts) and np.array_equal(again._totals, self._totals)
        same &= again._called == self._called  # a count of 0 equals a missing one
        return [] if same else ["the counts are not the sum of the lessons"]

    def export(self) -> Iterator[str]:
        """Yield all counts as lines of text, as of this moment."""
        ham, spam, *_, number = self._totals.tolist()
        rows = [(*self._counts[:, self._ids[token]].tolist(), token) for token in sorted(self._ids)]
        used = [row for row in rows if row[0] + row[1]]
        yield from write(used, number, ham, spam, self.stats().tokenizers)

    def _new(self, reading: Reading) -> tuple[NDArray[np.int32], NDArray[np.uint16], KeptRelations]:
        more = tokens_of(self._seen(reading.relations).known)
        tokens = {**reading.tokens, **dict.fromkeys(more, 1)} if more else reading.tokens
        return *self._numbered(tokens), KeptRelations.of(reading.relations)

    def _numbered(self, tokens: Mapping[str, int]) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        known = self._ids
        ids = np.fromiter((known.setdefault(token, len(known)) for token in tokens), np.int32, len(tokens))
        while len(known) >= self._counts.shape[1]:
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)], axis=1)
        occurrences = np.fromiter(tokens.values(), np.int64, len(tokens))
        return ids, np.minimum(occurrences, OCCURRENCES_MAX).astype(np.uint16)

    def _set(self, new: _Kept) -> None:
        """Make a message count by this lesson, which gets the next number."""
        digest = new.lesson.digest
        if digest in self._kept:
            self._add(self._kept[digest], -1)
        self._last += 1
        kept = self._kept[digest] = new._replace(lesson=replace(new.lesson, number=self._last))
        self._add(kept, 1)

    def _add(self, kept: _Kept, sign: int) -> None:
        """Add a learned message to the counts, or subtract it."""
        label, ids, occurrences = kept.lesson.label, kept.ids, kept.occurrences.astype(np.int64)
        for called in kept.called:
            self._called[called] += sign
        if label is None:
            return
        self._count(label, ids, sign, np.full(len(ids), sign), sign * occurrences)

    def _add_import(self, kept: _Import, sign: int) -> None:
        """Add an import to the counts, or subtract it."""
        for label in Label:
            table = sign * kept.counts
            self._count(label, kept.ids, sign * kept.messages[label], table[:, label], table[:, 2 + label])

    def _count(
        self,
        label: Label,
        ids: NDArray[np.int32],
        messages: int,
        holding: NDArray[np.int64],
        occurrences: NDArray[np.int64],
    ) -> None:
        """Add `messages` of a class to the counts; `holding` of them hold each, `occurrences` times, int64 (n,)."""
        before = self._counts[0, ids] + self._counts[1, ids]
        self._counts[label, ids] += holding
        self._counts[2 + label, ids] += occurrences
        after = self._counts[0, ids] + self._counts[1, ids]
        self._totals[label] += messages
        self._totals[2 + label] += int(holding.sum())
        self._totals[4 + label] += int(occurrences.sum())
        self._totals[6] += int((after > 0).sum() - (before > 0).sum())


class _Batcher(NamedTuple):
    """Learns messages in batches."""

    lessons: MemoryLessons

    def learn(
        self, batches: Sequence[Batch], label: Label, why: str, at: float, *, how: How, weak: bool = False
    ) -> list[Change]:
        """Learn the messages of the batches with a label. Returns the changes."""
        readings = chain.from_iterable(batch.readings() for batch in batches)
        return self.lessons.learn(readings, label, why, at, how=how, weak=weak)

    def read_again(self, batches: Sequence[Batch]) -> int:
        """Give messages that another version of the tokenizer has read the tokens of the batches. Returns how many."""
        return self.lessons.read_again(chain.from_iterable(batch.readings() for batch in batches))


def _distinct(numbers: NDArray[np.int64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct numbers below `most`, sorted, and the place of each number among them: int64 (n,).

    Two looks at a table take a sixth of the time in which `np.unique` sorts 200,000 numbers.
    """
    is_there = np.zeros(most, dtype=np.bool_)
    is_there[numbers] = True
    distinct = np.flatnonzero(is_there)
    places = np.empty(most, dtype=np.int64)
    places[distinct] = np.arange(len(distinct))
    return distinct, places[numbers]


def _are_same(one: _Kept, other: _Kept) -> bool:
    """Whether two lessons of a message agree, except in their numbers and in texts for people."""
    return (
        one.lesson.is_as(other.lesson)
        and (one.relations, one.tokenizer) == (other.relations, other.tokenizer)
        and dict(zip(one.ids.tolist(), one.occurrences.tolist(), strict=True))
        == dict(zip(other.ids.tolist(), other.occurrences.tolist(), strict=True))
    )
