"""Lessons as they would be if some messages had other labels. Nothing is learned or forgotten, and no lock is held."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from spamnb.base.label import Label
from spamnb.bayes.base import Counts
from spamnb.filter.leave_one_out import JudgedLessons
from spamnb.ledger.lessons.port import LearnedTokens


class Supposed:
    """Learned messages, some of them with supposed labels. `LeaveOneOut` judges them by the counts of these labels.

    If other processes may learn in that time, hold a snapshot of the ledger.
    """

    def __init__(self, lessons: JudgedLessons) -> None:
        self._lessons = lessons
        self._labels: dict[bytes, Label | None] = {}
        tokens = len(lessons.families())
        self._counts: NDArray[np.int64] = np.zeros((4, tokens), dtype=np.int64)  # to add to those of the lessons
        self._totals: NDArray[np.int64] = np.zeros(7, dtype=np.int64)  # as in `Lessons.totals`

    def suppose(self, labels: Mapping[bytes, Label | None]) -> None:
        """Suppose that learned messages have these labels; None: that they teach nothing."""
        found = self.learned([*labels])
        entries = np.repeat([_number(lesson.label) for lesson in found.lessons], found.lengths)
        goals = np.repeat([_number(labels[lesson.digest]) for lesson in found.lessons], found.lengths)
        before, n_tokens = found.counts, len(found.ids)
        added = np.zeros((4, n_tokens), dtype=np.int64)
        for label in Label:
            sign = (goals == label).astype(np.int64) - (entries == label)
            added[label] = np.bincount(found.columns, sign, n_tokens)
            added[2 + label] = np.bincount(found.columns, sign * found.occurrences, n_tokens)
            change = sum((labels[lesson.digest] is label) - (lesson.label is label) for lesson in found.lessons)
            self._totals[label] += change
        self._totals[2:6] += added.sum(axis=1)
        had = before.messages.sum(axis=0) > 0
        has = (before.messages + added[:2]).sum(axis=0) > 0
        self._totals[6] += int(has.sum()) - int(had.sum())
        self._counts[:, found.ids] += added
        self._labels.update(labels)

    def learned(self, digests: Sequence[bytes]) -> LearnedTokens:
        """Return what `Lessons.learned` returns, with the supposed labels and their counts."""
        found = self._lessons.learned(digests)
        counts = found.counts
        table = np.concatenate([counts.messages, counts.occurrences]) + self._counts[:, found.ids]
        sums = np.concatenate([counts.class_messages, counts.class_token_messages, counts.class_occurrences])
        totals = np.append(sums, counts.vocabulary_size) + self._totals
        labels = self._labels
        lessons = [replace(one, label=labels.get(one.digest, one.label)) for one in found.lessons]
        return found._replace(lessons=lessons, counts=Counts.of(table, totals))

    def families(self) -> NDArray[np.int64]:
        """Return what `Lessons.families` returns."""
        return self._lessons.families()

    def texts(self, ids: Collection[int]) -> dict[int, str]:
        """Return what `Lessons.texts` returns."""
        return self._lessons.texts(ids)


def _number(label: Label | None) -> int:
    return -1 if label is None else int(label)
