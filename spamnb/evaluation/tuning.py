"""What other cutoffs would do to a person's own mail, and how true its probabilities are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spamnb.evaluation.measures import BINS, Measure, bins_of, wilson

CUTOFFS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999)
"""Spam cutoffs worth a look: about evenly spaced in log-odds."""


@dataclass(frozen=True, slots=True)
class AtCutoff:
    """What a spam cutoff does: `lost` of `ham` messages are taken for spam, `caught` of `spam` messages are.

    lost_share, caught_share: the same in percent, with their 95 % intervals (Wilson).
    """

    cutoff: float
    ham: int
    lost: int
    spam: int
    caught: int

    @property
    def lost_share(self) -> Measure:
        """Of the ham."""
        return wilson(self.lost, self.ham)

    @property
    def caught_share(self) -> Measure:
        """Of the spam."""
        return wilson(self.caught, self.spam)


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Messages whose probability is in [low, high): its mean, how many they are, and how many of them are spam."""

    low: float
    high: float
    mean: float
    messages: int
    spam: int

    @property
    def share(self) -> Measure:
        """Spam in percent, with its 95 % interval."""
        return wilson(self.spam, self.messages)


def at_cutoffs(
    is_spam: NDArray[np.bool_], probability: NDArray[np.float64], cutoffs: Sequence[float] = CUTOFFS
) -> list[AtCutoff]:
    """What each cutoff does to messages, bool (n,) and float64 (n,), of which some are ham and some are spam.

    >>> at_cutoffs(np.array([False, False, True]), np.array([0.1, 0.96, 0.99]), [0.95, 0.98])[0]
    AtCutoff(cutoff=0.95, ham=2, lost=1, spam=1, caught=1)
    """
    ham, spam = np.sort(probability[~is_spam]), np.sort(probability[is_spam])
    lost = len(ham) - np.searchsorted(ham, cutoffs)
    caught = len(spam) - np.searchsorted(spam, cutoffs)
    numbers = zip(cutoffs, lost.tolist(), caught.tolist(), strict=True)
    return [AtCutoff(cutoff, len(ham), above, len(spam), found) for cutoff, above, found in numbers]


def lost_at(is_spam: NDArray[np.bool_], probability: NDArray[np.float64], cutoff: float) -> list[int]:
    """The places of the ham that a cutoff loses, the most probable spam first."""
    places = np.flatnonzero(~is_spam & (probability >= cutoff))
    found: list[int] = places[np.argsort(-probability[places], kind="stable")].tolist()
    return found


def calibration(is_spam: NDArray[np.bool_], probability: NDArray[np.float64]) -> list[CalibrationBin]:
    """Ten bins of equal width; those that no message is in are left out."""
    bins = bins_of(probability)
    messages = np.bincount(bins, minlength=BINS)
    spam = np.bincount(bins, weights=is_spam, minlength=BINS)
    sums = np.bincount(bins, weights=probability, minlength=BINS)
    return [
        CalibrationBin(b / BINS, (b + 1) / BINS, float(sums[b] / messages[b]), int(messages[b]), int(spam[b]))
        for b in range(BINS)
        if messages[b]
    ]
