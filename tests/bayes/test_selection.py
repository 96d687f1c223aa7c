"""Choosing attributes by information gain."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_selection import mutual_info_classif
from sklearn.metrics import mutual_info_score

from spamnb.bayes.base import Counts
from spamnb.bayes.selection import information_gain, select
from tests.profiles import daily


@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=daily(30))
def test_information_gain_is_mutual_information_in_bits(corpus, seed):
    """The gain is scikit-learn's mutual information of presence and class, in bits for its nats."""
    x, y = corpus(seed)
    present = (x.toarray() > 0).astype(int)
    gain = information_gain(Counts.from_matrix(x, y))
    nats = mutual_info_classif(present, y, discrete_features=True)
    np.testing.assert_allclose(gain, nats / np.log(2), rtol=1e-9, atol=1e-9)
    assert gain[0] * np.log(2) == pytest.approx(mutual_info_score(present[:, 0], y), rel=1e-9, abs=1e-9)


def test_nothing_learned_gains_nothing():
    """Without messages, or with those of one class, every gain is 0."""
    assert information_gain(Counts.from_matrix(np.zeros((0, 3)), [])).tolist() == [0, 0, 0]
    assert information_gain(Counts.from_matrix(np.eye(3), [1, 1, 1])).tolist() == [0, 0, 0]


def test_select_takes_the_best_and_sorts_them():
    """The n highest gains, in the order of the columns, without tokens in too few messages."""
    y = np.repeat([0, 1], 10)
    x = np.zeros((20, 5))
    x[10:, 4] = 1  # all spam
    x[:10, 1] = 1  # all ham: the same gain
    x[5:, 2] = 1
    x[10:14, 3] = 1  # four messages only
    counts = Counts.from_matrix(x, y)
    assert select(counts, 2).tolist() == [1, 4]
    assert select(counts, 1).tolist() == [1]
    assert select(counts, 9).tolist() == [1, 2, 4]
    assert select(counts, 9, minimum_messages=4).tolist() == [1, 2, 3, 4]
    assert select(counts, 9, minimum_messages=21).tolist() == []
    assert select(counts, 9).dtype == np.int64


@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=daily(20))
def test_ties_go_to_the_lower_index(corpus, seed):
    """If columns have the same counts, the first is taken, wherever they are."""
    x, y = corpus(seed)
    doubled = np.hstack([x.toarray(), x.toarray()])
    n_tokens = x.shape[1]
    chosen = select(Counts.from_matrix(doubled, y), n_tokens, minimum_messages=1)
    assert set(chosen[chosen >= n_tokens] - n_tokens) <= set(chosen)
