"""Multivariate Gauss: each attribute is normally distributed in each class, with its own mean and variance.

Metsis, Androutsopoulos and Paliouras, "Spam Filtering with Naive Bayes - Which Naive Bayes?", CEAS 2006,
section 3.4. Attributes are relative term frequencies (see `selection`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spamnb.base.label import Label
from spamnb.bayes.arrays import FloatArray, IntArray, as_reals, entry_rows
from spamnb.bayes.base import EventModel

if TYPE_CHECKING:
    from spamnb.bayes.arrays import CsrArray


class Gaussian(EventModel):
    """Gaussian naive Bayes on real numbers, also below 0.

    var_smoothing: this share of the largest variance of any token is added to every variance. Otherwise a token with
        the same value in all messages of a class would have variance 0.
    mean_, var_: mean and smoothed variance of each token's values, shape (2, n_tokens).

    Ham has 1 and 3, spam 5 and 7. The means are 2 and 6, the variances 1; 4 is in the middle.

    >>> model = Gaussian().fit(np.array([[1.0], [3.0], [5.0], [7.0]]), [0, 0, 1, 1])
    >>> model.mean_.tolist(), np.exp(model.predict_log_proba(np.array([[4.0]]))).round(3).tolist()
    ([[2.0], [6.0]], [[0.5, 0.5]])
    """

    _rows = staticmethod(as_reals)

    def __init__(self, var_smoothing: float = 1e-9) -> None:
        if not var_smoothing >= 0:
            raise ValueError("var_smoothing must be 0 or more")
        self.var_smoothing = var_smoothing

    def _learn(self, x: CsrArray, labels: IntArray) -> None:
        n = np.maximum(self.class_count_, 1)[:, np.newaxis]
        cell = labels[entry_rows(x)] * x.shape[1] + x.indices

        def total(values: FloatArray | None) -> FloatArray:
            return np.bincount(cell, weights=values, minlength=2 * x.shape[1]).reshape(2, -1).astype(np.float64)

        self.mean_ = total(x.data) / n
        zeros = self.class_count_[:, np.newaxis] - total(None)
        deviation = total((x.data - self.mean_.ravel()[cell]) ** 2) + zeros * self.mean_**2
        n_all = max(int(self.class_count_.sum()), 1)
        between = (self.mean_[1] - self.mean_[0]) ** 2 * self.class_count_.prod() / n_all
        epsilon = self.var_smoothing * float(((deviation.sum(axis=0) + between) / n_all).max(initial=0.0))
        # If no token varies at all, any spread works that is the same for both classes.
        self.var_ = deviation / n + (epsilon or np.finfo(np.float64).tiny ** 0.25)

    def _log_likelihood(self, x: CsrArray) -> FloatArray:
        constant = -0.5 * np.log(2 * np.pi * self.var_).sum(axis=1)
        values = x.toarray()
        squares = [((values - self.mean_[c]) ** 2 / self.var_[c]).sum(axis=1) for c in Label]
        return np.where(self.class_count_ > 0, constant - 0.5 * np.stack(squares, axis=1), -np.inf)
