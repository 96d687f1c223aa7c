"""Flexible Bayes: each attribute's distribution in a class is a sum of kernels, one at each training value.

John and Langley, "Estimating continuous distributions in Bayesian classifiers", UAI 1995; Metsis,
Androutsopoulos and Paliouras, "Spam Filtering with Naive Bayes - Which Naive Bayes?", CEAS 2006, section 3.5:
p(x | c) = 1/L Σ_l g(x; μ_l, σ_c), g the normal density and σ_c = 1 / √M_c, M_c messages of class c.
Attributes are relative term frequencies (see `selection`).

Nearly all values are 0. So log p(0 | c) is computed once for each attribute, and a message costs only the attributes
that it has. Equal training values are one kernel with a weight.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from spamnb.bayes.arrays import FloatArray, IntArray, as_reals, entry_rows
from spamnb.bayes.base import EventModel

if TYPE_CHECKING:
    from spamnb.bayes.arrays import CsrArray


class Kernels(NamedTuple):
    """The kernels of one class. Those of token t are at starts[t]:starts[t + 1]; every token has some.

    means: float64 (n_kernels,). weights: int64 (n_kernels,). starts: int64 (n_tokens + 1,).
    sigma: their common standard deviation.
    """

    means: FloatArray
    weights: IntArray
    starts: IntArray
    sigma: float

    @classmethod
    def of(cls, x: CsrArray, sigma: float) -> Self:
        """Make the kernels of values (n_messages, n_tokens)."""
        zeros = x.shape[0] - np.bincount(x.indices, minlength=x.shape[1])  # messages in which a token is 0
        tokens = np.concatenate([x.indices, np.repeat(np.arange(x.shape[1]), zeros > 0)])
        values = np.concatenate([x.data, np.zeros((zeros > 0).sum())])
        weights = np.concatenate([np.ones(x.nnz, dtype=np.int64), zeros[zeros > 0]])
        order = np.lexsort((values, tokens))
        tokens, values = tokens[order], values[order]
        is_first = np.append(True, (np.diff(tokens) != 0) | (np.diff(values) != 0))
        starts = np.searchsorted(tokens[is_first], np.arange(x.shape[1] + 1))
        return cls(values[is_first], np.add.reduceat(weights[order], np.flatnonzero(is_first)), starts, sigma)

    def log_density(self, tokens: NDArray[np.integer], values: FloatArray) -> FloatArray:
        """Log density of values (n,) of tokens (n,), by log-sum-exp over the token's kernels, shape (n,)."""
        if not values.size:
            return np.zeros(0)
        lengths = self.starts[tokens + 1] - self.starts[tokens]
        firsts = np.cumsum(lengths) - lengths
        kernel = np.arange(int(lengths.sum())) + np.repeat(self.starts[tokens] - firsts, lengths)
        exponent = -0.5 * ((self.means[kernel] - np.repeat(values, lengths)) / self.sigma) ** 2
        top = np.maximum.reduceat(exponent, firsts)
        terms = self.weights[kernel] * np.exp(exponent - np.repeat(top, lengths))
        density = np.add.reduceat(terms, firsts) / np.add.reduceat(self.weights[kernel], firsts)
        return top + np.log(density) - math.log(self.sigma * math.sqrt(2 * math.pi))


class Flexible(EventModel):
    """Flexible Bayes on real numbers. Most of them are 0.

    one_width: False for σ_c = 1/√M_c, like John and Langley; True for one σ = 1/√M, M all training messages.
        With a width for each class, every attribute adds log (σ_ham / σ_spam), whatever its value. With 3000 attributes
        and three ham per spam that is 1,650 nats for ham, more than the values themselves give.

    Ham has 0 and 1, so σ = 1/√2 and p(½) = g(½; 0, 1/√2); spam has 0, so σ = 1 and p(½) = g(½; 0, 1):

    >>> model = Flexible().fit(np.array([[0.0], [1.0], [0.0]]), [0, 0, 1])
    >>> np.exp(model.joint_log_likelihood(np.array([[0.5]]))[0] - model.class_log_prior_).round(4).tolist()
    [0.4394, 0.3521]
    """

    _rows = staticmethod(as_reals)

    def __init__(self, *, one_width: bool = False) -> None:
        self.one_width = one_width

    def _learn(self, x: CsrArray, labels: IntArray) -> None:
        n = np.full(2, len(labels)) if self.one_width else self.class_count_
        self._kernels = {
            c: Kernels.of(x[labels == c], 1 / math.sqrt(n[c])) for c in np.flatnonzero(self.class_count_).tolist()
        }

    def _log_likelihood(self, x: CsrArray) -> FloatArray:
        total = np.full((x.shape[0], 2), -np.inf)
        values, here, every = x.data.astype(np.float64), entry_rows(x), np.arange(x.shape[1])
        for c, kernels in self._kernels.items():
            at_zero = kernels.log_density(every, np.zeros(every.size))
            gained = kernels.log_density(x.indices, values) - at_zero[x.indices]
            total[:, c] = at_zero.sum() + np.bincount(here, gained, x.shape[0])
        return total
