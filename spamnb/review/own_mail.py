"""Judge all learned mail without itself, once: for the cutoffs, the calibration, and what may be filed wrongly.

Near-copies are left out together (`near_copies`), so that no issue of a newsletter is judged by the others.
"""

from array import array
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spamnb.base.label import Label
from spamnb.config import Scoring
from spamnb.filter.leave_one_out import JudgedWithoutItself, learned_now, without_groups
from spamnb.ledger.ledger import Ledger
from spamnb.review.first_questions import FirstQuestions, still_open
from spamnb.review.misfiled import Misfiled, suspected, with_clues
from spamnb.review.near_copies import groups

MOST = 30_000  # the newest messages; judging them takes some 5 s
_TOLD_EVERY = 250  # messages


@dataclass(frozen=True, slots=True, eq=False)
class OwnMail:
    """The newest learned messages, each judged by a filter that has learned all others.

    change: the number of the last lesson in it. learned: the number of learned messages in all. digests: the identities
    of the judged messages; is_spam: bool (n,), their labels; probability: float64 (n,); learned_at: float64 (n,),
    seconds since the epoch. findings: what may be filed wrongly, as in `misfiled`, but without the places of the files.
    first: the questions about mail from before the filter; no doubted message of these is in a finding.
    """

    change: int
    learned: int
    digests: tuple[bytes, ...]
    is_spam: NDArray[np.bool_]
    probability: NDArray[np.float64]
    learned_at: NDArray[np.float64]
    findings: tuple[Misfiled, ...]
    first: FirstQuestions


def judge_own_mail(
    ledger: Ledger, scoring: Scoring, tell: Callable[[int, int], object] = lambda done, of: None, most: int = MOST
) -> OwnMail:
    """Judge the newest learned messages, at most `most`. tell: gets how many are judged, and of how many."""
    with ledger.snapshot():
        lessons = ledger.lessons
        change, learned_in_all = lessons.last_change(), int(lessons.totals()[:2].sum())
        copies = list(groups(deque(learned_now(lessons), maxlen=most)))
        of = sum(map(len, copies))
        digests: list[bytes] = []
        is_spam, probability, learned_at = array("b"), array("d"), array("d")

        def judged() -> Iterator[JudgedWithoutItself]:
            for number, left in enumerate(without_groups(lessons, scoring, copies)):
                digests.append(left.lesson.digest)
                is_spam.append(left.lesson.label is Label.SPAM)
                probability.append(left.judgement.probability)
                learned_at.append(left.lesson.at)
                if number % _TOLD_EVERY == 0:
                    tell(number, of)
                yield left

        first = still_open(ledger, scoring)
        asked = {digest for question in first.asked for digest in question.copies}
        suspects = [finding for finding in suspected(ledger, judged()) if finding.digest not in asked]
        findings = with_clues(lessons, scoring, suspects, copies)
    return OwnMail(
        change,
        learned_in_all,
        tuple(digests),
        np.array(is_spam, dtype=bool),
        np.array(probability),
        np.array(learned_at),
        tuple(findings),
        first,
    )
