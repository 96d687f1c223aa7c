"""Compute the score of many messages in arrays: the same score as `score_plain` gives for each message."""

from __future__ import annotations

import numpy as np

from spamnb.base.label import Label
from spamnb.bayes.arrays import FloatArray, IntArray, log_difference
from spamnb.bayes.base import Counts, log_prob
from spamnb.bayes.estimate import Estimate
from spamnb.bayes.score_plain import CAUTION, FAMILY, GRAMS, NOTHING, UNKNOWN, mean_shares

_OF_GRAMS = 1


def first_numbers() -> dict[str, int]:
    """Return the numbers of the families that `weights_of` knows: 0 for bare words, 1 for grams; others are higher."""
    return {"": 0, GRAMS: _OF_GRAMS}


def log_odds_of(counts: Counts, estimate: Estimate, alpha: float) -> FloatArray:
    """Return log P(token | spam) - log P(token | ham) of each token, float64 (n_tokens,).

    It is 0 if both are impossible, and for tokens that were never learned.
    """
    of_class = log_prob(counts, estimate, alpha)
    log_odds = log_difference(of_class[Label.SPAM], of_class[Label.HAM])
    return np.where(counts.messages.any(axis=0), log_odds, 0.0)


def weights_of(log_odds: FloatArray, families: IntArray, lengths: IntArray) -> FloatArray:
    """Return the weight of each token in the score of its message, float64 (n_entries,). Messages follow one another.

    log_odds: float64 (n_entries,), 0 for tokens never learned. families: int64 (n_entries,), the number of each token's
    family, as in `first_numbers`. lengths: int64 (n_messages,), the number of entries of each message.
    """
    message = np.repeat(np.arange(len(lengths)), lengths)
    cell = message * (int(families.max(initial=0)) + 1) + families
    of_size = np.maximum(np.bincount(cell), 1).astype(np.float64) ** FAMILY  # of each cell: a power takes long
    is_gram = families == _OF_GRAMS
    amount = np.abs(log_odds)
    share = np.where(amount > NOTHING, amount * np.sqrt(amount), UNKNOWN)
    share *= np.where(is_gram, 1.0, of_size[cell])
    mean = 2 * message + is_gram
    sums = np.bincount(mean, share, 2 * len(lengths))
    grams = np.bincount(message, is_gram, len(lengths)).astype(np.int64)
    of_score = np.array([mean_shares(number) for number in grams.tolist()], dtype=np.float64).ravel()
    return np.asarray(share * (of_score / (CAUTION + sums))[mean])


def scores_of(log_odds: FloatArray, weight: FloatArray, lengths: IntArray) -> FloatArray:
    """Return the score of each message, float64 (n_messages,). Their tokens follow one another.

    log_odds, weight: float64 (n_entries,). lengths: int64 (n_messages,), the number of entries of each message.

    >>> scores_of(np.array([3.0, -1.0, 3.0]), np.array([0.2, 0.1, 0.5]), np.array([2, 0, 1])).round(4).tolist()
    [0.5, 0.0, 1.5]
    """
    message = np.repeat(np.arange(len(lengths)), lengths)
    return np.bincount(message, weight * log_odds, len(lengths)).astype(np.float64)
