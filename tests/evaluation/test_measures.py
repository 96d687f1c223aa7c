"""The measures of the TREC spam track, against worked figures and scikit-learn."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, roc_auc_score

from spamnb.base.errors import MailError
from spamnb.base.label import Label, Verdict
from spamnb.evaluation.measures import (
    Outcome,
    calibration_error,
    logistic_mean,
    measure,
    missed_at,
    one_minus_roca,
    one_minus_roca_of_all,
    values,
)
from tests.profiles import daily


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
    """Ham is lost only if it is called spam, and spam is caught only if it is called spam."""
    outcomes = run_of((0, 0.95), (0, 0.5), (0, 0.05), (0, 0.0), (1, 0.99), (1, 0.5))
    found = measure(outcomes, resamples=20)
    assert found["hm"].value == 25.0
    assert found["sm"].value == 50.0
    assert found["unsure"].value == pytest.approx(100 / 3)


def test_logistic_mean() -> None:
    """lam is the same with both classes' errors swapped, and is between them."""
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
@settings(max_examples=daily(30))
def test_intervals_hold_their_value(n: int, lost: int, random: object) -> None:
    """Each interval holds the value it belongs to, within 0 to 100."""
    rows = [(0, 0.95)] * lost + [(0, 0.02)] * n + [(1, 0.97)] * n + [(1, 0.3)] * 3
    for name, found in measure(run_of(*rows), resamples=100).items():
        assert 0 <= found.low <= found.value + 1e-9, name
        assert found.value <= found.high + 1e-9 <= 100 + 1e-9, name
        assert math.isfinite(found.value)


def test_no_interval_is_without_width() -> None:
    """Without an error an interval still has a width, which shrinks with the number of messages."""
    few, many = (measure(run_of(*[(0, 0.0)] * n, *[(1, 1.0)] * n)) for n in (30, 300))
    for name, found in few.items():
        assert found.low < found.high, name
        assert found.low <= found.value <= found.high, name
        assert many[name].high - many[name].low < found.high - found.low, name
    assert few["one_minus_roca"].high == few["sm_at_hm"].high == pytest.approx(100 * 1.96**2 / (30 + 1.96**2), rel=1e-3)


def test_interval_of_the_logistic_mean() -> None:
    """The interval of lam follows from the errors of both classes, as those of log-odds do."""
    found = measure(run_of(*[(0, 0.95)] * 2, *[(0, 0.0)] * 98, *[(1, 0.97)] * 90, *[(1, 0.3)] * 10))["lam"]
    middle, reach = (
        math.log(found.value / (100 - found.value)),
        1.96 / 2 * math.sqrt(1 / 2.5 + 1 / 98.5 + 1 / 10.5 + 1 / 90.5),
    )
    for end, sign in ((found.low, -1), (found.high, 1)):
        assert math.log(end / (100 - end)) == pytest.approx(middle + sign * reach, rel=1e-3)


def test_interval_of_the_calibration_error_is_not_too_high() -> None:
    """Probabilities that are right are found consistent with an error of 0; wrong ones are not, nor overestimated."""
    choose = np.random.default_rng(5)
    low, high = [], []
    for shift in [0.0] * 20 + [0.1] * 20:
        p = choose.beta(0.2, 0.4, 1000)
        y = choose.random(1000) < p + shift * (1 - p)
        found = measure([Outcome("", Label(int(t)), Verdict.UNSURE, q, q) for t, q in zip(y, p, strict=True)], 1, 50)
        low.append(found["calibration"].low)
        high.append(found["calibration"].high)
    truth = 6.67  # 0.1 · (1 − 0.2 / (0.2 + 0.4))
    assert sum(one == 0 for one in low[:20]) >= 18
    assert sum(low[n] <= truth <= high[n] for n in range(20, 40)) >= 17


def test_unscored_messages_have_no_rank() -> None:
    """Messages judged before both classes were known count in every rate, but not in the ROC curve."""
    early = [Outcome(str(i), Label.HAM, Verdict.UNSURE, 0.5, 0.0, has_score=False) for i in range(10)]
    late = [Outcome("h", Label.HAM, Verdict.HAM, 0.01, -2.0), Outcome("s", Label.SPAM, Verdict.UNSURE, 0.4, -0.2)]
    found = measure([*early, *late])
    assert found["one_minus_roca"].value == found["sm_at_hm"].value == 0
    assert found["unsure"].value == pytest.approx(100 * 11 / 12)
    assert one_minus_roca_of_all([*early, *late]) == pytest.approx(100 * 10 / 11), "the TREC track's figure"
    assert values([*early, *late]) == {name: one.value for name, one in found.items()}


def test_nothing_to_rank() -> None:
    """If no message of a class has a score, nothing can be measured, and the error says so."""
    early = Outcome("e", Label.SPAM, Verdict.UNSURE, 0.5, 0.0, has_score=False)
    with pytest.raises(MailError, match="both ham and spam"):
        measure([early, Outcome("h", Label.HAM, Verdict.HAM, 0.01, -2.0)])
