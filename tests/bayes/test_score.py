"""The score: a mean of log-odds, each weighted by its own strength."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.bayes import score_arrays
from spamnb.bayes.score_plain import CAUTION, UNKNOWN, score, weights

NUMBERS = st.lists(st.floats(-20, 20, allow_nan=False), min_size=1, max_size=50)
KINDS = st.lists(st.sampled_from(["", "a:", "b:"]), min_size=50, max_size=50)


def of(log_odds: list[float], kinds: list[str] | None = None) -> float:
    """The score of a message's tokens, each of a kind of its own where none are given."""
    alone = [f"{number}:" for number in range(len(log_odds))]
    return score(log_odds, weights(log_odds, alone if kinds is None else kinds))


def test_arithmetic() -> None:
    """Two tokens of log-odds 3 and -1, each alone of its kind: (3·3 − 1·1) / (20 + 3 + 1)."""
    assert of([3.0, -1.0]) == pytest.approx(8 / (CAUTION + 4))


def test_a_crowd_is_heard_less() -> None:
    """Each of 16 tokens of one kind is heard half as much as it would be alone."""
    (alone,) = weights([2.0], [""])
    assert weights([2.0] * 16, [""] * 16) == pytest.approx([alone / 2] * 16)


def test_unknown_tokens_dilute() -> None:
    """A token never learned says nothing, and draws the score to 0."""
    assert of([4.0, 4.0, 0.0]) == pytest.approx(32 / (CAUTION + 8 + UNKNOWN))
    assert 0 < of([4.0, 4.0, 0.0]) < of([4.0, 4.0])


def test_nothing_known_is_zero() -> None:
    """A message without a known token, or without any, scores 0."""
    assert of([0.0] * 3) == 0.0
    assert of([]) == 0.0


@given(NUMBERS)
def test_classes_are_alike(values: list[float]) -> None:
    """Swapping the classes turns the score's sign, and nothing else."""
    kinds = [""] * len(values)
    assert of([-value for value in values], kinds) == pytest.approx(-of(values, kinds))


@given(NUMBERS)
def test_bounded_by_the_strongest(values: list[float]) -> None:
    """No message is spammier than its spammiest token."""
    assert abs(of(values)) <= max(map(abs, values)) + 1e-12


@given(NUMBERS, KINDS)
def test_many_messages_are_scored_as_one(values: list[float], kinds: list[str]) -> None:
    """Arrays of several messages give each the score that it has by itself."""
    of_kind = Counter(kinds[: len(values)])
    crowd = np.array([of_kind[kind] for kind in kinds[: len(values)]])
    weight = score_arrays.weights_of(np.array(values), crowd)
    together = score_arrays.scores_of(np.tile(values, 2), np.tile(weight, 2), np.array([len(values)] * 2))
    assert together == pytest.approx([of(values, kinds[: len(values)])] * 2)
