"""Lessons in memory, behind the same port: for evaluations, which learn thousands of messages, and for no ledger."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spamnb.bayes.base import Counts
from spamnb.bayes.score import kind
from spamnb.label import Label
from spamnb.ledger.lessons.export_format import write
from spamnb.ledger.lessons.port import Change, Learned, Lesson, Relabel, Teacher, forgetting, replaces
from spamnb.ledger.lessons.token_blob import OCCURRENCES_MAX
from spamnb.mail.reading import Reading
from spamnb.mail.tokens.tokenizer import VERSION


class _Kept(NamedTuple):
    """A message that was learned: its tokens' ids, int64 (n,), and their occurrences, int64 (n,)."""

    lesson: Lesson
    ids: NDArray[np.int64]
    occurrences: NDArray[np.int64]


class MemoryLessons:
    """Learns and counts as the ledger does, and forgets all of it at the end."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._counts: NDArray[np.int64] = np.zeros((4, 1 << 16), dtype=np.int64)
        self._totals: NDArray[np.int64] = np.zeros(7, dtype=np.int64)
        self._kept: dict[bytes, _Kept] = {}
        self._last = 0

    def counts(self, tokens: Sequence[str], without: bytes | None = None) -> Counts:
        """The counts of these tokens, in their order; zeros for tokens never learned."""
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

    def _counts_of(self, ids: NDArray[np.int64]) -> Counts:
        rows, total = self._counts[:, ids], self._totals.copy()
        return Counts(rows[:2], rows[2:], total[:2], total[2:4], total[4:6], int(total[6]))

    def totals(self) -> NDArray[np.int64]:
        """int64 (7,), as the ledger's."""
        return self._totals.copy()

    def find(self, digest: bytes) -> Lesson | None:
        """What the message of that identity was learned as last, or None where it never was."""
        return self._kept[digest].lesson if digest in self._kept else None

    def changes(self, since: int, most: int = 1000) -> list[Lesson]:
        """The first lessons, and at most so many, whose number is above `since`, in the order of their numbers."""
        found = (kept.lesson for kept in self._kept.values() if kept.lesson.number > since)
        return sorted(found, key=lambda lesson: lesson.number)[:most]

    def learned(self, digests: Sequence[bytes]) -> Learned:
        """Those of the messages that are learned now, in their order, with their tokens and the counts of these."""
        found = [self._kept[digest] for digest in digests if digest in self._kept]
        found = [kept for kept in found if kept.lesson.label is not None]
        none = np.zeros(0, dtype=np.int64)
        lengths = np.array([len(kept.ids) for kept in found], dtype=np.int64)
        ids, columns = np.unique(np.concatenate([none, *(kept.ids for kept in found)]), return_inverse=True)
        occurrences = np.concatenate([none, *(kept.occurrences for kept in found)])
        return Learned([kept.lesson for kept in found], lengths, columns, occurrences, ids, self._counts_of(ids))

    def kinds(self) -> NDArray[np.int64]:
        """Which tokens are of one kind: int64 (n,), a number for each id."""
        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(kind(token), len(numbers)) for token in self._ids], dtype=np.int64)

    def texts(self, ids: Collection[int]) -> dict[int, str]:
        """The tokens of these ids."""
        wanted = set(ids)
        return {id_: token for token, id_ in self._ids.items() if id_ in wanted}

    def learn(
        self, readings: Iterable[Reading], label: Label, why: str, at: float, *, weak: bool = False
    ) -> list[Change]:
        """Learn messages. Returns those that changed, with what they were before."""
        changed = []
        for reading in readings:
            kept = self._kept.get(reading.digest)
            before = None if kept is None else kept.lesson.label
            if kept is None or replaces(label, weak, before, kept.lesson.weak):
                ids = self._numbered(reading.tokens) if kept is None or before is None else kept[1:]
                self._set(Lesson(0, reading.digest, reading.summary, label, weak, at, why, None), *ids)
                changed.append(Change(reading.digest, before))
        return changed

    def relabel(self, changes: Sequence[Relabel], at: float) -> list[bool]:
        """Make the kept tokens of messages count for other labels. Returns which changes were made."""
        made = []
        for one in changes:
            kept = self._kept.get(one.digest)
            if kept is None or (kept.lesson.label, kept.lesson.weak) != (one.before, one.before_weak):
                made.append(False)
                continue
            new = Lesson(0, one.digest, kept.lesson.summary, one.after, one.after_weak, at, one.why, one.takes_back)
            self._set(new, kept.ids, kept.occurrences)
            made.append(True)
        return made

    def forget(self, digests: Iterable[bytes], why: str, at: float) -> int:
        """Forget messages by their identities. Returns how many were learned."""
        return sum(self.relabel(forgetting(self, digests, why), at))

    def teachers(self, tokens: Sequence[str], most: int = 3, without: bytes | None = None) -> dict[str, list[Teacher]]:
        """For each token learned messages that hold it, the newest first and at most `most` of them."""
        found: dict[str, list[Teacher]] = {token: [] for token in tokens}
        for lesson, ids, _ in sorted(self._kept.values(), key=lambda kept: -kept.lesson.number):
            if lesson.label is None or lesson.digest == without:
                continue
            teacher = Teacher(lesson.number, lesson.summary, lesson.label, lesson.at)
            for token, teachers in found.items():
                if len(teachers) < most and self._ids.get(token) in ids:
                    teachers.append(teacher)
        return found

    def verify(self) -> list[str]:
        """The faults of the counts: each differs from the sum over the learned messages. Empty: all is well."""
        again = MemoryLessons()
        again._counts = np.zeros_like(self._counts)
        for kept in self._kept.values():
            again._add(kept, 1)
        same = np.array_equal(again._counts, self._counts) and np.array_equal(again._totals, self._totals)
        return [] if same else ["the counts are not the sum of what was learned"]

    def export(self) -> Iterator[str]:
        """All counts as lines of text, as they are at this moment."""
        ham, spam, *_, number = self._totals.tolist()
        rows = [(*self._counts[:, self._ids[token]].tolist(), token) for token in sorted(self._ids)]
        used = [row for row in rows if row[0] + row[1]]
        yield from write(used, number, ham, spam, [VERSION] if ham + spam else [])

    def _numbered(self, tokens: Mapping[str, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        known = self._ids
        ids = np.fromiter((known.setdefault(token, len(known)) for token in tokens), np.int64, len(tokens))
        while len(known) >= self._counts.shape[1]:
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)], axis=1)
        return ids, np.minimum(np.fromiter(tokens.values(), np.int64, len(tokens)), OCCURRENCES_MAX)

    def _set(self, lesson: Lesson, ids: NDArray[np.int64], occurrences: NDArray[np.int64]) -> None:
        """Make a message count as its lesson has it, which gets the next number."""
        if lesson.digest in self._kept:
            self._add(self._kept[lesson.digest], -1)
        self._last += 1
        kept = self._kept[lesson.digest] = _Kept(replace(lesson, number=self._last), ids, occurrences)
        self._add(kept, 1)

    def _add(self, kept: _Kept, sign: int) -> None:
        """Add a learned message to the counts, or take it from them."""
        label, ids, occurrences = kept.lesson.label, kept.ids, kept.occurrences
        if label is None:
            return
        before = self._counts[0, ids] + self._counts[1, ids]
        self._counts[label, ids] += sign
        self._counts[2 + label, ids] += sign * occurrences
        after = self._counts[0, ids] + self._counts[1, ids]
        self._totals[label] += sign
        self._totals[2 + label] += sign * len(ids)
        self._totals[4 + label] += sign * int(occurrences.sum())
        self._totals[6] += int((after > 0).sum() - (before > 0).sum())
