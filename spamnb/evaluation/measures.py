"""Measures of a filter: those of the TREC spam track, and how well its probabilities are calibrated.

Cormack and Lynam, "TREC 2005 Spam Track Overview". All rates are in percent. A message counts as taken for spam
only if that is the verdict: what the filter is unsure of stays in the inbox.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spamnb.label import Label, Verdict

_BINS = 10
_Z = 1.959963984540054  # of the normal distribution, for 95 %


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the filter judged one message. `label`: the truth. `score`: what it ranks by."""

    name: str
    label: Label
    verdict: Verdict
    probability: float
    score: float


@dataclass(frozen=True, slots=True)
class Measure:
    """A value in percent, with its 95 % interval."""

    value: float
    low: float
    high: float


def measure(outcomes: Sequence[Outcome], seed: int = 0, resamples: int = 200) -> dict[str, Measure]:
    """All measures of a run.

    hm: ham taken for spam. sm: spam not taken for spam. lam: their logistic mean. one_minus_roca: 100 minus the
    area under the ROC curve in percent. sm_at_hm: spam missed where 0.1 % of the ham is lost. unsure: what got
    no verdict. brier and calibration: 100 times the Brier score and the expected calibration error.

    Intervals of hm, sm and unsure are Wilson's; of the others, percentiles of a stratified bootstrap.
    """
    y = np.array([outcome.label for outcome in outcomes], dtype=bool)
    score = np.array([outcome.score for outcome in outcomes])
    probability = np.array([outcome.probability for outcome in outcomes])
    spam = np.array([outcome.verdict is Verdict.SPAM for outcome in outcomes])
    unsure = np.array([outcome.verdict is Verdict.UNSURE for outcome in outcomes])
    exact = {
        "hm": _wilson(int((spam & ~y).sum()), int((~y).sum())),
        "sm": _wilson(int((~spam & y).sum()), int(y.sum())),
        "unsure": _wilson(int(unsure.sum()), len(y)),
    }
    values = _resampled(y, score, probability, spam)
    choose = np.random.default_rng(seed)
    classes = np.flatnonzero(~y), np.flatnonzero(y)
    tries = []
    for _ in range(resamples):
        taken = np.concatenate([choose.choice(places, len(places)) for places in classes])
        tries.append(list(_resampled(y[taken], score[taken], probability[taken], spam[taken]).values()))
    low, high = np.percentile(np.array(tries), [2.5, 97.5], axis=0) if tries else (list(values.values()),) * 2
    return exact | {
        name: Measure(value, float(low[place]), float(high[place]))
        for place, (name, value) in enumerate(values.items())
    }


def _resampled(
    y: NDArray[np.bool_], score: NDArray[np.float64], probability: NDArray[np.float64], spam: NDArray[np.bool_]
) -> dict[str, float]:
    n_ham, n_spam = int((~y).sum()), int(y.sum())
    return {
        "lam": logistic_mean(int((spam & ~y).sum()), n_ham, int((~spam & y).sum()), n_spam),
        "one_minus_roca": one_minus_roca(score, y),
        "sm_at_hm": missed_at(score, y, 0.001),
        "brier": 100 * float(np.mean((probability - y) ** 2)),
        "calibration": calibration_error(probability, y),
    }


def one_minus_roca(score: NDArray[np.float64], y: NDArray[np.bool_]) -> float:
    """100 · (1 − area under the ROC curve): how often a ham ranks above a spam; ties count half.

    >>> one_minus_roca(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
    25.0
    """
    ham, spam = np.sort(score[~y]), score[y]
    above = len(ham) - np.searchsorted(ham, spam, side="right")
    tied = np.searchsorted(ham, spam, side="right") - np.searchsorted(ham, spam, side="left")
    return 100 * float((above + tied / 2).sum()) / (len(ham) * len(spam))


def missed_at(score: NDArray[np.float64], y: NDArray[np.bool_], ham_lost: float) -> float:
    """Spam missed, in percent, at the lowest cutoff that loses no more than this share of the ham."""
    ham = np.sort(score[~y])[::-1]
    cutoff = ham[min(int(ham_lost * len(ham)), len(ham) - 1)]
    return 100 * float((score[y] <= cutoff).mean())


def logistic_mean(ham_lost: int, n_ham: int, spam_missed: int, n_spam: int) -> float:
    """lam% = logit⁻¹((logit hm + logit sm) / 2), with half an error more in each cell so that 0 has a logit."""

    def logit(errors: int, n: int) -> float:
        return math.log((errors + 0.5) / (n - errors + 0.5))

    mean = (logit(ham_lost, n_ham) + logit(spam_missed, n_spam)) / 2
    return 100 / (1 + math.exp(-mean))


def calibration_error(probability: NDArray[np.float64], y: NDArray[np.bool_]) -> float:
    """Mean distance between probability and truth over ten bins of equal width, weighted by messages, in percent."""
    bins = np.minimum((probability * _BINS).astype(int), _BINS - 1)
    gaps = [abs(float((probability[bins == b] - y[bins == b]).sum())) for b in range(_BINS)]
    return 100 * sum(gaps) / len(y)


def cutoff_for(outcomes: Sequence[Outcome], one_in: int, least: float) -> tuple[float, float]:
    """The lowest spam cutoff from `least` up at which at most one ham in `one_in` is lost, and the spam then caught.

    The cutoff is a probability, the spam caught in percent. The cutoff is above the strongest ham that has to be
    spared, about half the way to the next spam, and has no more decimals than that takes: it is written down. Where no
    ham comes near, that would be anything from 0 to 1: some mail can show that a cutoff is too low, hardly that it is
    too high.
    """
    ham = sorted((outcome.probability for outcome in outcomes if outcome.label is Label.HAM), reverse=True)
    spam = sorted(outcome.probability for outcome in outcomes if outcome.label is Label.SPAM)
    spared = ham[min(len(ham) // one_in, len(ham) - 1)]
    above = next((probability for probability in spam if probability > spared), 1.0)
    cutoff = max(least, _between(spared, above))
    return cutoff, 100 * sum(probability >= cutoff for probability in spam) / len(spam)


def _between(low: float, high: float) -> float:
    """A number with few decimals above `low`, and up to `high`."""
    tries = (round((low + high) / 2, decimals) for decimals in range(2, 17))
    return next((number for number in tries if low < number <= high), high)


def _wilson(errors: int, n: int) -> Measure:
    """Wilson, "Probable inference, the law of succession, and statistical inference", 1927."""
    p = errors / n
    centre = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
    return Measure(100 * p, 100 * max(0.0, centre - half), 100 * min(1.0, centre + half))
