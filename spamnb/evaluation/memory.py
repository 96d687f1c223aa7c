"""Counts in memory: the same port as the ledger's `Learned`, for evaluations that learn thousands of messages.

Held to the ledger by one contract test suite.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from spamnb.bayes.base import Counts
from spamnb.ledger.blob import OCCURRENCES_MAX
from spamnb.ledger.learned import Teacher
from spamnb.ledger.lesson import Lesson


class MemoryLearned:
    """Learns and counts as the ledger does, and forgets all of it at the end."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._counts: NDArray[np.int64] = np.zeros((4, 1 << 16), dtype=np.int64)
        self._totals: NDArray[np.int64] = np.zeros(7, dtype=np.int64)
        self._known: dict[bytes, tuple[int, NDArray[np.int64], NDArray[np.int64]]] = {}

    def counts(self, tokens: Sequence[str]) -> Counts:
        """The counts of these tokens, in their order; zeros for tokens never learned."""
        none = len(self._ids)
        ids = np.fromiter((self._ids.get(token, none) for token in tokens), np.int64, len(tokens))
        rows = self._counts[:, ids]
        rows[:, ids == none] = 0
        total = self._totals
        return Counts(rows[:2], rows[2:], total[:2].copy(), total[2:4].copy(), total[4:6].copy(), int(total[6]))

    def totals(self) -> NDArray[np.int64]:
        """int64 (7,), as the ledger's."""
        return self._totals.copy()

    def learn(self, lessons: Iterable[Lesson]) -> list[tuple[bytes, int | None]]:
        """Learn messages; returns the digest and former label of each one that changed."""
        changed: list[tuple[bytes, int | None]] = []
        for lesson in lessons:
            before = self._known.get(lesson.digest)
            if before is not None and before[0] == lesson.label:
                continue
            if before is None:
                ids, occurrences = self._numbered(lesson)
            else:
                ids, occurrences = before[1:]
                self._add(ids, occurrences, before[0], -1)
            self._add(ids, occurrences, lesson.label, 1)
            self._known[lesson.digest] = (lesson.label, ids, occurrences)
            changed.append((lesson.digest, None if before is None else before[0]))
        return changed

    def teachers(self, tokens: Sequence[str]) -> dict[str, list[Teacher]]:
        """Nobody: messages are not kept here."""
        return {token: [] for token in tokens}

    def _numbered(self, lesson: Lesson) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        known = self._ids
        ids = np.fromiter(
            (known.setdefault(token, len(known)) for token in lesson.tokens), np.int64, len(lesson.tokens)
        )
        while len(known) >= self._counts.shape[1]:
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)], axis=1)
        return ids, np.minimum(np.fromiter(lesson.tokens.values(), np.int64, len(lesson.tokens)), OCCURRENCES_MAX)

    def _add(self, ids: NDArray[np.int64], occurrences: NDArray[np.int64], label: int, sign: int) -> None:
        before = self._counts[0, ids] + self._counts[1, ids]
        self._counts[label, ids] += sign
        self._counts[2 + label, ids] += sign * occurrences
        after = self._counts[0, ids] + self._counts[1, ids]
        self._totals[label] += sign
        self._totals[2 + label] += sign * len(ids)
        self._totals[4 + label] += sign * int(occurrences.sum())
        self._totals[6] += int((after > 0).sum() - (before > 0).sum())
