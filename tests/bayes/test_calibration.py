"""From scores to probabilities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from spamnb.bayes.calibration import IsotonicMap, LogisticMap, fit_isotonic, fit_logistic

FITS = [fit_logistic, fit_isotonic]
seeds = st.integers(0, 2**32 - 1)


def sample(seed, n=60):
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.6).astype(int)
    return np.round(rng.normal(labels * 1.5 - 0.5), 1), labels, rng.uniform(0.1, 3.0, n)


@given(seed=seeds)
@settings(deadline=None, max_examples=30)
def test_logistic_minimises_platts_cross_entropy(seed):
    """No other slope and intercept explain Platt's smoothed targets better: scipy's optimum is the same."""
    scores, labels, _ = sample(seed)
    n_spam, n_ham = labels.sum(), (1 - labels).sum()
    target = np.where(labels == 1, (n_spam + 1) / (n_spam + 2), 1 / (n_ham + 2))

    def loss(parameters):
        exponent = parameters[0] * scores + parameters[1]
        return np.sum(np.logaddexp(0, exponent) - target * exponent)

    fitted = fit_logistic(scores, labels)
    best = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000})
    np.testing.assert_allclose([fitted.slope, fitted.intercept], best.x, rtol=1e-4, atol=1e-5)
    assert loss([fitted.slope, fitted.intercept]) <= best.fun + 1e-9


def test_logistic_is_logistic_regression_where_smoothing_fades():
    """With many labels the map is that of an unpenalised logistic regression, the right way round."""
    scores, labels, weights = sample(3, n=200_000)
    fitted = fit_logistic(scores, labels, weights)
    oracle = LogisticRegression(C=np.inf, tol=1e-10).fit(scores[:, np.newaxis], labels, weights)
    np.testing.assert_allclose(
        [fitted.slope, fitted.intercept], [oracle.coef_[0, 0], oracle.intercept_[0]], rtol=1e-3, atol=1e-3
    )
    assert fitted.slope > 0


def test_a_prior_moves_the_map_to_another_share_of_spam():
    """With twice the odds of spam the log-odds rise by log 2 everywhere, and the slope stays."""
    scores, labels, _ = sample(5, n=100_000)
    half, two_thirds = (fit_logistic(scores, labels, prior=prior) for prior in (1 / 2, 2 / 3))
    assert half.intercept + np.log(2) == pytest.approx(two_thirds.intercept, abs=0.02)
    assert half.slope == pytest.approx(two_thirds.slope, abs=0.02)


@pytest.mark.parametrize("fit", FITS)
def test_whole_weights_are_repetitions(fit):
    """A weight of 3 is the same message three times; a weight of 0 is no message."""
    scores, labels, _ = sample(9)
    weights = np.arange(scores.size) % 4
    grid = np.linspace(-3, 4, 50)
    weighted = fit(scores, labels, weights).probability(grid)
    np.testing.assert_allclose(
        weighted, fit(scores.repeat(weights), labels.repeat(weights)).probability(grid), rtol=1e-7
    )


@given(seed=seeds)
@settings(deadline=None, max_examples=50)
def test_isotonic_is_scikit_learns(seed):
    """Pooling adjacent violators gives scikit-learn's map, between and beyond the scores too."""
    scores, labels, weights = sample(seed)
    oracle = IsotonicRegression(out_of_bounds="clip").fit(scores, labels, sample_weight=weights)
    grid = np.concatenate([np.linspace(-5, 5, 101), scores])
    fitted = fit_isotonic(scores, labels, weights)
    np.testing.assert_allclose(fitted.probability(grid), oracle.predict(grid), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("fit", FITS)
@given(
    messages=st.lists(
        st.tuples(st.one_of(st.floats(-1e6, 1e6), st.sampled_from([np.inf, -np.inf, 0.0])), st.integers(0, 1)),
        max_size=12,
    )
)
@settings(deadline=None)
def test_a_map_is_a_probability_for_any_scores(fit, messages):
    """Constant scores, one class, infinities or no messages: every probability is a number in [0, 1]."""
    scores, labels = [score for score, _ in messages], [label for _, label in messages]
    fitted = fit(scores, labels)
    grid = np.array([-np.inf, -1e9, 0.0, 1e-9, 1e9, np.inf, *scores])
    probabilities = fitted.probability(grid)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert fitted.probability(0.0) == probabilities[2]
    assert isinstance(fitted.probability(np.inf), float)


def test_separable_classes_have_a_finite_map():
    """Classes that never overlap yield a steep map, not an infinite one: never 0 or 1 at scores seen."""
    fitted = fit_logistic([-2.0, -1.0, 1.0, 2.0], [0, 0, 1, 1])
    assert np.isfinite(fitted.slope)
    assert 0 < fitted.probability(-2.0) < 0.5 < fitted.probability(2.0) < 1


def test_what_says_nothing_maps_to_what_is_known():
    """A constant score maps to the share of spam, smoothed; no messages map to ½."""
    assert fit_logistic([3.0] * 4, [0, 1, 1, 1]).probability(99.0) == pytest.approx((1 / 3 + 3 * 4 / 5) / 4)
    assert fit_isotonic([3.0] * 4, [0, 1, 1, 1]).probability(99.0) == 0.75
    assert fit_logistic([], []) == LogisticMap(0.0, 0.0)
    assert fit_isotonic([], []).probability(1.0) == 0.5
    assert LogisticMap(0.0, 0.0).probability(np.inf) == 0.5
    assert isinstance(fit_isotonic([1.0], [1]), IsotonicMap)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(
    ("scores", "labels", "weights"),
    [([np.nan], [1], None), ([1.0], [2], None), ([1.0], [1], [-1.0]), ([1.0], [1], [1.0, 1.0])],
)
def test_what_cannot_be_fitted_is_refused(fit, scores, labels, weights):
    """NaN scores, labels other than 0 and 1, and weights below 0 or too many are errors."""
    with pytest.raises(ValueError, match=r"scores|label|weights"):
        fit(scores, labels, weights)
    with pytest.raises(ValueError, match="prior"):
        fit_logistic([1.0], [1], prior=1.0)
