"""What the filter would say of a learned message if it had not learned it: leave-one-out, through the counts.

A learned message vouches for itself: its own tokens are in the counts with its own label. So whether a label is right
is asked without the message. Its tokens are kept, so they are taken from the counts, and no mail is read. Copies that
differ in a number or a name vouch for one another, so a group of messages can be left out together.

What history said of a message (the tokens `known:*`) is as when it was learned, before it could vouch for itself; what
later messages made known of its sender is left out, unlike in `Filter.explain`.

All of it is arithmetic on arrays, some hundred messages at a time; nothing is written, and no lock is held.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spamnb.bayes.base import Counts
from spamnb.bayes.scores import log_odds_of, scores, weights
from spamnb.config import Scoring
from spamnb.filter import UNTAUGHT, Clue, Filter, Judgement
from spamnb.label import Label
from spamnb.ledger.lessons.port import Learned, Lesson, Lessons

_MESSAGES = 500  # at a time, in some 30 MB; 2,000 at a time are no quicker
_PAGE = 1000  # lessons


class Left(NamedTuple):
    """A learned message, and how it is judged without itself.

    clues: the strongest that speak for that judgement, where they were asked for.
    """

    lesson: Lesson
    judgement: Judgement
    clues: tuple[Clue, ...] = ()


def without_groups(
    lessons: Lessons, scoring: Scoring, groups: Iterable[Sequence[bytes]], clues: int = 0
) -> Iterator[Left]:
    """Judge each message of a group, given by identities, as a filter would that has learned none of the group.

    Messages that are not learned are left out. A message is to be in one group only. A group is held at once.
    clues: how many of the clues of each judgement are given.

    Where other processes may learn meanwhile, hold a snapshot of the ledger, and learn and forget when this is done.
    """
    leaving = LeaveOneOut(lessons, scoring)
    for some in _packed(groups):
        yield from leaving.judge_groups(some, clues)


def learned(lessons: Lessons) -> Iterator[Lesson]:
    """All messages that are learned now, that which was learned last at the end."""
    last = 0
    while page := lessons.changes(last, _PAGE):
        yield from (one for one in page if one.label is not None)
        last = page[-1].number


def _packed(groups: Iterable[Sequence[bytes]]) -> Iterator[list[Sequence[bytes]]]:
    """The groups, some at a time."""
    waiting = iter(groups)
    while some := list(islice(waiting, 1)):
        held = len(some[0])
        while held < _MESSAGES and (one := next(waiting, None)) is not None:
            some.append(one)
            held += len(one)
        yield some


class LeaveOneOut(Filter):
    """Judges learned messages by the counts of all others."""

    def __init__(self, lessons: Lessons, scoring: Scoring) -> None:
        super().__init__(lessons, scoring)
        self._kinds = lessons.kinds()

    def judge_groups(self, groups: Sequence[Sequence[bytes]], clues: int = 0) -> list[Left]:
        """Judge some groups of learned messages, each without itself."""
        group_of = {digest: number for number, group in enumerate(groups) for digest in group}
        found = self._lessons.learned(list(group_of))
        if found.ids.max(initial=-1) >= len(self._kinds):
            self._kinds = self._lessons.kinds()  # another process has learned new tokens
        members = np.array([group_of[one.digest] for one in found.lessons], dtype=np.int64)
        counts, is_taught = _others(found, members, len(groups))
        log_odds = log_odds_of(counts, self._estimate, self._scoring.alpha)
        weight = weights(log_odds, self._crowd(found))
        means = scores(log_odds, weight, found.lengths).tolist()
        judged = [self._judged(mean) if taught else UNTAUGHT for mean, taught in zip(means, is_taught, strict=True)]
        if not clues:
            return list(map(Left, found.lessons, judged))
        strongest = self._clues(found, counts, log_odds, weight, np.array(means), clues)
        return list(map(Left, found.lessons, judged, strongest))

    def _clues(
        self,
        found: Learned,
        counts: Counts,
        log_odds: NDArray[np.float64],
        weight: NDArray[np.float64],
        means: NDArray[np.float64],
        most: int,
    ) -> list[tuple[Clue, ...]]:
        """Of each message the strongest clues on the side of its score, the strongest first."""
        support = np.repeat(np.sign(means), found.lengths) * weight * log_odds
        rows = _rows(found)
        order = np.lexsort((-support, rows))
        places = np.arange(len(order)) - np.repeat(np.cumsum(found.lengths) - found.lengths, found.lengths)
        chosen = order[(places < most) & (support[order] > 0)]
        ids = found.ids[found.columns[chosen]].tolist()
        texts = self._lessons.texts(set(ids))
        columns = *counts.messages[:, chosen].tolist(), log_odds[chosen].tolist(), weight[chosen].tolist()
        clues: list[list[Clue]] = [[] for _ in found.lessons]
        for row, id_, *values in zip(rows[chosen].tolist(), ids, *columns, strict=True):
            clues[row].append(Clue(texts[id_], *values))
        return list(map(tuple, clues))

    def _crowd(self, found: Learned) -> NDArray[np.int64]:
        """How many tokens of its message are of each one's kind, int64 (n_entries,)."""
        kinds = self._kinds[found.ids][found.columns]
        cells = _rows(found) * (int(kinds.max(initial=0)) + 1) + kinds
        sizes: NDArray[np.int64] = np.bincount(cells)[cells] if len(cells) else cells
        return sizes


def _rows(found: Learned) -> NDArray[np.int64]:
    """The message of each entry, int64 (n_entries,)."""
    return np.repeat(np.arange(len(found.lengths)), found.lengths)


def _others(found: Learned, members: NDArray[np.int64], groups: int) -> tuple[Counts, list[bool]]:
    """The counts of each entry's token without the group of its message, and whether both classes are left, a message.

    members: int64 (n_messages,), the group of each message.
    """
    rows, total = _rows(found), found.counts
    labels = np.array([one.label for one in found.lessons], dtype=np.int64)
    is_of = np.stack([labels == label for label in Label])
    group = members[rows]
    cell, cell_group, cell_column = _cells(group, found.columns, is_alone=len(np.unique(members)) == len(members))
    own = _sums(cell, is_of[:, rows], len(cell_group))
    own_occurrences = _sums(cell, is_of[:, rows] * found.occurrences, len(cell_group))
    is_only_own = (total.messages[:, cell_column] == own).all(axis=0)
    class_messages = total.class_messages[:, np.newaxis] - _sums(members, is_of, groups)
    token_messages = total.class_token_messages[:, np.newaxis] - _sums(cell_group, own, groups)
    class_occurrences = total.class_occurrences[:, np.newaxis] - _sums(cell_group, own_occurrences, groups)
    vocabulary = total.vocabulary_size - np.bincount(cell_group, is_only_own, groups).astype(np.int64)
    counts = Counts(
        total.messages[:, found.columns] - own[:, cell],
        total.occurrences[:, found.columns] - own_occurrences[:, cell],
        class_messages[:, group],
        token_messages[:, group],
        class_occurrences[:, group],
        vocabulary[group],
    )
    return counts, np.logical_and(*class_messages)[members].tolist()


def _cells(
    group: NDArray[np.int64], column: NDArray[np.int64], *, is_alone: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The cell of each entry, and the group and the column of each cell; a cell is a token in a group.

    is_alone: each message is a group of its own, so that each entry is a cell.
    """
    if is_alone:
        return np.arange(len(group)), group, column
    width = int(column.max(initial=0)) + 1
    cells, cell = np.unique(group * width + column, return_inverse=True)
    return cell, cells // width, cells % width


def _sums(place: NDArray[np.int64], amounts: NDArray[Any], number: int) -> NDArray[np.int64]:
    """Amounts (2, n), each added to its place of so many: int64 (2, number)."""
    return np.stack([np.bincount(place, row, number) for row in amounts]).astype(np.int64)
