"""Examples small enough to check with pencil and paper."""

import numpy as np
import pytest

from spamnb.bayes.bernoulli import Bernoulli
from spamnb.bayes.multinomial import MultinomialBoolean, MultinomialTF

# Manning, Raghavan and Schütze, "Introduction to Information Retrieval", table 13.1.
WORDS = ["Chinese", "Beijing", "Shanghai", "Macao", "Tokyo", "Japan"]
TRAINING = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"]
C, J = 1, 0
LABELS = [C, C, C, J]
TEST = "Chinese Chinese Chinese Tokyo Japan"


def occurrences(*documents):
    return np.array([[document.split().count(word) for word in WORDS] for document in documents])


def probability(model, word, c):
    return np.exp(model.feature_log_prob_[c, WORDS.index(word)])


def joint(model):
    return np.exp(model.joint_log_likelihood(occurrences(TEST))[0])


def test_multinomial_tf():
    """With term frequencies the three times Chinese outweigh Tokyo and Japan: class c."""
    model = MultinomialTF().fit(occurrences(*TRAINING), LABELS)
    assert probability(model, "Chinese", C) == pytest.approx((5 + 1) / (8 + 6))
    assert probability(model, "Tokyo", C) == pytest.approx((0 + 1) / (8 + 6))
    assert probability(model, "Japan", C) == pytest.approx((0 + 1) / (8 + 6))
    assert probability(model, "Chinese", J) == pytest.approx((1 + 1) / (3 + 6))
    assert joint(model)[C] == pytest.approx(3 / 4 * (6 / 14) ** 3 * (1 / 14) ** 2)
    assert joint(model)[J] == pytest.approx(1 / 4 * (2 / 9) ** 5)
    assert joint(model).round(4).tolist() == [0.0001, 0.0003]
    assert model.predict(occurrences(TEST)).tolist() == [C]


def test_multinomial_boolean():
    """With Boolean attributes N_c is the sum of N_tc, for c 3 + 1 + 1 + 1 = 6, and j is the class."""
    model = MultinomialBoolean().fit(occurrences(*TRAINING), LABELS)
    assert probability(model, "Chinese", C) == pytest.approx((3 + 1) / (6 + 6))
    assert probability(model, "Tokyo", C) == pytest.approx((0 + 1) / (6 + 6))
    assert probability(model, "Chinese", J) == pytest.approx((1 + 1) / (3 + 6))
    assert joint(model)[C] == pytest.approx(3 / 4 * 4 / 12 * (1 / 12) ** 2)
    assert joint(model)[J] == pytest.approx(1 / 4 * (2 / 9) ** 3)
    assert joint(model).round(4).tolist() == [0.0027, 0.0017]
    assert model.predict(occurrences(TEST)).tolist() == [J]


def test_multinomial_boolean_sums_to_one():
    """Word probabilities sum to 1; with the 4 distinct words of c for N_c, (3 + 1) / (4 + 6), they do not."""
    model = MultinomialBoolean().fit(occurrences(*TRAINING), LABELS)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_).sum(axis=1), [1.0, 1.0])
    n_tc = (occurrences(*TRAINING[:3]) > 0).sum(axis=0)
    distinct = (n_tc > 0).sum()
    assert ((n_tc + 1) / (distinct + 6))[0] == pytest.approx(4 / 10)
    assert ((n_tc + 1) / (distinct + 6)).sum() == pytest.approx(1.2)


def test_bernoulli():
    """Absent words count: class c misses Beijing, Shanghai and Macao, and j is the class."""
    model = Bernoulli().fit(occurrences(*TRAINING), LABELS)
    assert probability(model, "Chinese", C) == pytest.approx((3 + 1) / (3 + 2))
    assert probability(model, "Tokyo", C) == pytest.approx((0 + 1) / (3 + 2))
    assert probability(model, "Beijing", C) == pytest.approx((1 + 1) / (3 + 2))
    assert probability(model, "Chinese", J) == pytest.approx((1 + 1) / (1 + 2))
    assert probability(model, "Beijing", J) == pytest.approx((0 + 1) / (1 + 2))
    present = np.array([1 / 4 * (2 / 3) ** 3, 3 / 4 * 4 / 5 * (1 / 5) ** 2])
    assert present.round(3).tolist() == [0.074, 0.024]
    np.testing.assert_allclose(joint(model), present * [(1 - 1 / 3) ** 3, (1 - 2 / 5) ** 3])
    assert joint(model).round(3).tolist() == [0.022, 0.005]
    assert model.predict(occurrences(TEST)).tolist() == [J]


def test_class_priors():
    """Class priors are N_c / N."""
    x = occurrences(*TRAINING)
    np.testing.assert_allclose(np.exp(Bernoulli().fit(x, LABELS).class_log_prior_), [1 / 4, 3 / 4])


SPAM_ROWS = ["10001111", "00101100", "01010110", "10010101", "10001011", "00110011"]  # class 1
HAM_ROWS = ["01100010", "11010011", "01100100", "00000000", "00101010"]  # class 0


def bits(*rows):
    return np.array([[int(bit) for bit in row] for row in rows])


def test_bernoulli_without_smoothing():
    """Eleven messages over eight words, no smoothing: 10011101 is of class 1, 01101010 of class 0."""
    model = Bernoulli(alpha=0.0).fit(bits(*SPAM_ROWS, *HAM_ROWS), [1] * 6 + [0] * 5)
    assert np.exp(model.feature_log_prob_[1, 0]) == pytest.approx(3 / 6)
    assert np.exp(model.feature_log_prob_[0, 0]) == pytest.approx(1 / 5)
    tests = bits("10011101", "01101010")
    assert model.predict(tests).tolist() == [1, 0]
    expected = [
        [5 / 11 * (1 * 2 * 2 * 1 * 1 * 1 * 2 * 1) / 5**8, 6 / 11 * (3 * 5 * 4 * 3 * 3 * 4 * 2 * 4) / 6**8],
        [5 / 11 * (4 * 3 * 3 * 4 * 1 * 4 * 3 * 4) / 5**8, 6 / 11 * (3 * 1 * 2 * 3 * 3 * 2 * 4 * 2) / 6**8],
    ]
    np.testing.assert_allclose(np.exp(model.joint_log_likelihood(tests)), expected)
