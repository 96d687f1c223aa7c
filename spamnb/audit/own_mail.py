"""All learned mail judged without itself, once: for the cutoffs, the calibration, and what may be filed wrongly.

Near-copies are left out together (`near_copies`), so that the issues of a newsletter do not vouch for one another.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spamnb.audit.findings import Finding, suspected, with_clues
from spamnb.audit.near_copies import groups
from spamnb.config import Scoring
from spamnb.label import Label
from spamnb.leave_one_out import learned, without_groups
from spamnb.ledger.ledger import Ledger

MOST = 30_000  # messages: the newest; judging them takes some 5 s
_TOLD_EVERY = 250  # messages


@dataclass(frozen=True, slots=True, eq=False)
class OwnMail:
    """The newest learned messages as a filter judges them that has learned all others.

    change: the number of the last lesson that is in it. learned: how many messages were learned in all. digests: the
    identities of the messages judged; is_spam: bool (n,), their labels; probability: float64 (n,); learned_at: float64
    (n,), seconds since the epoch. findings: what may be filed wrongly, as `misfiled` has it, but where
    its files are is not looked for.
    """

    change: int
    learned: int
    digests: tuple[bytes, ...]
    is_spam: NDArray[np.bool_]
    probability: NDArray[np.float64]
    learned_at: NDArray[np.float64]
    findings: tuple[Finding, ...]


def own_mail(
    ledger: Ledger, scoring: Scoring, tell: Callable[[int, int], None] = lambda done, of: None, most: int = MOST
) -> OwnMail:
    """Judge the newest learned messages, at most so many. tell: is told how many of how many are judged."""
    with ledger.snapshot():
        lessons = ledger.lessons
        newest = deque(learned(lessons), maxlen=most)
        copies = list(groups(newest))
        judged = {}
        for number, one in enumerate(without_groups(lessons, scoring, copies)):
            judged[one.lesson.digest] = one
            if number % _TOLD_EVERY == 0:
                tell(number, len(newest))
        findings = with_clues(lessons, scoring, suspected(ledger, judged), copies)
        change, numbers = lessons.last_change(), lessons.totals()[:2]
    return OwnMail(
        change,
        int(numbers.sum()),
        tuple(judged),
        np.array([one.lesson.label is Label.SPAM for one in judged.values()], dtype=bool),
        np.array([one.judgement.probability for one in judged.values()], dtype=np.float64),
        np.array([one.lesson.at for one in judged.values()], dtype=np.float64),
        tuple(findings),
    )
