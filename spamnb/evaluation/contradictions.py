"""Messages that a filter, which has not learned them, judges to be the opposite of what they are called.

Either the filter errs, or they are filed wrongly: only a person can tell.
"""

from collections.abc import Iterable

from spamnb.evaluation.measures import Outcome
from spamnb.label import Label

HAM_FROM = 0.95  # the probability from which on a message contradicts that it is called ham
SPAM_TO = 0.1  # and down to which it contradicts that it is called spam


def contradicting(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """The messages whose probability contradicts their label, the strongest contradiction first."""
    found = [
        outcome
        for outcome in outcomes
        if (outcome.probability >= HAM_FROM if outcome.label is Label.HAM else outcome.probability <= SPAM_TO)
    ]
    return sorted(found, key=lambda outcome: -abs(outcome.probability - outcome.label))
