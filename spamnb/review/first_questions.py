"""The questions of the first day: which messages of the ham folders are spam?

If the filter has learned enough spam, these are the messages that it doubts, the most like spam first. With less, no
verdict means anything. Then they are the messages that look least like the others: the share of their tokens that no
other message has is the largest. Spam in an inbox is mostly such mail, and so is a first letter from somebody new.

One message stands for its near-copies.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np

from spamnb.config import Scoring
from spamnb.ledger.lessons.port import Lesson, Lessons
from spamnb.review.first_lessons import doubted
from spamnb.review.near_copies import shape
from spamnb.rules import weak_lessons


class FirstQuestion(NamedTuple):
    """A message to ask about. copies: the identities of the message and its near-copies.

    probability: of spam, without these; None if too little spam is learned to tell.
    """

    summary: str
    copies: tuple[bytes, ...]
    probability: float | None


def first_questions(lessons: Lessons, scoring: Scoring, digests: Collection[bytes]) -> list[FirstQuestion]:
    """Return the questions about learned ham messages, in the order in which to ask them."""
    ham, spam = lessons.totals()[:2].tolist()
    if weak_lessons.lacks_spam(ham, spam):
        return _unusual(lessons, digests)
    doubts = doubted(lessons, scoring, digests)
    found = [
        FirstQuestion(copies[0].summary, _digests(copies), max(doubts[copy.digest].probability for copy in copies))
        for copies in _templates(lessons, doubts)
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
