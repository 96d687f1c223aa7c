"""The score of many messages, in arrays: the same as `score_plain` gives, message by message."""

from __future__ import annotations

import numpy as np

from spamnb.base.label import Label
from spamnb.bayes.arrays import FloatArray, IntArray, log_difference
from spamnb.bayes.base import Counts, log_prob
from spamnb.bayes.estimate import Estimate
from spamnb.bayes.score_plain import CROWD, NOTHING, UNKNOWN, mean


def log_odds_of(counts: Counts, estimate: Estimate, alpha: float) -> FloatArray:
    """log P(token | spam) - log P(token | ham) of each token, float64 (n_tokens,).

    It is 0 where both are impossible, and for tokens never learned.
    """
    of_class = log_prob(counts, estimate, alpha)
    log_odds = log_difference(of_class[Label.SPAM], of_class[Label.HAM])
    return np.where(counts.messages.any(axis=0), log_odds, 0.0)


def weights_of(log_odds: FloatArray, crowd: IntArray) -> FloatArray:
    """The weight of each token, float64 (n,), for log-odds (n,) that are 0 for tokens never learned.

    crowd: int64 (n,), how many tokens of the message are of its kind.
    """
    size = np.abs(log_odds)
    strength = np.where(size > NOTHING, size, UNKNOWN)
    return strength * crowd.astype(np.float64) ** CROWD


def scores_of(log_odds: FloatArray, weight: FloatArray, lengths: IntArray) -> FloatArray:
    """The score of each of several messages, float64 (n_messages,); their tokens follow one another.

    log_odds, weight: float64 (n_entries,). lengths: int64 (n_messages,), how many of the entries are of each.

    >>> scores_of(np.array([3.0, -1.0, 3.0]), np.array([3.0, 1.0, 3.0]), np.array([2, 0, 1])).round(4).tolist()
    [0.3333, 0.0, 0.3913]
    """
    message = np.repeat(np.arange(len(lengths)), lengths)
    evidence, weights_ = (np.bincount(message, part, len(lengths)) for part in (weight * log_odds, weight))
    return mean(evidence.astype(np.float64), weights_.astype(np.float64))
