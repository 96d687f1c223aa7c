"""Multivariate Bernoulli: a message is the set of words that it has and the set of words that it lacks.

Metsis, Androutsopoulos and Paliouras, "Spam Filtering with Naive Bayes - Which Naive Bayes?", CEAS 2006,
section 3.1: P(message | c) is the product over the vocabulary of P(t|c) for words present and 1 - P(t|c) for
words absent, with P(t|c) = (1 + M_tc) / (2 + M_c).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spamnb.bayes.arrays import FloatArray, log_quotient, weighted_sum
from spamnb.bayes.base import CountingModel, Counts
from spamnb.bayes.estimate import bernoulli

if TYPE_CHECKING:
    from spamnb.bayes.arrays import CsrArray


class Bernoulli(CountingModel):
    """Multivariate Bernoulli naive Bayes. Absent words count; the number of occurrences does not.

    Three messages of spam, two with the first word; one of ham, without it:

    >>> model = Bernoulli(alpha=1.0).fit(np.array([[1, 1], [4, 0], [0, 0], [0, 1]]), [1, 1, 1, 0])
    >>> np.exp(model.feature_log_prob_).round(4).tolist()  # ham (0 + 1) / (1 + 2), spam (2 + 1) / (3 + 2)
    [[0.3333, 0.6667], [0.6, 0.4]]
    """

    estimate = staticmethod(bernoulli)

    def absence_log_prob(self, counts: Counts) -> FloatArray:
        """Log (1 - P(t|c)), shape (2, n_tokens)."""
        m_tc, m_c = counts.messages, counts.class_messages.reshape(2, -1)
        return log_quotient(m_c - m_tc + self.alpha, m_c + 2 * self.alpha)

    def _log_likelihood(self, x: CsrArray) -> FloatArray:
        presence, absence = self.feature_log_prob_, self.absence_log_prob(self.counts_)
        present = x.astype(bool).astype(np.float64)
        # A message lacks all words except its own. -inf is counted separately, since inf - inf is NaN.
        possible = np.isfinite(absence)
        finite = np.where(possible, absence, 0.0)
        lacking = finite.sum(axis=1) - present @ finite.T
        if not possible.all():
            certain = (~possible).astype(np.float64)  # words in every message of the class
            lacking = np.where(certain.sum(axis=1) - present @ certain.T > 0, -np.inf, lacking)
        return np.asarray(weighted_sum(present, presence) + lacking)
