"""Supposed labels: the counts of lessons as they would be, without learning anything."""

import random

import numpy as np

from spamnb.base.label import How, Label
from spamnb.config import Scoring
from spamnb.filter.leave_one_out import without_groups
from spamnb.filter.supposed import Supposed
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.ledger.lessons.port import Relabel
from tests.lessons import sample_lessons


def _lessons() -> MemoryLessons:
    lessons = MemoryLessons()
    for one in sample_lessons(12):
        lessons.learn([one.reading], one.label, "a test", one.at, how=How.HAND)
    return lessons


def _relabel(lessons: MemoryLessons, labels: dict[bytes, Label | None]) -> None:
    found = [lesson for digest in labels if (lesson := lessons.find(digest)) is not None]
    changes = [
        Relabel(one.digest, one.label, one.weak, labels[one.digest], True, "a test", How.HAND)
        for one in found
        if one.label is not labels[one.digest]
    ]
    assert all(lessons.relabel(changes, 2.0))


def test_supposed_labels_count_as_real_ones() -> None:
    """After each of several suppositions, counts and judgements are those of lessons with these labels."""
    lessons, real = _lessons(), _lessons()
    supposed = Supposed(lessons)
    digests = [one.reading.digest for one in sample_lessons(12)]
    choose = random.Random(1)
    now: dict[bytes, Label | None] = {}
    for _ in range(4):
        labels = {digest: choose.choice((None, *Label)) for digest in choose.sample(digests, 9)}
        now |= labels
        supposed.suppose(labels)
        _relabel(real, labels)
        taught = [digest for digest in digests if now.get(digest, 0) is not None]
        ours, theirs = supposed.learned(taught), real.learned(taught)
        assert [one.label for one in ours.lessons] == [one.label for one in theirs.lessons]
        for name in ("messages", "occurrences", "class_messages", "class_token_messages", "class_occurrences"):
            assert np.array_equal(getattr(ours.counts, name), getattr(theirs.counts, name)), name
        assert ours.counts.vocabulary_size == theirs.counts.vocabulary_size
        groups = [taught[:3], *([digest] for digest in taught[3:])]
        by_ours, by_theirs = (
            [one.judgement for one in without_groups(of, Scoring(), groups)] for of in (supposed, real)
        )
        assert by_ours == by_theirs
    assert lessons.verify() == []
    assert lessons.totals()[:2].tolist() == [12, 12]


def test_a_message_that_teaches_nothing_is_judged_by_all_others() -> None:
    """A message supposed to teach nothing is still judged, exactly as a filter judges it that has not learned it."""
    lessons, real = _lessons(), _lessons()
    digest = next(sample_lessons(1)).reading.digest
    supposed = Supposed(lessons)
    supposed.suppose({digest: None})
    (judged,) = without_groups(supposed, Scoring(), [[digest]])
    (without,) = without_groups(real, Scoring(), [[digest]])
    assert (judged.lesson.label, judged.judgement) == (None, without.judgement)
