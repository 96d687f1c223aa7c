"""From scores to probabilities."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from spamnb.bayes.calibration import SLOPE, probability


@given(st.floats(-1e6, 1e6))
def test_it_is_the_logistic_function(score: float) -> None:
    """The probability is scipy's logistic function of slope times score, plus intercept."""
    assert probability(score) == pytest.approx(expit(SLOPE * score), abs=1e-15)


@given(st.lists(st.floats(allow_nan=False), min_size=2))
def test_it_is_a_probability_and_never_falls(scores: list[float]) -> None:
    """Every score, infinite ones too, has a probability from 0 to 1, a higher score no lower one."""
    found = [probability(score) for score in sorted(scores)]
    assert all(0 <= p <= 1 for p in found)
    assert np.all(np.diff(found) >= 0)
    assert [probability(-math.inf), probability(math.inf)] == [0.0, 1.0]
