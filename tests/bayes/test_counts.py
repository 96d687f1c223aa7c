"""Counts: what they hold, how they add up, and that a few tokens' counts are enough."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_matrix, csc_matrix, csr_array

from spamnb.bayes.base import Counts
from spamnb.bayes.bernoulli import Bernoulli
from spamnb.bayes.estimate import OfClass, bernoulli, log, log_odds, multinomial, multinomial_boolean
from spamnb.bayes.multinomial import MultinomialBoolean, MultinomialTF
from spamnb.bayes.score_arrays import log_odds_of
from tests.profiles import daily

COUNTING = [Bernoulli, MultinomialTF, MultinomialBoolean]


@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=daily(30))
def test_counts_are_the_sums_over_the_messages_of_each_class(corpus, seed):
    """Row 0 counts ham and row 1 spam: messages that hold the token, and its occurrences."""
    x, y = corpus(seed)
    dense = x.toarray()
    counts = Counts.from_matrix(x, y)
    for c in (0, 1):
        assert counts.messages[c].tolist() == (dense[y == c] > 0).sum(axis=0).tolist()
        assert counts.occurrences[c].tolist() == dense[y == c].sum(axis=0).tolist()
        assert counts.class_messages[c] == (y == c).sum()
        assert counts.class_token_messages[c] == (dense[y == c] > 0).sum()
        assert counts.class_occurrences[c] == dense[y == c].sum()
    assert counts.vocabulary_size == counts.n_tokens == x.shape[1]


@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=daily(30))
def test_adding_and_subtracting_counts_is_exact(corpus, seed):
    """Counts of two halves add up to the counts of the whole, and subtracting one half leaves the other."""
    x, y = corpus(seed)
    half = x.shape[0] // 2
    first, second = Counts.from_matrix(x[:half], y[:half]), Counts.from_matrix(x[half:], y[half:])
    assert first + second == Counts.from_matrix(x, y)
    assert (first + second) - second == first
    assert first != first + second


@pytest.mark.parametrize("form", [csr_array, csc_matrix, coo_matrix, np.asarray])
def test_any_form_of_matrix_is_counted_alike_and_left_alone(form):
    """All formats, stored zeros and repeated entries give the same counts; the input is unchanged."""
    dense = np.array([[3, 0, 1], [0, 0, 2]])
    assert Counts.from_matrix(form(dense), [1, 0]) == Counts.from_matrix(csr_array(dense), [1, 0])
    loose = csr_array((np.array([1, 2, 0, 1, 2]), np.array([0, 0, 1, 2, 2]), np.array([0, 4, 5])), shape=(2, 3))
    assert Counts.from_matrix(loose, [1, 0]) == Counts.from_matrix(csr_array(dense), [1, 0])
    assert loose.data.tolist() == [1, 2, 0, 1, 2]


def test_forgetting_what_was_never_learned_is_refused():
    """A count below zero is an error, and says so."""
    known, unknown = Counts.from_matrix(np.eye(2), [0, 1]), Counts.from_matrix(np.eye(2), [1, 0])
    with pytest.raises(ValueError, match="never learned"):
        known - unknown
    with pytest.raises(ValueError, match="different tokens"):
        known + unknown.take([0])


@pytest.mark.parametrize(
    ("x", "y"),
    [([[1.5]], [0]), ([[-1.0]], [0]), ([[np.nan]], [0]), ([[np.inf]], [0]), ([[1.0]], [2]), ([[1.0]], [0, 1])],
)
def test_what_is_no_count_and_what_is_no_class_is_refused(x, y):
    """Entries are whole numbers from 0 up, and each message has a label 0 or 1."""
    with pytest.raises(ValueError, match=r"whole|amounts|label"):
        Counts.from_matrix(np.array(x), y)


@pytest.mark.parametrize("model", COUNTING)
@pytest.mark.parametrize("alpha", [0.0, 0.001, 1.0])
@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=daily(20))
def test_the_counts_of_a_few_tokens_give_the_model_of_all_tokens(corpus, model, alpha, seed):
    """Log-probabilities from the counts of some tokens are exactly those of the full model."""
    x, y = corpus(seed)
    tokens = np.random.default_rng(seed).permutation(x.shape[1])[: x.shape[1] // 2 + 1]
    fitted = model(alpha).fit(x, y)
    few = Counts.from_matrix(x, y).take(tokens)
    np.testing.assert_array_equal(model(alpha).feature_log_prob(few), fitted.feature_log_prob_[:, tokens])
    odds = log_odds_of(few, model.estimate, alpha)
    assert not np.isnan(odds).any()
    possible = ~np.isneginf(fitted.feature_log_prob_[:, tokens]).all(axis=0) & few.messages.any(axis=0)
    expected = fitted.feature_log_prob_[1, tokens] - np.where(possible, fitted.feature_log_prob_[0, tokens], 0)
    np.testing.assert_array_equal(odds[possible], expected[possible])
    assert not odds[~possible].any()


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=1, max_size=6), st.sampled_from([0.0, 0.01, 1.0]))
@pytest.mark.parametrize("estimate", [bernoulli, multinomial, multinomial_boolean])
def test_a_token_by_itself_has_the_log_odds_it_has_in_arrays(estimate, rows, alpha):
    """The log-odds of tokens are the same from plain numbers and from arrays, the impossible too."""
    table = np.array(rows, dtype=np.int64).T
    totals = np.concatenate([table[:2].sum(axis=1), table[:2].sum(axis=1), table[2:].sum(axis=1), [len(rows)]])
    together = log_odds_of(Counts.of(table, totals), estimate, alpha)
    of_ham, of_spam = (OfClass(*totals[label:6:2].tolist(), len(rows)) for label in (0, 1))
    for (ham, spam, more_ham, more_spam), expected in zip(rows, together.tolist(), strict=True):
        alone = log_odds(log(*estimate(spam, more_spam, of_spam, alpha)), log(*estimate(ham, more_ham, of_ham, alpha)))
        assert (alone if ham or spam else 0.0) == pytest.approx(expected, abs=1e-12)


def test_scoring_one_message_needs_no_arrays():
    """The modules that score one message import neither numpy nor scipy: start-up is a budget."""
    names = ("estimate", "score_plain", "calibration")
    script = ";".join(
        [*(f"import spamnb.bayes.{name}" for name in names), "import sys", "print('numpy' in sys.modules)"]
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
