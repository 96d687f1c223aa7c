"""The ranking score of a message."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spamnb.bayes.score import mean_log_odds

log_odds = arrays(np.float64, st.integers(0, 20), elements=st.floats(-2000, 2000))


def test_the_score_is_the_mean_of_the_log_odds():
    """Without a minimum strength every token counts, by its weight if it has one."""
    assert mean_log_odds(np.array([1.0, -2.0, 4.0]), None, 0.0) == pytest.approx(1.0)
    assert mean_log_odds(np.array([1.0, -2.0]), np.array([3.0, 1.0]), 0.0) == pytest.approx(0.25)


def test_weak_tokens_are_dropped():
    """A token whose |p - ½| is below the minimum strength has no part in the mean; at the minimum it has."""
    at = [math.log(p / (1 - p)) for p in (0.95, 0.85, 0.15, 0.5)]
    assert mean_log_odds(np.array(at), None, 0.4) == pytest.approx(at[0])
    assert mean_log_odds(np.array(at), None, 0.3) == pytest.approx((at[0] + at[1] + at[2]) / 3)


@given(log_odds)
def test_each_class_is_treated_alike(values):
    """Changing the sign of all log-odds changes the sign of the score, however large they are."""
    assert mean_log_odds(-values, None, 0.3) == pytest.approx(-mean_log_odds(values, None, 0.3))


@pytest.mark.parametrize(("values", "weights"), [([], None), ([0.1], None), ([5.0], [0.0])])
def test_no_evidence_is_zero(values, weights):
    """No tokens, weak tokens alone, or no weight at all: the score is 0.0."""
    assert mean_log_odds(np.array(values), None if weights is None else np.array(weights), 0.2) == 0.0
