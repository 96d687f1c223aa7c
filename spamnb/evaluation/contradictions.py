"""Messages that a filter, which has not learned them, judges to be the opposite of what they are called.

Either the filter errs, or they are filed wrongly: only a person can tell.
"""

from collections.abc import Iterable

from spamnb.base.label import contradicts
from spamnb.evaluation.measures import Outcome


def contradicting(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """The messages whose verdict contradicts their label, the strongest contradiction first."""
    found = [outcome for outcome in outcomes if contradicts(outcome.label, outcome.verdict)]
    return sorted(found, key=lambda outcome: -abs(outcome.probability - outcome.label))
