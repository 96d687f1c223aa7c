"""From a score to the probability that a message is spam: a logistic or a monotone map, fitted to labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from spamnb.bayes.arrays import SPAM, FloatArray, as_classes

NEWTON_STEPS = 100
SMALLEST_STEP = 1e-10
RIDGE = 1e-12  # keeps the Hessian positive definite where labels say nothing about the slope


@dataclass(frozen=True, slots=True)
class LogisticMap:
    """P(spam | score) = 1 / (1 + exp(-(slope · score + intercept))).

    >>> LogisticMap(slope=2.0, intercept=0.0).probability(0.0)
    0.5
    """

    slope: float
    intercept: float

    @overload
    def probability(self, score: float) -> float: ...
    @overload
    def probability(self, score: FloatArray) -> FloatArray: ...
    def probability(self, score: float | FloatArray) -> float | FloatArray:
        """Probability of spam for a score, infinite or not, or for an array of scores of any shape."""
        scores = np.asarray(score, dtype=np.float64)
        exponent = np.full(scores.shape, self.intercept)
        if self.slope != 0:
            exponent += self.slope * scores
        probability = _logistic(exponent)
        return float(probability) if np.ndim(score) == 0 else probability


def fit_logistic(
    scores: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None, *, prior: float | None = None
) -> LogisticMap:
    """The logistic map of greatest likelihood for scores (n,) with labels (n,), 0 ham and 1 spam.

    Platt, "Probabilistic outputs for support vector machines", 1999, with his targets (N₊ + 1) / (N₊ + 2) and
    1 / (N₋ + 2) in the place of 1 and 0, so that separable classes yield a finite slope; Newton's method with
    backtracking after Lin, Lin and Weng, "A note on Platt's probabilistic outputs", 2007.

    weights: (n,), 0 or more; by default 1 each.
    prior: the share of spam to assume, if not that among the labels (both classes must then be there to be
        weighed against each other; with one class it changes nothing).
    Raises ValueError for a NaN score or impossible labels, weights or prior. Infinite scores count as one
    more than the largest (less than the least) finite score. Without any weight the map is ½ everywhere.
    """
    s, y, w = _samples(scores, labels, weights)
    if prior is not None and not 0 < prior < 1:
        raise ValueError("prior is a probability between 0 and 1")
    n_ham, n_spam = (float(w[y == c].sum()) for c in (0, 1))
    if n_ham + n_spam == 0:
        return LogisticMap(0.0, 0.0)
    target = np.where(y == SPAM, (n_spam + 1) / (n_spam + 2), 1 / (n_ham + 2))
    if prior is not None and n_ham > 0 and n_spam > 0:
        w = w * np.where(y == SPAM, prior / n_spam, (1 - prior) / n_ham) * (n_ham + n_spam)
    centre = float(np.average(s, weights=w))
    spread = math.sqrt(float(np.average((s - centre) ** 2, weights=w)))
    start = math.log((n_spam + 1) / (n_ham + 1))
    if not spread > RIDGE * abs(centre):
        mean = float(np.average(target, weights=w))
        return LogisticMap(0.0, math.log(mean / (1 - mean)))
    slope, intercept = _newton((s - centre) / spread, target, w / w.sum(), start)
    return LogisticMap(slope / spread, intercept - slope * centre / spread)


def _newton(s: FloatArray, target: FloatArray, w: FloatArray, intercept: float) -> tuple[float, float]:
    """Slope and intercept that minimise the cross-entropy of `target`, from slope 0."""
    slope = 0.0
    loss = _cross_entropy(slope * s + intercept, target, w)
    for _ in range(NEWTON_STEPS):
        p = _logistic(slope * s + intercept)
        error, curvature = w * (p - target), w * p * (1 - p)
        gradient = np.array([error @ s, error.sum()])
        if np.abs(gradient).max() < RIDGE:
            break
        mixed = curvature @ s
        hessian = np.array([[curvature @ s**2 + RIDGE, mixed], [mixed, curvature.sum() + RIDGE]])
        direction = -np.linalg.solve(hessian, gradient)
        step = 1.0
        while step >= SMALLEST_STEP:
            trial = slope + step * direction[0], intercept + step * direction[1]
            trial_loss = _cross_entropy(trial[0] * s + trial[1], target, w)
            if trial_loss < loss + 1e-4 * step * float(gradient @ direction):
                break
            step /= 2
        else:
            break
        slope, intercept, loss = float(trial[0]), float(trial[1]), trial_loss
    return slope, intercept


@dataclass(frozen=True, slots=True, eq=False)
class IsotonicMap:
    """P(spam | score) that never falls as the score rises: straight lines between knots, level outside them.

    scores: (n_knots,), rising. probabilities: (n_knots,), not falling.
    """

    scores: FloatArray
    probabilities: FloatArray

    @overload
    def probability(self, score: float) -> float: ...
    @overload
    def probability(self, score: FloatArray) -> FloatArray: ...
    def probability(self, score: float | FloatArray) -> float | FloatArray:
        """Probability of spam for a score, infinite or not, or for an array of scores of any shape."""
        probability = np.interp(score, self.scores, self.probabilities)
        return float(probability) if np.ndim(score) == 0 else np.asarray(probability)


def fit_isotonic(scores: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None) -> IsotonicMap:
    """The non-falling map of least squares for scores (n,) with labels (n,), by pooling adjacent violators.

    Ayer et al., "An empirical distribution function for sampling with incomplete information", 1955. Equal
    scores are pooled first. weights, errors and infinite scores as for `fit_logistic`.

    >>> isotonic = fit_isotonic([1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1])
    >>> isotonic.probability(np.array([0.0, 1.5, 2.5, 9.0])).tolist()
    [0.0, 0.25, 0.5, 1.0]
    """
    s, y, w = _samples(scores, labels, weights)
    s, y, w = s[w > 0], y[w > 0], w[w > 0]
    if not s.size:
        return IsotonicMap(np.zeros(1), np.full(1, 0.5))
    knots, position = np.unique(s, return_inverse=True)
    weight = np.bincount(position, weights=w)
    share = np.bincount(position, weights=w * y) / weight
    pools: list[tuple[float, float, int]] = []  # share of spam, weight, number of knots
    for pool in zip(share.tolist(), weight.tolist(), [1] * knots.size, strict=True):
        value, heft, length = pool
        while pools and pools[-1][0] >= value:
            before, its_heft, its_length = pools.pop()
            value = (before * its_heft + value * heft) / (its_heft + heft)
            heft, length = heft + its_heft, length + its_length
        pools.append((value, heft, length))
    lengths = np.array([length for _, _, length in pools])
    last = np.cumsum(lengths) - 1
    ends = np.unique(np.concatenate([last - lengths + 1, last]))
    return IsotonicMap(knots[ends], np.repeat([value for value, _, _ in pools], lengths)[ends])


def _samples(
    scores: ArrayLike, labels: ArrayLike, weights: ArrayLike | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    s = np.asarray(scores, dtype=np.float64)
    if s.ndim != 1 or np.isnan(s).any():
        raise ValueError("scores are numbers, one a message")
    y = as_classes(labels, s.size).astype(np.float64)
    w = np.ones(s.size) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != s.shape or not (np.isfinite(w) & (w >= 0)).all():
        raise ValueError("weights are finite and 0 or more, one a message")
    finite = s[np.isfinite(s)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    return np.clip(s, low - 1, high + 1), y, w


def _logistic(exponent: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * exponent)))


def _cross_entropy(exponent: FloatArray, target: FloatArray, w: FloatArray) -> float:
    return float(w @ (np.logaddexp(0.0, exponent) - target * exponent))
