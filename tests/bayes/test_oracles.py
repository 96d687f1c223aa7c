"""scikit-learn as the judge: the same numbers to 1e-9, class by class."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn import naive_bayes

from spamnb.bayes.bernoulli import Bernoulli
from spamnb.bayes.categorical import Categorical
from spamnb.bayes.flexible import Flexible
from spamnb.bayes.gaussian import Gaussian
from spamnb.bayes.multinomial import MultinomialBoolean, MultinomialTF
from tests.profiles import daily

seeds = given(seed=st.integers(0, 2**32 - 1))
examples = settings(deadline=None, max_examples=daily(40))


def assert_same(ours, theirs, x):
    """All that scikit-learn computes, with its columns looked up by class."""
    ham, spam = list(theirs.classes_).index(0), list(theirs.classes_).index(1)
    columns = [ham, spam]
    close = {"rtol": 1e-9, "atol": 1e-9}
    dense = x.toarray()
    np.testing.assert_allclose(ours.joint_log_likelihood(x), theirs.predict_joint_log_proba(dense)[:, columns], **close)
    np.testing.assert_allclose(np.exp(ours.predict_log_proba(x)), theirs.predict_proba(dense)[:, columns], **close)
    np.testing.assert_allclose(ours.predict_log_proba(x), theirs.predict_log_proba(dense)[:, columns], **close)
    assert ours.class_count_.tolist() == theirs.class_count_[columns].tolist()
    ours_decides = ours.predict_log_proba(x)
    clear = np.abs(ours_decides[:, 0] - ours_decides[:, 1]) > 1e-9
    assert ours.predict(x)[clear].tolist() == theirs.predict(dense)[clear].tolist()


@pytest.mark.parametrize("alpha", [0.001, 1.0, 3.0])
@seeds
@examples
def test_bernoulli(corpus, alpha, seed):
    """Multivariate Bernoulli is scikit-learn's BernoulliNB."""
    x, y = corpus(seed)
    ours = Bernoulli(alpha).fit(x, y)
    theirs = naive_bayes.BernoulliNB(alpha=alpha).fit(x.toarray(), y)
    assert_same(ours, theirs, x)
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.001, 1.0, 3.0])
@seeds
@examples
def test_multinomial(corpus, alpha, seed):
    """Multinomial TF is scikit-learn's MultinomialNB; Boolean is the same with values cut to 0 and 1."""
    x, y = corpus(seed)
    theirs = naive_bayes.MultinomialNB(alpha=alpha).fit(x.toarray(), y)
    ours = MultinomialTF(alpha).fit(x, y)
    assert_same(ours, theirs, x)
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-9)

    boolean = (x > 0).astype(float)
    theirs = naive_bayes.MultinomialNB(alpha=alpha).fit(boolean.toarray(), y)
    ours = MultinomialBoolean(alpha).fit(x, y)
    assert_same(ours, theirs, boolean)
    np.testing.assert_array_equal(ours.joint_log_likelihood(x), ours.joint_log_likelihood(boolean))
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-9)


def test_the_oracle_tells_the_classes_apart(corpus):
    """The comparison fails when a model has learned the classes the other way round."""
    x, y = corpus(7)
    theirs = naive_bayes.BernoulliNB().fit(x.toarray(), y)
    with pytest.raises(AssertionError):
        assert_same(Bernoulli().fit(x, 1 - y), theirs, x)


@pytest.mark.parametrize("alpha", [0.001, 1.0])
@seeds
@examples
def test_categorical(corpus, alpha, seed):
    """Categorical naive Bayes is scikit-learn's CategoricalNB, token by token."""
    x, y = corpus(seed)
    ours = Categorical(alpha).fit(x, y)
    theirs = naive_bayes.CategoricalNB(alpha=alpha).fit(x.toarray(), y)
    assert_same(ours, theirs, x)
    assert ours.n_categories_.tolist() == theirs.n_categories_.tolist()


@pytest.mark.parametrize("var_smoothing", [1e-3, 0.1])
@seeds
@examples
def test_gaussian(corpus, var_smoothing, seed):
    """Multivariate Gauss is scikit-learn's GaussianNB."""
    x, y = corpus(seed, whole=False)
    if not x.nnz:
        return  # nothing varies: scikit-learn divides by 0
    ours = Gaussian(var_smoothing).fit(x, y)
    theirs = naive_bayes.GaussianNB(var_smoothing=var_smoothing).fit(x.toarray(), y)
    assert_same(ours, theirs, x)
    np.testing.assert_allclose(ours.mean_, theirs.theta_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.var_, theirs.var_, rtol=1e-9)


@pytest.mark.parametrize("var_smoothing", [1e-9, 1e-3, 1.0])
@seeds
@examples
def test_gaussian_over_real_numbers(real, var_smoothing, seed):
    """For numbers of any sign and scale, learned or new, it agrees with scikit-learn."""
    x, y = real(seed)
    learned = np.arange(x.shape[0]) < max(x.shape[0] // 2, 3)
    ours = Gaussian(var_smoothing).fit(x[learned], y[learned])
    theirs = naive_bayes.GaussianNB(var_smoothing=var_smoothing).fit(x[learned].toarray(), y[learned])
    np.testing.assert_allclose(ours.class_log_prior_, np.log(theirs.class_prior_), rtol=1e-12)
    np.testing.assert_allclose(ours.mean_, theirs.theta_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.var_, theirs.var_, rtol=1e-9)
    assert_same(ours, theirs, x)


@pytest.mark.parametrize("below_0", [True, False])
@pytest.mark.parametrize("one_width", [True, False])
@seeds
@settings(deadline=None, max_examples=daily(15))
def test_flexible(corpus, real, one_width, below_0, seed):
    """Flexible Bayes is the explicit sum of normal densities, one for each training value, of any sign."""

    def some(seed):
        return real(seed, largest=15, scales=(-3, 1)) if below_0 else corpus(seed, whole=False, largest=15)

    x, y = some(seed)
    dense, model = x.toarray(), Flexible(one_width=one_width).fit(x, y)
    other = some(seed + 1)[0].toarray()
    tests = np.vstack([dense, np.resize(other, dense.shape)])
    expected = np.zeros((tests.shape[0], 2))
    for c in (0, 1):
        sigma = 1 / np.sqrt(len(y) if one_width else (y == c).sum())
        expected[:, c] = np.log((y == c).mean())
        for token in range(dense.shape[1]):
            means = dense[y == c, token]
            densities = norm.logpdf(tests[:, token, np.newaxis], means, sigma)
            expected[:, c] += logsumexp(densities, axis=1) - np.log(means.size)
    np.testing.assert_allclose(model.joint_log_likelihood(tests), expected, rtol=1e-9, atol=1e-9)
