"""The score that ranks messages: a mean of their tokens' log-odds, each weighted by its own strength.

Of one message it is worked out in plain numbers, here; of many in arrays (`score_arrays`).

The textbook posterior is the sum of the log-odds. It grows with a message's length until messages that differ have
the same probability 0 or 1, and so it ranks badly. A mean does not saturate. (1−ROCA)% online, on csdmc2010 in index
order / with subject and body only / on Enron1 / on Enron6:

    the sum, α = 1                                0.320 / 0.587 / 0.396 / 1.546
    the mean                                      0.025 / 0.100 / 0.201 / 0.148
    the mean without weak tokens (|p − ½| < 0.4)  0.022 / 0.091 / 0.192 / 0.202
    this score                                    0.020 / 0.097 / 0.170 / 0.137

Weighting by strength does what dropping weak tokens does, without a threshold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import mul
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from spamnb.bayes.arrays import FloatArray

    Quantity = TypeVar("Quantity", float, FloatArray)

# What pulls a message with little evidence to 0, in units of one token's log-odds. Without it:
# 0.020 / 0.101 / 0.187 / 0.156.
CAUTION = 20.0

# Tokens of one kind, such as the hosts of all Received fields, repeat one another. Dividing by the fourth root of their
# number gives a large group less weight; without it: 0.024 / 0.104 / 0.177 / 0.135, and on second halves 0.007 for
# 0.002.
CROWD = -0.25

# A token never learned has no evidence, but weighs as much as a weak one. Without: 0.020 / 0.098 / 0.171 / 0.127, and
# 0.024 for 0.021 over shuffled orders of csdmc2010.
UNKNOWN = 1.0

# Log-odds below this are 0 but for rounding, which differs between versions of numpy: the weight must not depend on it.
NOTHING = 1e-12


def weights(log_odds: Sequence[float], kinds: Sequence[str]) -> list[float]:
    """The weight of each token of a message, for log-odds that are 0 for tokens never learned, and their kinds.

    |log-odds| · crowd^CROWD, with UNKNOWN in the place of |log-odds| for a token without evidence. crowd: how many of
    the tokens are of its kind.

    >>> weights([3.0, -1.0, 0.0], ["", "subject:", "subject:"])  # 3 · 1, 1 · 2^-¼, 1 · 2^-¼
    [3.0, 0.8408964152537145, 0.8408964152537145]
    """
    return in_crowd(map(strength, log_odds), kinds)


def strength(log_odds: float) -> float:
    """The weight of a token that is alone of its kind."""
    size = abs(log_odds)
    return size if size > NOTHING else UNKNOWN


def in_crowd(strengths: Iterable[float], kinds: Sequence[str]) -> list[float]:
    """The weights of tokens with these strengths: as `weights`, for many messages that share tokens."""
    factors: dict[str, float] = {of: number**CROWD for of, number in Counter(kinds).items()}
    return list(map(mul, strengths, map(factors.__getitem__, kinds)))


def score(log_odds: Sequence[float], weights: Sequence[float]) -> float:
    """Σ w · log-odds / (CAUTION + Σ w), for the tokens of a message.

    >>> score([3.0, -1.0], [3.0, 1.0])  # (9 - 1) / (20 + 4)
    0.3333333333333333
    """
    evidence: float = sum(map(mul, weights, log_odds))
    return mean(evidence, sum(weights))


def shares(log_odds: Sequence[float], weights: Sequence[float]) -> list[float]:
    """What each token adds to the score, which is their sum; CAUTION and tokens never learned only pull it to 0.

    >>> shares([3.0, -1.0], [3.0, 1.0])  # 9 / (20 + 4), -1 / (20 + 4)
    [0.375, -0.041666666666666664]
    """
    weight = sum(weights)
    return [mean(each * odds, weight) for odds, each in zip(log_odds, weights, strict=True)]


def silent(log_odds: Sequence[float], weights: Sequence[float]) -> float:
    """The part of the weight, from 0 to 1, that speaks for nothing: CAUTION, and tokens without evidence.

    >>> silent([3.0, 0.0], [3.0, 1.0])  # 21 / (20 + 4)
    0.875
    """
    known = sum(weight for odds, weight in zip(log_odds, weights, strict=True) if abs(odds) > NOTHING)
    return 1 - mean(known, sum(weights))


def mean(evidence: Quantity, weight: Quantity) -> Quantity:
    """Evidence of so much weight, as a score."""
    return evidence / (CAUTION + weight)


def kind(token: str) -> str:
    """What a token is, by its prefix: `subject:` of `subject:hello`, and "" of all bare words."""
    return token[: token.find(":") + 1]
