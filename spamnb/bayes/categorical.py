"""Categorical naive Bayes: each token's value is one of a few categories 0, 1, 2, ….

P(t = v | c) = (N_tvc + α) / (N_c + α K_t). N_tvc messages of class c have value v of token t. K_t is the number of
categories of the token: the largest value seen, plus one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spamnb.base.label import Label
from spamnb.bayes.arrays import FloatArray, IntArray, entry_rows, log_quotient
from spamnb.bayes.base import EventModel

if TYPE_CHECKING:
    from spamnb.bayes.arrays import CsrArray


class Categorical(EventModel):
    """Categorical naive Bayes; a value that was never seen has a count of 0.

    alpha: smoothing, 0 for none.
    min_categories: the smallest K_t to assume.
    n_categories_: K_t, int64 (n_tokens,).

    In spam the value 2 is in one of two messages, in ham in none of one; there are three categories:

    >>> model = Categorical(alpha=1.0).fit(np.array([[2], [0], [1]]), [1, 1, 0])
    >>> joint = model.joint_log_likelihood(np.array([[2], [1]]))
    >>> np.exp(joint - model.class_log_prior_).round(2).tolist()  # spam (1 + 1) / (2 + 3), (0 + 1) / (2 + 3)
    [[0.25, 0.4], [0.5, 0.2]]
    """

    def __init__(self, alpha: float = 1.0, *, min_categories: int = 1) -> None:
        if not alpha >= 0:
            raise ValueError("alpha must be 0 or more")
        self.alpha = alpha
        self.min_categories = min_categories

    def _learn(self, x: CsrArray, labels: IntArray) -> None:
        values = _whole(x)
        n_tvc = np.zeros((1 + values.max(initial=0), 2, x.shape[1]), dtype=np.int64)
        np.add.at(n_tvc, (values, labels[entry_rows(x)], x.indices), 1)
        n_tvc[0] = self.class_count_[:, np.newaxis] - n_tvc.sum(axis=0)
        is_seen = n_tvc.sum(axis=1) > 0
        self.n_categories_ = np.maximum(self.min_categories, len(is_seen) - np.argmax(is_seen[::-1], axis=0))
        self._n_tvc = np.append(n_tvc, np.zeros_like(n_tvc[:1]), axis=0)  # the last is for values never seen before

    def _log_likelihood(self, x: CsrArray) -> FloatArray:
        n_c = self.class_count_[:, np.newaxis]
        log_prob = log_quotient(self._n_tvc + self.alpha, n_c + self.alpha * self.n_categories_)
        at_zero, at_value = log_prob[0], log_prob[np.minimum(_whole(x), len(log_prob) - 1), :, x.indices].T
        # The sum over all tokens at 0, minus those that are not 0. -inf is counted separately, since inf - inf is NaN.
        here, n_messages = entry_rows(x), x.shape[0]
        possible = np.isfinite(at_zero)
        finite = np.where(possible, at_zero, 0.0)
        total = np.empty((n_messages, 2))
        for c in Label:
            gained = np.bincount(here, at_value[c] - finite[c, x.indices], n_messages)
            required = np.bincount(here, ~possible[c, x.indices], n_messages)
            total[:, c] = finite[c].sum() + gained
            total[required < (~possible[c]).sum(), c] = -np.inf
        return total


def _whole(x: CsrArray) -> IntArray:
    values = x.data.astype(np.int64)
    if np.any(values != x.data):
        raise ValueError("a category must be a whole number, 0 or more")
    return values
