"""Judge learned messages as if they were not learned: leave-one-out, by subtracting from the counts.

A learned message supports its own label: its tokens are in the counts with that label. To test whether a label is
right, the message must be left out. Its tokens are kept, so they are subtracted from the counts, and no mail is read.
Copies that differ in a number or a name support one another, so a group of messages can be left out together.

The tokens of the message's history (`known:*`) are those of the time of learning, before the message could support
itself. Unlike `Filter.explain`, they leave out what later messages taught about the sender.

Everything is arithmetic on arrays of some hundred messages at a time. Nothing is written, and no lock is held.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from spamnb.base.label import Label
from spamnb.bayes.base import Counts
from spamnb.bayes.score_arrays import log_odds_of, scores_of, weights_of
from spamnb.config import Scoring
from spamnb.filter.judge import UNTAUGHT, Clue, Judgement, judgement_of
from spamnb.filter.met_tokens import ESTIMATES
from spamnb.ledger.lessons.port import LearnedTokens, Lesson, Lessons, pages

_MESSAGES = 500  # at a time, in some 30 MB; 2,000 at a time are not faster
_ENTRIES = 100_000  # tokens of messages that are judged at once


class JudgedLessons(Protocol):
    """The part of `Lessons` that is needed to judge learned messages.

    A message whose lesson has no label is in no count, and is judged by all others.
    """

    def learned(self, digests: Sequence[bytes]) -> LearnedTokens:
        """Return the learned messages among these, with their tokens and the tokens' counts."""

    def families(self) -> NDArray[np.int64]:
        """Return the family of each token."""

    def texts(self, ids: Collection[int]) -> dict[int, str]:
        """Return the tokens of these ids."""


class JudgedWithoutItself(NamedTuple):
    """A learned message, and its judgement without itself.

    clues: the strongest clues for that judgement, if the caller asked for them.
    """

    lesson: Lesson
    judgement: Judgement
    clues: tuple[Clue, ...] = ()


def without_groups(
    lessons: JudgedLessons, scoring: Scoring, groups: Iterable[Sequence[bytes]], clues: int = 0
) -> Iterator[JudgedWithoutItself]:
    """Judge each message of a group as a filter would that has learned none of the group. Groups hold identities.

    Messages that are not learned are left out. A message may be in one group only. Each group is in memory as a whole.
    clues: the number of clues for each judgement.

    If other processes may learn in that time, hold a snapshot of the ledger, and learn and forget only when this is
    done.
    """
    leaving = LeaveOneOut(lessons, scoring)
    for packed in _packed(groups):
        yield from leaving.judge_groups(packed, clues)


def learned_now(lessons: Lessons) -> Iterator[Lesson]:
    """Return all messages that are learned now; the message that was learned last comes last."""
    return (lesson for lesson in chain.from_iterable(pages(lessons)) if lesson.label is not None)


def _packed(groups: Iterable[Sequence[bytes]]) -> Iterator[list[Sequence[bytes]]]:
    """Yield the groups, some at a time."""
    waiting = iter(groups)
    while packed := list(islice(waiting, 1)):
        size = len(packed[0])
        while size < _MESSAGES and (group := next(waiting, None)) is not None:
            packed.append(group)
            size += len(group)
        yield packed


class LeaveOneOut:
    """Judges learned messages by the counts of all others."""

    def __init__(self, lessons: JudgedLessons, scoring: Scoring) -> None:
        self._lessons = lessons
        self._scoring = scoring
        self._estimate = ESTIMATES[scoring.model]
        self._families = np.zeros(0, dtype=np.int64)  # read once there are learned messages

    def judge_groups(self, groups: Sequence[Sequence[bytes]], clues: int = 0) -> list[JudgedWithoutItself]:
        """Judge some groups of learned messages, each without itself."""
        group_of = {digest: number for number, group in enumerate(groups) for digest in group}
        learned = self._lessons.learned(list(group_of))
        if learned.ids.max(initial=-1) >= len(self._families):
            self._families = self._lessons.families()  # again if another process has learned new tokens
        members = np.array([group_of[lesson.digest] for lesson in learned.lessons], dtype=np.int64)
        others, judgements = _Others(learned, members, len(groups)), list[JudgedWithoutItself]()
        for messages in _parts(learned.lengths):
            judgements += self._judge(learned, messages, others, clues)
        return judgements

    def _judge(
        self, learned: LearnedTokens, messages: slice, others: "_Others", clues: int
    ) -> list[JudgedWithoutItself]:
        """Judge some of the messages by the counts that are left without their groups."""
        part, counts = _part(learned, messages), others.counts(messages)
        log_odds = log_odds_of(counts, self._estimate, self._scoring.alpha)
        weight = weights_of(log_odds, self._families[part.ids][part.columns], part.lengths)
        scores = scores_of(log_odds, weight, part.lengths)
        is_taught = others.is_taught[messages]
        judgements = [
            judgement_of(score, self._scoring) if taught else UNTAUGHT
            for score, taught in zip(scores.tolist(), is_taught, strict=True)
        ]
        if not clues:
            return list(map(JudgedWithoutItself, part.lessons, judgements))
        strongest = self._clues(part, counts, log_odds, weight, scores, clues)
        return list(map(JudgedWithoutItself, part.lessons, judgements, strongest))

    def _clues(
        self,
        learned: LearnedTokens,
        counts: Counts,
        log_odds: NDArray[np.float64],
        weight: NDArray[np.float64],
        scores: NDArray[np.float64],
        most: int,
    ) -> list[tuple[Clue, ...]]:
        """Return for each message the strongest clues on the side of its score, the strongest first."""
        support = np.repeat(np.sign(scores), learned.lengths) * weight * log_odds
        rows = _rows(learned)
        order = np.lexsort((-support, rows))
        places = np.arange(len(order)) - np.repeat(np.cumsum(learned.lengths) - learned.lengths, learned.lengths)
        chosen = order[(places < most) & (support[order] > 0)]
        ids = learned.ids[learned.columns[chosen]].tolist()
        texts = self._lessons.texts(set(ids))
        columns = *counts.messages[:, chosen].tolist(), log_odds[chosen].tolist(), weight[chosen].tolist()
        clues: list[list[Clue]] = [[] for _ in learned.lessons]
        for row, id_, *values in zip(rows[chosen].tolist(), ids, *columns, strict=True):
            clues[row].append(Clue(texts[id_], *values))
        return list(map(tuple, clues))


def _rows(learned: LearnedTokens) -> NDArray[np.int64]:
    """Return the message of each entry, int64 (n_entries,)."""
    return np.repeat(np.arange(len(learned.lengths)), learned.lengths)


def _parts(lengths: NDArray[np.int64]) -> Iterator[slice]:
    """Yield runs of messages that hold few tokens together; lengths: int64 (n_messages,), the tokens of each.

    A group of 2,500 near-copies with 400 tokens each takes 320 MB in all; as one part it would take 414 MB.
    """
    part = np.cumsum(lengths) // _ENTRIES
    bounds = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(lengths)]
    return (slice(start, end) for start, end in pairwise(bounds) if start < end)


def _part(learned: LearnedTokens, messages: slice) -> LearnedTokens:
    """Return some of the messages, with the ids and counts of all."""
    entries = _entries(learned, messages)
    return learned._replace(
        lessons=learned.lessons[messages],
        lengths=learned.lengths[messages],
        columns=learned.columns[entries],
        occurrences=learned.occurrences[entries],
    )


def _entries(learned: LearnedTokens, messages: slice) -> slice:
    """Return the entries of some messages."""
    start = int(learned.lengths[: messages.start].sum())
    return slice(start, start + int(learned.lengths[messages].sum()))


class _Others:
    """For each group, the counts of all learned messages outside that group.

    members: int64 (n_messages,), the group of each message.
    is_taught: for each message, whether both classes have messages outside its group.
    """

    def __init__(self, learned: LearnedTokens, members: NDArray[np.int64], groups: int) -> None:
        self._found, self._members = learned, members
        total = learned.counts
        labels = np.array([-1 if one.label is None else one.label for one in learned.lessons], dtype=np.int64)
        is_of = np.stack([labels == label for label in Label])
        rows = _rows(learned)
        own = np.repeat(is_of, learned.lengths, axis=1).astype(np.int64)
        self._own, self._own_occurrences, self._cell = own, own * learned.occurrences, None
        cell_group, cell_column = members[rows], learned.columns
        if len(np.unique(members)) < len(members):
            self._cell, cell_group, cell_column = _cells(cell_group, cell_column)
            self._own = _sums(self._cell, self._own, len(cell_group))
            self._own_occurrences = _sums(self._cell, self._own_occurrences, len(cell_group))
        of_cell = np.take(total.messages, cell_column, axis=1)
        is_only_own = (of_cell == self._own).all(axis=0) & of_cell.any(axis=0)
        self._messages = total.class_messages[:, np.newaxis] - _sums(members, is_of, groups)
        self._token_messages = total.class_token_messages[:, np.newaxis] - _sums(cell_group, self._own, groups)
        self._occurrences = total.class_occurrences[:, np.newaxis] - _sums(cell_group, self._own_occurrences, groups)
        self._vocabulary = total.vocabulary_size - np.bincount(cell_group, is_only_own, groups).astype(np.int64)
        self.is_taught: list[bool] = np.logical_and(*self._messages)[members].tolist()

    def counts(self, messages: slice) -> Counts:
        """Return the counts for each entry's token, without the group of its message."""
        learned = self._found
        entries = _entries(learned, messages)
        columns, members, lengths = learned.columns[entries], self._members[messages], learned.lengths[messages]

        def others(counts: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.int64]:
            mine = own[:, entries] if self._cell is None else np.take(own, self._cell[entries], axis=1)
            return np.asarray(np.take(counts, columns, axis=1) - mine)

        return Counts(
            others(learned.counts.messages, self._own),
            others(learned.counts.occurrences, self._own_occurrences),
            np.repeat(self._messages[:, members], lengths, axis=1),
            np.repeat(self._token_messages[:, members], lengths, axis=1),
            np.repeat(self._occurrences[:, members], lengths, axis=1),
            np.repeat(self._vocabulary[members], lengths),
        )


def _cells(
    group: NDArray[np.int64], column: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the cell of each entry, and the group and the column of each cell. A cell is a token in a group."""
    width = int(column.max(initial=0)) + 1
    cells, cell = np.unique(group * width + column, return_inverse=True)
    return cell, cells // width, cells % width


def _sums(place: NDArray[np.int64], amounts: Iterable[NDArray[Any]], number: int) -> NDArray[np.int64]:
    """Return the sums of amounts (2, n) for each of `number` places: int64 (2, number)."""
    return np.stack([np.bincount(place, row, number).astype(np.int64) for row in amounts])
