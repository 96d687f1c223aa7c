"""Multinomial: a message is a bag of words, each drawn from its class's distribution over the vocabulary.

Metsis, Androutsopoulos and Paliouras, "Spam Filtering with Naive Bayes - Which Naive Bayes?", CEAS 2006,
sections 3.2 (term frequencies) and 3.3 (Boolean attributes): P(t|c) = (1 + N_tc) / (m + N_c). The vocabulary has m
words, N_tc is the count of word t in class c, and N_c is the sum of N_tc over the vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spamnb.bayes.arrays import FloatArray, weighted_sum
from spamnb.bayes.base import CountingModel
from spamnb.bayes.estimate import multinomial, multinomial_boolean

if TYPE_CHECKING:
    from spamnb.bayes.arrays import CsrArray


class MultinomialTF(CountingModel):
    """Multinomial naive Bayes with term frequencies: each occurrence of a word counts.

    >>> model = MultinomialTF(alpha=1.0).fit(np.array([[2, 1], [0, 1]]), [1, 0])
    >>> np.exp(model.feature_log_prob_).round(4).tolist()  # spam (2 + 1) / (3 + 2), (1 + 1) / (3 + 2)
    [[0.3333, 0.6667], [0.6, 0.4]]
    """

    estimate = staticmethod(multinomial)

    def _log_likelihood(self, x: CsrArray) -> FloatArray:
        return weighted_sum(x, self.feature_log_prob_)


class MultinomialBoolean(CountingModel):
    """Multinomial naive Bayes with Boolean attributes: a word counts once per message, or not at all.

    >>> model = MultinomialBoolean(alpha=1.0).fit(np.array([[2, 1], [0, 1]]), [1, 0])
    >>> np.exp(model.feature_log_prob_).round(4).tolist()  # spam (1 + 1) / (2 + 2) for either word
    [[0.3333, 0.6667], [0.5, 0.5]]
    """

    estimate = staticmethod(multinomial_boolean)

    def _log_likelihood(self, x: CsrArray) -> FloatArray:
        return weighted_sum(x.astype(bool).astype(np.float64), self.feature_log_prob_)
