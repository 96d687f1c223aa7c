"""Properties of every event model."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spamnb.bayes.bernoulli import Bernoulli
from spamnb.bayes.categorical import Categorical
from spamnb.bayes.flexible import Flexible
from spamnb.bayes.gaussian import Gaussian
from spamnb.bayes.multinomial import MultinomialBoolean, MultinomialTF
from spamnb.bayes.selection import relative_frequencies
from tests.profiles import daily

ADDITIVE = [Bernoulli, MultinomialTF, MultinomialBoolean]
COUNTING = [*ADDITIVE, Categorical]
UNSMOOTHED = [partial(model, 0.0) for model in COUNTING]
CONTINUOUS = [Gaussian, Flexible, partial(Flexible, one_width=True)]
MODELS = [*COUNTING, *UNSMOOTHED, *CONTINUOUS]


def name(model):
    return model.__name__ if isinstance(model, type) else f"{model.func.__name__}{model.args or model.keywords}"


additive_model = pytest.mark.parametrize("model", ADDITIVE, ids=name)
every_model = pytest.mark.parametrize("model", MODELS, ids=name)
seeds = given(seed=st.integers(0, 2**32 - 1))
examples = settings(deadline=None, max_examples=daily(15))


@additive_model
@seeds
@examples
def test_learning_in_pieces_is_learning_at_once(corpus, model, seed):
    """partial_fit over batches of any size, empty ones too, gives the model of one fit."""
    x, y = corpus(seed)
    whole, pieces = model().fit(x, y), model()
    cuts = np.sort(np.random.default_rng(seed).integers(0, x.shape[0] + 1, 3))
    for start, stop in zip([0, *cuts], [*cuts, x.shape[0]], strict=True):
        pieces.partial_fit(x[start:stop], y[start:stop])
    np.testing.assert_allclose(pieces.joint_log_likelihood(x), whole.joint_log_likelihood(x), rtol=1e-7, atol=1e-7)
    assert pieces.class_count_.tolist() == whole.class_count_.tolist()


@additive_model
@seeds
@examples
def test_untraining_takes_training_back(corpus, model, seed):
    """Messages learned and forgotten leave no trace."""
    x, y = corpus(seed)
    half = x.shape[0] // 2 + 1
    before = model().fit(x[:half], y[:half])
    after = model().fit(x, y).unfit(x[half:], y[half:])
    assert after.class_count_.tolist() == before.class_count_.tolist()
    np.testing.assert_array_equal(after.joint_log_likelihood(x), before.joint_log_likelihood(x))


@every_model
@seeds
@examples
def test_probabilities_sum_to_one(corpus, model, seed):
    """P(ham) + P(spam) = 1 for any message, also one that the model holds to be impossible."""
    x, y = corpus(seed)
    half = x.shape[0] // 2 + 1
    fitted = model().fit(x[:half], y[:half])
    for messages in (x, x * 100, x * 0, x[:0]):
        np.testing.assert_allclose(np.exp(fitted.predict_log_proba(messages)).sum(axis=1), 1.0, rtol=1e-12)
        assert not np.isnan(fitted.joint_log_likelihood(messages)).any()


@every_model
@seeds
@examples
def test_the_order_of_the_tokens_does_not_matter(corpus, model, seed):
    """Permuting the columns permutes feature_log_prob_, and leaves the verdicts alone."""
    x, y = corpus(seed)
    order = np.random.default_rng(seed).permutation(x.shape[1])
    straight, permuted = model().fit(x, y), model().fit(x[:, order], y)
    np.testing.assert_allclose(
        permuted.joint_log_likelihood(x[:, order]), straight.joint_log_likelihood(x), rtol=1e-9, atol=1e-9
    )
    if hasattr(straight, "feature_log_prob_"):
        np.testing.assert_array_equal(permuted.feature_log_prob_, straight.feature_log_prob_[:, order])


@every_model
@seeds
@examples
def test_the_classes_are_told_apart(corpus, model, seed):
    """Exchanging the labels exchanges the columns."""
    x, y = corpus(seed)
    straight, exchanged = model().fit(x, y), model().fit(x, 1 - y)
    np.testing.assert_allclose(
        exchanged.joint_log_likelihood(x), straight.joint_log_likelihood(x)[:, ::-1], rtol=1e-12, atol=1e-12
    )


@every_model
def test_a_word_of_spam_makes_spam(model):
    """A message with a word seen in spam alone is spam, one with a word seen in ham alone is ham."""
    x = relative = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]])
    if model in CONTINUOUS:
        relative = relative_frequencies(x)
    fitted = model().fit(relative, [1, 1, 0, 0])
    assert fitted.predict(np.array([[1, 0, 0], [0, 1, 0]])).tolist() == [1, 0]


@every_model
def test_one_class_alone_is_the_answer(model):
    """While only one class has been learned, every message is of that class, or undecided if impossible."""
    fitted = model().fit(np.array([[1, 0], [1, 1]]), [1, 1])
    probability = np.exp(fitted.predict_log_proba(np.array([[1, 0], [0, 0], [3, 1]])))
    assert (probability[:, 1] >= 0.5).all()
    assert probability[0, 1] == 1.0


@every_model
def test_nothing_learned_is_an_error(model):
    """A model without lessons raises an error, and so does one that gets different tokens."""
    with pytest.raises(ValueError, match="learned nothing"):
        model().predict(np.eye(2))
    with pytest.raises(ValueError, match="learned 2 tokens"):
        model().fit(np.eye(2), [0, 1]).predict(np.eye(3))


@pytest.mark.parametrize("model", COUNTING, ids=name)
def test_amounts_below_0_are_refused(model):
    """A model over counts refuses an amount below 0, when it learns and when it judges."""
    below = np.array([[1.0, -1.0]])
    with pytest.raises(ValueError, match="0 or more"):
        model().fit(below, [1])
    with pytest.raises(ValueError, match="0 or more"):
        model().fit(np.eye(2), [0, 1]).predict(below)


@every_model
@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_what_is_no_number_is_refused(model, number):
    """Every model refuses infinities and NaN, when it learns and when it judges."""
    with pytest.raises(ValueError, match="finite"):
        model().fit(np.array([[1.0, number]]), [1])
    with pytest.raises(ValueError, match="finite"):
        model().fit(np.eye(2), [0, 1]).predict(np.array([[number, 1.0]]))


@additive_model
def test_forgetting_what_was_never_learned_is_an_error(model):
    """More messages of a class cannot be forgotten than were learned."""
    with pytest.raises(ValueError, match="never learned"):
        model().fit(np.eye(2), [0, 1]).unfit(np.eye(2), [1, 1])


def test_parameters_out_of_range_are_refused():
    """Smoothing is a number that is 0 or more."""
    for model in (Bernoulli, MultinomialTF, Categorical, Gaussian):
        with pytest.raises(ValueError, match="0 or more"):
            model(-1.0)
        with pytest.raises(ValueError, match="0 or more"):
            model(float("nan"))
    with pytest.raises(ValueError, match="category"):
        Categorical().fit(np.array([[0.5]]), [1])
    with pytest.raises(ValueError, match="length above 0"):
        relative_frequencies(np.array([[1.0]]), [0])
