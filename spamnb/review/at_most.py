"""How many of the moved messages were ham at most, by those that were drawn at random and that a person has answered.

Mail is drawn by cells: of each month and each layer of certainty one message, each with the same chance. So the number
of ham among the drawn is a sum of independent trials, with a chance of its own for each cell: the cell's share of ham.
If the mean of these shares is above the bound of Clopper and Pearson for one binomial, so few ham are drawn with a
chance of at most 5 %: by Hoeffding, no other shares with that mean make it more probable. The messages of a cell count
as many times as there are: the worst case is that the ham is in the largest cells.

C. J. Clopper, E. S. Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial",
Biometrika 26 (1934). W. Hoeffding, "On the Distribution of the Number of Successes in Independent Trials", Annals of
Mathematical Statistics 27 (1956), theorem 4: it holds if the mean number of ham is greater than the drawn number by one
at least, hence the maximum in `_share`.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

CONFIDENCE = 0.95
_STEPS = 60  # halvings: to the last digit


class Drawn(NamedTuple):
    """A message that was drawn and answered. of: the number of messages in its cell. is_ham: by the answer."""

    of: int
    is_ham: bool


def at_most(drawn: Sequence[Drawn], confidence: float = CONFIDENCE) -> int:
    """Return how many messages of the cells were ham at most, with that confidence.

    >>> at_most([Drawn(100, False)] * 12), at_most([Drawn(100, False)] * 240), at_most([Drawn(10, False)])
    (265, 297, 10)
    """
    left, found = len(drawn) * _share(sum(one.is_ham for one in drawn), len(drawn), confidence), 0.0
    for one in sorted(drawn, reverse=True):  # the largest cells first
        found += one.of * min(1.0, left)
        left -= min(1.0, left)
    return math.floor(found + 1e-6)


def _share(ham: int, number: int, confidence: float) -> float:
    """Return the largest mean share of ham in the cells that the draws do not refute: this number, of them this ham."""
    if ham >= number:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _chance_of_at_most(ham, number, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return min(1.0, max(high, (ham + 1) / number))


def _chance_of_at_most(ham: int, number: int, share: float) -> float:
    """Return the distribution function of the binomial.

    >>> round(_chance_of_at_most(1, 3, 0.5), 6)
    0.5
    """
    return sum(math.comb(number, each) * share**each * (1 - share) ** (number - each) for each in range(ham + 1))
