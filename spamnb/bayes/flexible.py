"""Flexible Bayes: each attribute's distribution in a class is a sum of kernels, one at each training value.

John and Langley, "Estimating continuous distributions in Bayesian classifiers", UAI 1995; Metsis,
Androutsopoulos and Paliouras, "Spam Filtering with Naive Bayes - Which Naive Bayes?", CEAS 2006, section 3.5:
p(x | c) = 1/L Σ_l g(x; μ_l, σ_c), g the normal density and σ_c = 1 / √M_c, M_c messages of class c.
Attributes are relative term frequencies (see `frequencies`).

Nearly all values are 0. So log p(0 | c) is computed once for each attribute, and a message costs only the
attributes that it has; and equal training values are one kernel with a weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spamnb.bayes.arrays import FloatArray, IntArray, entry_rows
from spamnb.bayes.base import EventModel
from spamnb.bayes.values import ValueCounts

if TYPE_CHECKING:
    from spamnb.bayes.arrays import CsrArray

PAIRS = 2**19
"""Pairs of a value and a kernel that are computed at a time (4 MiB an array)."""


@dataclass(frozen=True, slots=True, eq=False)
class Kernels:
    """The kernels of one class: those of token t are at starts[t]:starts[t + 1], and every token has some.

    means: float64 (n_kernels,). weights: float64 (n_kernels,). starts: int64 (n_tokens + 1,).
    sigma: their common standard deviation.
    """

    means: FloatArray
    weights: FloatArray
    starts: IntArray
    sigma: float

    def log_density(self, tokens: NDArray[np.integer], values: FloatArray) -> FloatArray:
        """Log density of values (n,) of tokens (n,), by log-sum-exp over the token's kernels, shape (n,)."""
        result = np.empty(values.size)
        n_kernels = self.starts[tokens + 1] - self.starts[tokens]
        total = np.add.reduceat(self.weights, self.starts[:-1]) if self.weights.size else np.zeros(0)
        for some in _portions(n_kernels):
            lengths = n_kernels[some]
            firsts = np.cumsum(lengths) - lengths
            kernel = np.arange(int(lengths.sum())) + np.repeat(self.starts[tokens[some]] - firsts, lengths)
            distance = (self.means[kernel] - np.repeat(values[some], lengths)) / self.sigma
            exponent = -0.5 * distance**2
            top = np.maximum.reduceat(exponent, firsts)
            terms = self.weights[kernel] * np.exp(exponent - np.repeat(top, lengths))
            result[some] = top + np.log(np.add.reduceat(terms, firsts) / total[tokens[some]])
        return result - math.log(self.sigma * math.sqrt(2 * math.pi))


def _portions(n_kernels: IntArray) -> Iterator[slice]:
    """Consecutive slices, each of at most PAIRS kernels or of a single value."""
    ends = np.cumsum(n_kernels)
    start = 0
    while start < ends.size:
        done = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + PAIRS, side="right")))
        yield slice(start, stop)
        start = stop


class Flexible(EventModel[ValueCounts, list[tuple[Kernels, FloatArray] | None]]):
    """Flexible Bayes on sparse values.

    repeats: True for a kernel at each training value (John and Langley: L = M_c); False for one at each
        different value (the L of Metsis et al.).
    one_width: False for σ_c = 1/√M_c, as John and Langley; True for one σ = 1/√M, M all training messages.
        With a width for each class every attribute adds log (σ_ham / σ_spam), whatever its value: over 3000
        attributes and three ham to a spam that is 1,650 nats for ham, more than the values themselves say.

    Ham has 0 and 1, so σ = 1/√2 and p(½) = g(½; 0, 1/√2); spam has 0, so σ = 1 and p(½) = g(½; 0, 1):

    >>> model = Flexible().fit(np.array([[0.0], [1.0], [0.0]]), [0, 0, 1])
    >>> np.exp(model.joint_log_likelihood(np.array([[0.5]]))[0] - model.class_log_prior_).round(4).tolist()
    [0.4394, 0.3521]
    """

    def __init__(
        self,
        *,
        repeats: bool = True,
        one_width: bool = False,
        class_prior_alpha: float | None = None,
        fit_prior: bool = True,
    ) -> None:
        super().__init__(class_prior_alpha=class_prior_alpha, fit_prior=fit_prior)
        self.repeats = repeats
        self.one_width = one_width

    def _count(self, x: CsrArray, y: ArrayLike) -> ValueCounts:
        return ValueCounts.from_matrix(x, y)

    def _derive(self, statistics: ValueCounts) -> list[tuple[Kernels, FloatArray] | None]:
        """For each class its kernels and log p(0 | c), shape (n_tokens,); None where it has no messages."""
        derived: list[tuple[Kernels, FloatArray] | None] = [None, None]
        every, zeros = np.arange(statistics.n_tokens), statistics.zeros()
        for c in np.flatnonzero(statistics.class_messages).tolist():
            kernels = self._kernels(statistics, zeros, c)
            derived[c] = kernels, kernels.log_density(every, np.zeros(every.size))
        return derived

    def _kernels(self, seen: ValueCounts, zeros: IntArray, c: int) -> Kernels:
        here = seen.counts[c] > 0
        at_zero = np.flatnonzero(zeros[c])
        tokens = np.concatenate([at_zero, seen.tokens[here]])
        order = np.argsort(tokens, kind="stable")  # 0 comes first, and the other values rise already
        means = np.concatenate([np.zeros(at_zero.size), seen.values[here]])[order]
        weights = np.concatenate([zeros[c, at_zero], seen.counts[c, here]])[order].astype(np.float64)
        if not self.repeats:
            weights[:] = 1.0
        starts = np.searchsorted(tokens[order], np.arange(seen.n_tokens + 1)).astype(np.int64)
        n = seen.class_messages.sum() if self.one_width else seen.class_messages[c]
        return Kernels(means, weights, starts, sigma=1 / math.sqrt(n))

    def _log_likelihood(self, x: CsrArray) -> FloatArray:
        total = np.full((x.shape[0], 2), -np.inf)
        values, here = x.data.astype(np.float64), entry_rows(x)
        for c, derived in enumerate(self.derived_):
            if derived is not None:
                kernels, at_zero = derived
                gained = kernels.log_density(x.indices, values) - at_zero[x.indices]
                total[:, c] = at_zero.sum() + np.bincount(here, gained, x.shape[0])
        return total
