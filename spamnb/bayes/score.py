"""The score that ranks messages: a mean of their tokens' log-odds, each weighted by its own strength.

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

from typing import TypeVar

import numpy as np

from spamnb.bayes.arrays import FloatArray, IntArray

Sum = TypeVar("Sum", float, FloatArray)

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


def weights(log_odds: FloatArray, crowd: IntArray) -> FloatArray:
    """The weight of each token, float64 (n,), for log-odds (n,) that are 0 for tokens never learned.

    crowd: int64 (n,), how many tokens of the message are of its kind. |log-odds| · crowd^CROWD, and UNKNOWN in the
    place of |log-odds| for a token without evidence.
    """
    strength = np.where(log_odds == 0.0, UNKNOWN, np.abs(log_odds))
    return strength * crowd.astype(np.float64) ** CROWD


def score(log_odds: FloatArray, weight: FloatArray) -> float:
    """Σ w · log-odds / (CAUTION + Σ w), for log-odds (n,) and weights w (n,).

    >>> log_odds = np.array([3.0, -1.0])
    >>> score(log_odds, weights(log_odds, np.array([1, 1])))  # (9 - 1) / (20 + 4)
    0.3333333333333333
    """
    return _mean(float(weight @ log_odds), float(weight.sum()))


def scores(log_odds: FloatArray, weight: FloatArray, lengths: IntArray) -> FloatArray:
    """The score of each of several messages, float64 (n_messages,); their tokens follow one another.

    log_odds, weight: float64 (n_entries,). lengths: int64 (n_messages,), how many of the entries are of each.

    >>> scores(np.array([3.0, -1.0, 3.0]), np.array([3.0, 1.0, 3.0]), np.array([2, 0, 1])).round(4).tolist()
    [0.3333, 0.0, 0.3913]
    """
    message = np.repeat(np.arange(len(lengths)), lengths)
    evidence, weights_ = (np.bincount(message, part, len(lengths)) for part in (weight * log_odds, weight))
    return _mean(evidence.astype(np.float64), weights_.astype(np.float64))


def _mean(evidence: Sum, weight: Sum) -> Sum:
    return evidence / (CAUTION + weight)


def kind(token: str) -> str:
    """What a token is, by its prefix: `subject:` of `subject:hello`, and "" of all bare words."""
    return token[: token.find(":") + 1]
