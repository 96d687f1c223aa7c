"""The questions of the first day: which messages of the ham folders are spam?

They are the messages that the filter doubts, the most like spam first. If Junk holds little, these are few, and the
next ones in that order follow. With next to nothing in Junk no probability means anything. Then they are the messages
that look least like the others: the share of their tokens that no other message has is the largest. Spam in an inbox is
mostly such mail, and so is a first letter from somebody new.

One message stands for its near-copies. csdmc2010, 5 in Junk and 30 spam among 300 ham, three screens of ten questions:
of later spam 38 % is caught if only doubted messages are asked about, 56 % by the share of own tokens alone, 64 % so.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from spamnb.config import Scoring
from spamnb.filter.leave_one_out import without_groups
from spamnb.ledger.lessons.port import Lesson, Lessons
from spamnb.review.first_lessons import Shown, doubted
from spamnb.review.near_copies import shape
from spamnb.rules import weak_lessons


class FirstQuestion(NamedTuple):
    """A message to ask about. copies: the identities of the message and its near-copies.

    probability: of spam, without these; None if too little spam is learned to tell.
    """

    summary: str
    copies: tuple[bytes, ...]
    probability: float | None


def first_questions(
    lessons: Lessons, scoring: Scoring, digests: Collection[bytes], *, has_little: bool, shown: Shown = iter
) -> list[FirstQuestion]:
    """Return the questions about learned ham messages, in the order in which to ask them.

    has_little: Junk holds too little for the doubts to find most spam. shown: as for `first_lessons.sift`.
    """
    ham, spam = lessons.totals()[:2].tolist()
    if weak_lessons.lacks_spam(ham, spam):
        return _unusual(lessons, digests)
    doubts = doubted(lessons, scoring, digests, shown)
    found = _by_probability(_templates(lessons, doubts), {digest: doubts[digest].probability for digest in doubts})
    if not has_little:
        return found
    others = _templates(lessons, [digest for digest in digests if digest not in doubts])
    judged = without_groups(lessons, scoring, [_digests(copies) for copies in others])
    return found + _by_probability(others, {left.lesson.digest: left.judgement.probability for left in judged})


def _by_probability(templates: Iterable[Sequence[Lesson]], probabilities: Mapping[bytes, float]) -> list[FirstQuestion]:
    found = [
        FirstQuestion(copies[0].summary, _digests(copies), max(probabilities[copy.digest] for copy in copies))
        for copies in templates
    ]
    return sorted(found, key=lambda question: -(question.probability or 0.0))


def _unusual(lessons: Lessons, digests: Collection[bytes]) -> list[FirstQuestion]:
    """Return a question for each template among these messages; first the one with the largest share of own tokens."""
    shares = []
    for copies in _templates(lessons, digests):
        learned = lessons.learned([copies[0].digest])
        is_own = learned.counts.messages.sum(axis=0) <= len(copies)
        shares.append((-float(np.mean(is_own)) if len(is_own) else 0.0, copies))
    shares.sort(key=lambda one: one[0])
    return [FirstQuestion(copies[0].summary, _digests(copies), None) for _, copies in shares]


def _templates(lessons: Lessons, digests: Iterable[bytes]) -> list[list[Lesson]]:
    """Return the lessons of these messages, near-copies together."""
    templates: dict[tuple[str, str], list[Lesson]] = {}
    for digest in digests:
        if (lesson := lessons.find(digest)) is not None:
            templates.setdefault(shape(lesson.summary), []).append(lesson)
    return list(templates.values())


def _digests(copies: Iterable[Lesson]) -> tuple[bytes, ...]:
    return tuple(copy.digest for copy in copies)
