"""Multivariate Gauss: each attribute is normally distributed in each class, with its own mean and variance.

Metsis, Androutsopoulos and Paliouras, "Spam Filtering with Naive Bayes - Which Naive Bayes?", CEAS 2006,
section 3.4. Attributes are relative term frequencies (see `frequencies`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from spamnb.bayes.arrays import FloatArray, IntArray, as_classes, as_csr, entry_rows
from spamnb.bayes.base import EventModel

if TYPE_CHECKING:
    from spamnb.bayes.arrays import CsrArray, Matrix

CELLS = 2**20
"""Cells of a sparse matrix that are written out at a time (8 MiB)."""


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Number of messages, mean and summed squared deviation of each token's values, by class.

    class_messages: int64 (2,). mean, deviation: float64 (2, n_tokens), in the values' unit and its square.
    """

    class_messages: IntArray
    mean: FloatArray
    deviation: FloatArray

    @classmethod
    def from_matrix(cls, x: Matrix, y: ArrayLike) -> Self:
        """The moments of values x (n_messages, n_tokens) with labels y (n_messages,)."""
        rows = as_csr(x)
        n_messages, n_tokens = rows.shape
        labels = as_classes(y, n_messages)
        n = np.bincount(labels, minlength=2).astype(np.int64)
        cell = labels[entry_rows(rows)] * n_tokens + rows.indices

        def total(values: FloatArray | None) -> FloatArray:
            return np.bincount(cell, weights=values, minlength=2 * n_tokens).astype(np.float64)

        mean = total(rows.data) / np.repeat(np.maximum(n, 1), n_tokens)
        zeros = np.repeat(n, n_tokens) - total(None)
        deviation = total((rows.data - mean[cell]) ** 2) + zeros * mean**2
        return cls(n, mean.reshape(2, n_tokens), deviation.reshape(2, n_tokens))

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return int(self.mean.shape[1])

    def __add__(self, other: Self) -> Self:
        """Both sets of messages: the pairwise update of Chan, Golub and LeVeque, 1983."""
        ours, theirs = self.class_messages[:, np.newaxis], other.class_messages[:, np.newaxis]
        n = np.maximum(ours + theirs, 1)
        apart = other.mean - self.mean
        return type(self)(
            self.class_messages + other.class_messages,
            self.mean + apart * theirs / n,
            self.deviation + other.deviation + apart**2 * ours * theirs / n,
        )

    def __sub__(self, other: Self) -> Self:
        """The messages of `other` forgotten: the same update backwards, up to rounding."""
        n = self.class_messages[:, np.newaxis]
        theirs = other.class_messages[:, np.newaxis]
        left = n - theirs
        if (left < 0).any():
            raise ValueError("cannot forget messages that were never learned")
        mean = (n * self.mean - theirs * other.mean) / np.maximum(left, 1)
        apart = other.mean - mean
        deviation = self.deviation - other.deviation - apart**2 * left * theirs / np.maximum(n, 1)
        some = left > 0
        return type(self)(left[:, 0], np.where(some, mean, 0.0), np.where(some, np.maximum(deviation, 0.0), 0.0))

    def pooled_variance(self) -> FloatArray:
        """Variance of each token's values over all messages, shape (n_tokens,)."""
        n = self.class_messages[:, np.newaxis]
        between = (self.mean[1] - self.mean[0]) ** 2 * n[0] * n[1] / max(int(n.sum()), 1)
        return np.asarray((self.deviation.sum(axis=0) + between) / max(int(n.sum()), 1))


class Gaussian(EventModel[Moments, tuple[FloatArray, FloatArray]]):
    """Gaussian naive Bayes on sparse values, in bounded memory.

    var_smoothing: this share of the largest variance of any token is added to every variance, which would
        be 0 for a token that all messages of a class have alike.

    Ham has 1 and 3, spam 5 and 7: means 2 and 6, variances 1, and 4 lies between.

    >>> model = Gaussian().fit(np.array([[1.0], [3.0], [5.0], [7.0]]), [0, 0, 1, 1])
    >>> model.mean_.tolist(), model.predict_proba(np.array([[4.0]])).round(3).tolist()
    ([[2.0], [6.0]], [[0.5, 0.5]])
    """

    def __init__(
        self,
        var_smoothing: float = 1e-9,
        *,
        class_prior_alpha: float | None = None,
        fit_prior: bool = True,
    ) -> None:
        super().__init__(class_prior_alpha=class_prior_alpha, fit_prior=fit_prior)
        if not var_smoothing >= 0:
            raise ValueError("var_smoothing is a number that is 0 or more")
        self.var_smoothing = var_smoothing

    @property
    def mean_(self) -> FloatArray:
        """Mean of each token's values, shape (2, n_tokens)."""
        return self.statistics_.mean

    @property
    def var_(self) -> FloatArray:
        """Smoothed variance of each token's values, shape (2, n_tokens)."""
        return self.derived_[1]

    def _count(self, x: CsrArray, y: ArrayLike) -> Moments:
        return Moments.from_matrix(x, y)

    def _derive(self, statistics: Moments) -> tuple[FloatArray, FloatArray]:
        n = np.maximum(statistics.class_messages, 1)[:, np.newaxis]
        epsilon = self.var_smoothing * float(statistics.pooled_variance().max(initial=0.0))
        # Where no token varies at all, any spread will do that is the same for both classes.
        return statistics.mean, statistics.deviation / n + (epsilon or np.finfo(np.float64).tiny ** 0.25)

    def _log_likelihood(self, x: CsrArray) -> FloatArray:
        mean, variance = self.derived_
        constant = -0.5 * np.log(2 * np.pi * variance).sum(axis=1)
        squares = np.zeros((x.shape[0], 2))
        n_rows = max(1, CELLS // max(1, x.shape[1]))
        for start in range(0, x.shape[0], n_rows):
            block = x[start : start + n_rows].toarray()
            for c in (0, 1):
                squares[start : start + n_rows, c] = ((block - mean[c]) ** 2 / variance[c]).sum(axis=1)
        return np.where(self.class_count_ > 0, constant - 0.5 * squares, -np.inf)
