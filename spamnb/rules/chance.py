"""The chance of a number of messages of one kind, if a person's earlier mail tells the usual share of that kind."""

import math

ABNORMAL = 1e-6  # below this a share is not usual for a person


def chance_of_at_least(number: int, of: int, before: tuple[int, int]) -> float:
    """Return the chance of at least this number of a kind among the next messages: the beta-binomial distribution.

    before: the earlier messages of that kind, at least one, and the others.

    >>> chance_of_at_least(97, 100, (400, 600)) < 1e-6 < chance_of_at_least(97, 100, (950, 50))
    True
    """
    a, b = before[0], before[1] + 1
    return math.fsum(math.exp(_log_chance(each, of, a, b)) for each in range(number, of + 1))


def _log_chance(number: int, of: int, a: float, b: float) -> float:
    """Return log P(number | of, a, b)."""
    ways = -_log_beta(number + 1, of - number + 1) - math.log(of + 1)
    return ways + _log_beta(number + a, of - number + b) - _log_beta(a, b)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
