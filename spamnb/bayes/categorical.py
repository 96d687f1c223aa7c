"""Categorical naive Bayes: each token's value is one of a few categories 0, 1, 2, ….

P(t = v | c) = (N_tvc + α) / (N_c + α K_t): N_tvc messages of class c have value v of token t, and K_t is the
number of categories of the token, one more than the largest value seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spamnb.bayes.arrays import FloatArray, IntArray, entry_rows, log_quotient
from spamnb.bayes.base import EventModel
from spamnb.bayes.values import ValueCounts

if TYPE_CHECKING:
    from spamnb.bayes.arrays import CsrArray


class Categorical(EventModel[ValueCounts, IntArray]):
    """Categorical naive Bayes; a value never seen has a count of 0.

    alpha: smoothing, 0 for none.
    min_categories: the least K_t to assume.

    Spam has the value 2 in one of two messages, ham in none of one; there are three categories:

    >>> model = Categorical(alpha=1.0).fit(np.array([[2], [0], [1]]), [1, 1, 0])
    >>> np.exp(model.feature_log_prob_[0]).round(2).tolist()  # spam (1 + 1) / (2 + 3), (0 + 1) / (2 + 3), …
    [[0.25, 0.5, 0.25], [0.4, 0.2, 0.4]]
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        min_categories: int = 1,
        class_prior_alpha: float | None = None,
        fit_prior: bool = True,
    ) -> None:
        super().__init__(class_prior_alpha=class_prior_alpha, fit_prior=fit_prior)
        if not alpha >= 0:
            raise ValueError("alpha is a number that is 0 or more")
        self.alpha = alpha
        self.min_categories = min_categories

    @property
    def n_categories_(self) -> IntArray:
        """K_t, int64 (n_tokens,)."""
        return self.derived_

    @property
    def feature_log_prob_(self) -> list[FloatArray]:
        """For each token, log P(value | class), shape (2, K_t)."""
        seen, k = self.statistics_, self.n_categories_
        counts = [np.zeros((2, int(k_t)), dtype=np.int64) for k_t in k]
        for token, zeros in enumerate(seen.zeros().T):
            counts[token][:, 0] = zeros
        for token, value, n_tvc in zip(seen.tokens, seen.values, seen.counts.T, strict=True):
            counts[token][:, int(value)] = n_tvc
        return [self._log_prob(n_tvc, k_t) for n_tvc, k_t in zip(counts, k, strict=True)]

    def _count(self, x: CsrArray, y: ArrayLike) -> ValueCounts:
        _refuse_fractions(x)
        return ValueCounts.from_matrix(x, y)

    def _derive(self, statistics: ValueCounts) -> IntArray:
        k = np.full(statistics.n_tokens, self.min_categories, dtype=np.int64)
        np.maximum.at(k, statistics.tokens, statistics.values.astype(np.int64) + 1)
        return k

    def _log_likelihood(self, x: CsrArray) -> FloatArray:
        _refuse_fractions(x)
        seen, k = self.statistics_, self.n_categories_
        at_zero = self._log_prob(seen.zeros(), k)
        at_value = self._log_prob(_look_up(seen, x.indices, x.data), k[x.indices])
        # The sum over all tokens at 0, less those that are not; -inf is counted apart, for inf - inf is NaN.
        here, n_messages = entry_rows(x), x.shape[0]
        possible = np.isfinite(at_zero)
        finite = np.where(possible, at_zero, 0.0)
        total = np.empty((n_messages, 2))
        for c in (0, 1):
            gained = np.bincount(here, at_value[c] - finite[c, x.indices], n_messages)
            required = np.bincount(here, ~possible[c, x.indices], n_messages)
            total[:, c] = finite[c].sum() + gained
            total[required < (~possible[c]).sum(), c] = -np.inf
        return total

    def _log_prob(self, n_tvc: IntArray, k: IntArray) -> FloatArray:
        n_c = self.class_count_[:, np.newaxis]
        return log_quotient(n_tvc + self.alpha, n_c + self.alpha * k)


def _look_up(seen: ValueCounts, tokens: NDArray[np.integer], values: FloatArray) -> IntArray:
    """N_tvc of pairs of a token and a value other than 0, int64 (2, n_pairs)."""
    width = 1 + max(seen.values.max(initial=0.0), values.max(initial=0.0))
    known = seen.tokens * width + seen.values
    wanted = tokens * width + values
    place = np.searchsorted(known, wanted)
    found = np.zeros(wanted.size, dtype=bool)
    inside = place < known.size
    found[inside] = known[place[inside]] == wanted[inside]
    result = np.zeros((2, wanted.size), dtype=np.int64)
    result[:, found] = seen.counts[:, place[found]]
    return result


def _refuse_fractions(x: CsrArray) -> None:
    if np.any(x.data != np.floor(x.data)):
        raise ValueError("a category is a whole number from 0 up")
