"""The measures of the TREC spam track, against worked figures and scikit-learn."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, roc_auc_score

from spamnb.evaluation.measures import (
    Outcome,
    calibration_error,
    cutoff_for,
    logistic_mean,
    measure,
    missed_at,
    one_minus_roca,
)
from spamnb.label import Label, Verdict


def run_of(*rows: tuple[int, float]) -> list[Outcome]:
    """Outcomes from labels and probabilities; spam from 0.9, ham to 0.1."""
    return [
        Outcome(str(i), Label(label), Verdict("spam" if p >= 0.9 else "ham" if p <= 0.1 else "unsure"), p, p)
        for i, (label, p) in enumerate(rows)
    ]


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5)), min_size=2, max_size=60))
def test_roc_area_is_scikit_learns(rows: list[tuple[int, int]]) -> None:
    """(1−ROCA)% is 100 minus scikit-learn's area, ties counted half."""
    y, score = np.array([row[0] for row in rows], dtype=bool), np.array([float(row[1]) for row in rows])
    if y.all() or not y.any():
        return
    assert one_minus_roca(score, y) == pytest.approx(100 * (1 - roc_auc_score(y, score)))


def test_swapped_classes_are_noticed() -> None:
    """A filter that ranks all spam above all ham has 0, one that ranks it below has 100."""
    y = np.array([False, False, True])
    assert one_minus_roca(np.array([0.1, 0.2, 0.3]), y) == 0.0
    assert one_minus_roca(np.array([0.3, 0.2, 0.1]), y) == 100.0


def test_misses_and_losses() -> None:
    """Ham counts as lost only where it is called spam; spam as caught only where it is called spam."""
    outcomes = run_of((0, 0.95), (0, 0.5), (0, 0.05), (0, 0.0), (1, 0.99), (1, 0.5))
    found = measure(outcomes, resamples=20)
    assert found["hm"].value == 25.0
    assert found["sm"].value == 50.0
    assert found["unsure"].value == pytest.approx(100 / 3)


def test_logistic_mean() -> None:
    """lam is the same for both classes' errors exchanged, and lies between them."""
    assert logistic_mean(1, 100, 9, 100) == pytest.approx(logistic_mean(9, 100, 1, 100))
    assert 1 < logistic_mean(1, 100, 9, 100) < 9
    assert logistic_mean(0, 100, 0, 100) == pytest.approx(100 / (1 + 201))


def test_spam_missed_at_a_ham_loss() -> None:
    """At 0.1 % of 1,000 ham, one ham may rank above the cutoff, and the spam below the second is missed."""
    score = np.concatenate([np.linspace(0, 0.5, 998), [0.8, 0.9], [0.7, 0.85, 0.95, 0.99]])
    y = np.array([False] * 1000 + [True] * 4)
    assert missed_at(score, y, 0.001) == 25.0


def test_brier_and_calibration() -> None:
    """The Brier score is scikit-learn's; a perfectly calibrated filter has no calibration error."""
    p, y = np.array([0.1, 0.4, 0.9, 0.6]), np.array([False, True, True, False])
    outcomes = [Outcome("", Label(t), Verdict.UNSURE, float(q), float(q)) for q, t in zip(p, y, strict=True)]
    assert measure(outcomes, resamples=5)["brier"].value == pytest.approx(100 * brier_score_loss(y, p))
    assert calibration_error(np.array([0.25] * 4), np.array([True, False, False, False])) == pytest.approx(0.0)
    assert calibration_error(np.array([0.95] * 2), np.array([False, False])) == pytest.approx(95.0)


@given(st.integers(5, 40), st.integers(0, 5), st.randoms())
@settings(max_examples=30)
def test_intervals_hold_their_value(n: int, lost: int, random: object) -> None:
    """Each interval holds the value it belongs to, within 0 to 100."""
    rows = [(0, 0.95)] * lost + [(0, 0.02)] * n + [(1, 0.97)] * n + [(1, 0.3)] * 3
    for name, found in measure(run_of(*rows), resamples=100).items():
        assert 0 <= found.low <= found.value + 1e-9, name
        assert found.value <= found.high + 1e-9 <= 100 + 1e-9, name
        assert math.isfinite(found.value)


def test_cutoff_loses_no_more_than_allowed() -> None:
    """The cutoff for one ham in N loses at most that, and catches all spam that it can."""
    outcomes = run_of(*[(0, i / 1000) for i in range(900)], (0, 0.97), (1, 0.96), (1, 0.98), (1, 0.99), (1, 0.5))
    cutoff, caught = cutoff_for(outcomes, 100_000, 0.5)
    assert 0.97 < cutoff <= 0.98
    assert caught == 50.0
    cutoff, caught = cutoff_for(outcomes, 901, 0.5)
    assert 0.899 < cutoff <= 0.96
    assert caught == 75.0


@given(st.lists(st.floats(0.9, 0.99999999), min_size=1, max_size=9), st.lists(st.floats(0.9, 0.99999999), max_size=9))
def test_cutoff_as_it_is_written(ham: list[float], spam: list[float]) -> None:
    """The cutoff is what it is in few decimals, however near the ham: as it is written, it loses none."""
    cutoff, _ = cutoff_for(run_of(*((0, p) for p in ham), *((1, p) for p in [*spam, 0.99999999])), 10, 0.5)
    assert max(ham) < float(str(cutoff)) <= 1
    wide = cutoff_for(run_of((0, 0.91), (1, 0.99)), 10, 0.5)
    assert str(wide[0]) == "0.95"


def test_cutoff_is_not_lowered() -> None:
    """Where less than the least cutoff would do, it stays: mail in which no ham comes near says little."""
    outcomes = run_of(*[(0, 0.001)] * 50, *[(1, 0.99)] * 9, (1, 0.2))
    assert cutoff_for(outcomes, 10, 0.95) == (0.95, 90.0)
