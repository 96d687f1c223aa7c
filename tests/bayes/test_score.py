"""The score: a mean of log-odds, in which strong evidence counts more than in proportion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spamnb.bayes import score_arrays
from spamnb.bayes.score_plain import (
    CAUTION,
    GRAMS,
    GRAMS_WEIGHT,
    LEAST_GRAMS,
    UNKNOWN,
    score,
    strength,
    unused_weight,
    weights,
)

NUMBERS = st.lists(st.floats(-20, 20, allow_nan=False), min_size=1, max_size=80)
KINDS = st.lists(st.sampled_from(["", "a:", GRAMS, GRAMS]), min_size=80, max_size=80)


def of(log_odds: list[float], kinds: list[str] | None = None) -> float:
    """Return the score of a message's tokens; by default each is of a kind of its own."""
    alone = [f"{number}:" for number in range(len(log_odds))]
    return score(log_odds, weights(log_odds, alone if kinds is None else kinds))


def test_arithmetic() -> None:
    """Two tokens of log-odds 4 and -1, each alone of its kind: (8·4 − 1·1) / (60 + 8 + 1)."""
    assert of([4.0, -1.0]) == pytest.approx(31 / (CAUTION + 9))


@pytest.mark.parametrize("log_odds", [0.25, 1.0, 4.0, 9.0])
def test_strong_evidence_counts_more_than_in_proportion(log_odds: float) -> None:
    """Four times the log-odds has eight times the strength, for either class."""
    assert strength(4 * log_odds) == pytest.approx(8 * strength(log_odds))
    assert strength(-log_odds) == strength(log_odds)


def test_a_family_is_heard_less() -> None:
    """Each of 8 tokens of one kind has half the weight that it would have alone."""
    assert weights([4.0] * 8, [""] * 8) == pytest.approx([4 / (CAUTION + 32)] * 8)


def test_unknown_tokens_dilute() -> None:
    """A token never learned says nothing, and draws the score to 0."""
    assert of([4.0, 4.0, 0.0]) == pytest.approx(64 / (CAUTION + 16 + UNKNOWN))
    assert 0 < of([4.0, 4.0, 0.0]) < of([4.0, 4.0])


def test_nothing_known_is_zero() -> None:
    """A message without a known token, or without any, scores 0."""
    assert of([0.0] * 3) == 0.0
    assert of([]) == 0.0


def test_grams_have_a_mean_of_their_own() -> None:
    """With 20 grams there are two means without common tokens; with 19 there is only the first."""
    words = 32 / (CAUTION + 8)
    grams = 20 * 1 / (CAUTION + 20 * 1)
    assert LEAST_GRAMS == 20
    assert of([4.0] + [1.0] * 20, [""] + [GRAMS] * 20) == pytest.approx(
        (words + GRAMS_WEIGHT * grams) / (1 + GRAMS_WEIGHT)
    )
    assert of([4.0] + [1.0] * 19, [""] + [GRAMS] * 19) == pytest.approx(words)
    assert weights([4.0] + [1.0] * 19, [""] + [GRAMS] * 19)[1:] == [0.0] * 19


@given(NUMBERS, KINDS)
def test_what_is_silent_and_what_speaks_are_all(values: list[float], kinds: list[str]) -> None:
    """The weights of tokens with evidence, and the unused weight, add up to 1."""
    of_all = weights(values, kinds[: len(values)])
    speaking = sum(weight for value, weight in zip(values, of_all, strict=True) if abs(value) > 1e-12)
    assert speaking + unused_weight(values, of_all) == pytest.approx(1)
    assert 0 < unused_weight(values, of_all) <= 1


@given(NUMBERS)
def test_classes_are_alike(values: list[float]) -> None:
    """Swapping the classes changes only the sign of the score."""
    kinds = [""] * len(values)
    assert of([-value for value in values], kinds) == pytest.approx(-of(values, kinds))


@given(NUMBERS)
def test_bounded_by_the_strongest(values: list[float]) -> None:
    """No message is spammier than its spammiest token."""
    assert abs(of(values)) <= max(map(abs, values)) + 1e-12


@given(NUMBERS, KINDS)
def test_many_messages_are_scored_as_one(values: list[float], kinds: list[str]) -> None:
    """Arrays of several messages give each the score that it has by itself."""
    numbers = score_arrays.first_numbers()
    families = np.array([numbers.setdefault(kind, len(numbers)) for kind in kinds[: len(values)]])
    lengths = np.array([len(values), 0, len(values)])
    log_odds = np.tile(values, 2)
    weight = score_arrays.weights_of(log_odds, np.tile(families, 2), lengths)
    alone = of(values, kinds[: len(values)])
    assert score_arrays.scores_of(log_odds, weight, lengths) == pytest.approx([alone, 0.0, alone])
