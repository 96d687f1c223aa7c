"""Runs over several orders of the same messages."""

import random

import pytest

from spamnb.base.label import Label, Verdict
from spamnb.cli.common.sample_mail import message
from spamnb.config import Scoring
from spamnb.evaluation.corpus import Sample
from spamnb.evaluation.measures import Outcome, judged_opposite
from spamnb.evaluation.packed import Packed
from spamnb.evaluation.protocols import Learner, online
from spamnb.evaluation.runs import Figures, average, figures, in_orders, over_orders
from spamnb.mail.reading import read


@pytest.fixture(scope="module")
def mail() -> list[Sample]:
    """Made-up mail, ham and spam in turn."""
    return [Sample(f"{i}", Label(i % 2), read(message(Label(i % 2).word, i))) for i in range(40)]


def test_packed_samples_are_the_same(mail: list[Sample]) -> None:
    """A packed message is unchanged, even in the order of its tokens."""
    packed = Packed(iter(mail))
    assert list(packed) == mail
    assert (len(packed), packed[3], packed[-1], list(packed[5:9])) == (40, mail[3], mail[-1], mail[5:9])
    assert [list(sample.reading.tokens) for sample in packed] == [list(sample.reading.tokens) for sample in mail]


def test_orders(mail: list[Sample]) -> None:
    """The first order is that of the messages, each other the shuffle of its seed."""
    first, second, third = in_orders(Packed(mail), 3)
    assert list(first) == mail
    for seed, found in ((1, second), (2, third)):
        expected = mail.copy()
        random.Random(seed).shuffle(expected)
        assert list(found) == expected


def test_figures_of_several_orders(mail: list[Sample]) -> None:
    """Over several orders each figure is the mean of those of single runs, between the least and the greatest."""

    def figures_of(ordered: Packed, number: int) -> Figures:
        return {**figures(list(online(ordered, Learner(Scoring())))), "number": number}

    runs = over_orders(in_orders(Packed(mail), 3), figures_of)
    assert [run["number"] for run in runs] == [0, 1, 2]
    found = average(runs)
    assert found.mean["messages"] == 40
    for name in runs[0]:
        of_runs = [float(str(run[name])) for run in runs]
        assert found.mean[name] == pytest.approx(sum(of_runs) / 3), name
        assert found.spread[name] == (min(of_runs), max(of_runs)), name
    assert found.spread["unsure"][0] < found.spread["unsure"][1]


def test_figures_that_a_run_does_not_have() -> None:
    """If a run lacks a figure there is no mean of it; words are neither averaged nor spread."""
    found = average([{"habit": "tidy", "on": 40, "never": None}, {"habit": "tidy", "on": None, "never": None}])
    assert found.mean == {"habit": "tidy", "on": None, "never": None}
    assert found.spread == {"on": (40, 40)}


def test_messages_that_are_judged_the_opposite() -> None:
    """A message judged as the other class contradicts its label, an unsure one does not; the strongest first."""
    rows = [
        ("a", Label.HAM, Verdict.SPAM, 0.95),
        ("b", Label.HAM, Verdict.UNSURE, 0.949),
        ("c", Label.SPAM, Verdict.HAM, 0.1),
        ("d", Label.SPAM, Verdict.SPAM, 1.0),
        ("e", Label.SPAM, Verdict.HAM, 0.001),
        ("f", Label.HAM, Verdict.HAM, 0.05),
    ]
    found = judged_opposite(Outcome(name, label, verdict, p, 0.0) for name, label, verdict, p in rows)
    assert [outcome.name for outcome in found] == ["e", "a", "c"]
