"""The protocol of the comparison, on a small made-up corpus."""

from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import roc_curve
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

from spamnb.base.label import Label
from spamnb.bayes.base import Counts
from spamnb.bayes.selection import select
from spamnb.cli.common.sample_mail import message
from spamnb.evaluation.comparison import BATCH, ENTRANTS, Dataset, Trial, compare_on, dataset, plain_tokens
from spamnb.mail.parsing.message import parse


@pytest.fixture(scope="module")
def made_up() -> Dataset:
    """300 messages, a third of them spam."""
    labels = [Label(i % 3 == 0) for i in range(300)]
    mail = [Counter(plain_tokens(parse(message(y.word, i)))) for i, y in enumerate(labels)]
    return dataset("made up", mail, labels)


def test_matrix_holds_the_occurrences() -> None:
    """The matrix holds each message's tokens with their occurrences."""
    made = dataset("two", [{"a": 2, "b": 1}, {"b": 3}], list(Label))
    assert made.occurrences.toarray().tolist() == [[2, 1], [0, 3]]


def test_every_model_runs_and_learns(made_up: Dataset) -> None:
    """Each model says something of each message after the first batch, and tells the classes apart."""
    trials = list(compare_on(made_up, [40]))
    assert [trial.model for trial in trials] == [entrant.name for entrant in ENTRANTS]
    for trial in trials:
        assert len(trial.log_odds) == len(trial.labels) == 300 - BATCH
        assert trial.recall(Label.HAM) > 90, trial.model
        assert trial.recall(Label.SPAM) > 80, trial.model


def test_protocol_against_scikit_learn(made_up: Dataset) -> None:
    """Training on all batches so far with attributes chosen anew gives scikit-learn's own predictions."""
    trials = {trial.model: trial for trial in compare_on(made_up, [30])}
    for name, model, presence in (
        ("multinomial TF", MultinomialNB, False),
        ("multinomial Boolean", MultinomialNB, True),
        ("multivariate Bernoulli", BernoulliNB, True),
    ):
        said = []
        for start in range(BATCH, 300, BATCH):
            x, y = made_up.occurrences[:start], made_up.labels[:start]
            chosen = select(Counts.from_matrix(x, y), 30, 5)
            train, test = x[:, chosen].toarray(), made_up.occurrences[start : start + BATCH][:, chosen].toarray()
            if presence:
                train, test = train > 0, test > 0
            said.append(np.diff(model().fit(train, y).predict_joint_log_proba(test), axis=1)[:, 0])
        assert trials[name].log_odds == pytest.approx(np.concatenate(said), abs=1e-9)


def test_roc_is_scikit_learns() -> None:
    """The ROC curve is scikit-learn's."""
    score = np.array([0.1, 0.4, 0.4, 0.35, 0.8, 0.8])
    y = np.array([0, 0, 1, 1, 1, 0])
    lost, caught = Trial("", "", 0, score, y).roc()
    expected = roc_curve(y, score, drop_intermediate=False)
    assert lost == pytest.approx(expected[0])
    assert caught == pytest.approx(expected[1])


def test_two_runs_agree(made_up: Dataset) -> None:
    """Two runs give the same figures."""
    one, two = (list(compare_on(made_up, [0])) for _ in range(2))
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a.log_odds, b.log_odds)
