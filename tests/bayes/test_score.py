"""The score: a mean of log-odds, each weighted by its own strength."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.bayes.score import CAUTION, UNKNOWN, score, weights

numbers = st.floats(-20, 20, allow_nan=False)


def test_arithmetic() -> None:
    """Two tokens of log-odds 3 and -1, each alone of its kind: (3·3 − 1·1) / (20 + 3 + 1)."""
    log_odds = np.array([3.0, -1.0])
    assert score(log_odds, weights(log_odds, np.array([1, 1]))) == pytest.approx(8 / (CAUTION + 4))


def test_a_crowd_is_heard_less() -> None:
    """Each of 16 tokens of one kind is heard half as much as it would be alone."""
    alone = weights(np.array([2.0]), np.array([1]))
    in_crowd = weights(np.array([2.0]), np.array([16]))
    assert in_crowd == pytest.approx(alone / 2)


def test_unknown_tokens_dilute() -> None:
    """A token never learned says nothing, and draws the score to 0."""
    known = np.array([4.0, 4.0])
    more = np.array([4.0, 4.0, 0.0])
    diluted = score(more, weights(more, np.array([1, 1, 1])))
    assert diluted == pytest.approx(32 / (CAUTION + 8 + UNKNOWN))
    assert 0 < diluted < score(known, weights(known, np.array([1, 1])))


def test_nothing_known_is_zero() -> None:
    """A message without a known token, or without any, scores 0."""
    assert score(np.zeros(3), weights(np.zeros(3), np.ones(3, dtype=np.int64))) == 0.0
    assert score(np.zeros(0), weights(np.zeros(0), np.zeros(0, dtype=np.int64))) == 0.0


@given(st.lists(numbers, min_size=1, max_size=50))
def test_classes_are_alike(values: list[float]) -> None:
    """Swapping the classes turns the score's sign, and nothing else."""
    log_odds, crowd = np.array(values), np.full(len(values), len(values))
    swapped = score(-log_odds, weights(-log_odds, crowd))
    assert swapped == pytest.approx(-score(log_odds, weights(log_odds, crowd)))


@given(st.lists(numbers, min_size=1, max_size=50))
def test_bounded_by_the_strongest(values: list[float]) -> None:
    """No message is spammier than its spammiest token."""
    log_odds, crowd = np.array(values), np.ones(len(values), dtype=np.int64)
    assert abs(score(log_odds, weights(log_odds, crowd))) <= np.abs(log_odds).max()
