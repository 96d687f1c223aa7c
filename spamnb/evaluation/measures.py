"""Measures of a filter: the measures of the TREC spam track, and the calibration of its probabilities.

Cormack and Lynam, "TREC 2005 Spam Track Overview". All rates are in percent. A message counts as taken for spam only if
that is the verdict: mail with the verdict unsure stays in the inbox.

A filter that has not learned a message of each class has no score. In the TREC track such messages have whatever number
the filter printed, and enter the ROC curve with it. Here they have no rank: they count as not taken for spam, and are
left out of the ROC curve and of sm_at_hm. `one_minus_roca_of_all` is the track's figure, in which their score is 0.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spamnb.base.errors import MailError
from spamnb.base.label import Label, Verdict, contradicts

_BINS = 10
_Z = 1.959963984540054  # of the normal distribution, for 95 %
_RESAMPLES = 200


@dataclass(frozen=True, slots=True)
class Outcome:
    """The filter's judgement of one message. `label`: the truth. `score`: for ranking.

    name: the message's name in the corpus. summary: its subject and sender, for a person.
    has_score: False if the filter had not learned a message of each class; then the score is 0, and means nothing.
    """

    name: str
    label: Label
    verdict: Verdict
    probability: float
    score: float
    has_score: bool = True
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Measure:
    """A value in percent, with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Messages with a probability in [low, high): its mean, their number, and the number of spam among them."""

    low: float
    high: float
    mean: float
    messages: int
    spam: int

    @property
    def share(self) -> Measure:
        """Share of spam in percent, with its 95 % interval."""
        return wilson(self.spam, self.messages)


@dataclass(frozen=True, slots=True)
class Columns:
    """Outcomes as arrays of shape (n,): label, verdict, probability; and label and score of those that have a score."""

    is_spam: NDArray[np.bool_]
    called_spam: NDArray[np.bool_]
    called_unsure: NDArray[np.bool_]
    probability: NDArray[np.float64]
    ranked_is_spam: NDArray[np.bool_]
    score: NDArray[np.float64]

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> "Columns":
        """Make the columns of outcomes. Raises MailError if no ham or no spam has a score."""
        ranked = [outcome for outcome in outcomes if outcome.has_score]
        if {outcome.label for outcome in ranked} != set(Label):
            raise MailError(
                "nothing can be measured: both ham and spam must be among the messages after the filter has learned one"
                " of each; give more messages (see --limit, --warm-up), or --protocol folds"
            )
        return cls(
            np.array([outcome.label for outcome in outcomes], dtype=bool),
            np.array([outcome.verdict is Verdict.SPAM for outcome in outcomes]),
            np.array([outcome.verdict is Verdict.UNSURE for outcome in outcomes]),
            np.array([outcome.probability for outcome in outcomes]),
            np.array([outcome.label for outcome in ranked], dtype=bool),
            np.array([outcome.score for outcome in ranked]),
        )


def judged_opposite(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return the messages that are judged the opposite of their label, the strongest contradiction first.

    Either the filter errs, or they are filed wrongly: only a person can tell.
    """
    opposite = [outcome for outcome in outcomes if contradicts(outcome.label, outcome.verdict)]
    return sorted(opposite, key=lambda outcome: -abs(outcome.probability - outcome.label))


def measure(outcomes: Sequence[Outcome], seed: int = 0, resamples: int = _RESAMPLES) -> dict[str, Measure]:
    """Return all measures of a run.

    hm: ham called spam. sm: spam not called spam. unsure: messages with that verdict. lam: the logistic mean of
    hm and sm. one_minus_roca: 100 minus the area under the ROC curve in percent. sm_at_hm: spam missed if 0.1 % of the
    ham is called spam. brier and calibration: 100 times the Brier score and the expected calibration error.

    Every interval has a width, even if there was no error. Those of hm, sm and unsure are Wilson's. So is that of the
    Brier score: it is a mean of values from 0 to 1, and a share is the widest distribution of such values. That of
    one_minus_roca has the percentiles of a stratified bootstrap. If every spam ranks above every ham, a bootstrap sees
    nothing else. Then it is Wilson's for the smaller class: no area A has a variance above A (1 - A) / min(ham, spam).
    See Birnbaum and Klose, "Bounds for the variance of the Mann-Whitney statistic", 1957.
    Raises MailError if nothing can be measured.
    """
    run = Columns.of(outcomes)
    n, n_spam = len(run.is_spam), int(run.is_spam.sum())
    lost, missed = _errors(run)
    choose = np.random.default_rng(seed)
    return {
        "hm": wilson(lost, n - n_spam),
        "sm": wilson(missed, n_spam),
        "unsure": wilson(int(run.called_unsure.sum()), n),
        "lam": _logistic_mean_interval(lost, n - n_spam, missed, n_spam),
        "one_minus_roca": _roca_interval(run, choose, resamples),
        "sm_at_hm": _missed_at_interval(run, choose, resamples),
        "brier": wilson(_brier(run) / 100 * n, n),
        "calibration": _calibration_interval(run, choose, resamples),
    }


def values(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return the values of `measure` without intervals, which take most of its time. Raises MailError as it does."""
    run = Columns.of(outcomes)
    n_spam = int(run.is_spam.sum())
    n_ham = len(run.is_spam) - n_spam
    lost, missed = _errors(run)
    return {
        "hm": 100 * lost / n_ham,
        "sm": 100 * missed / n_spam,
        "unsure": 100 * float(run.called_unsure.mean()),
        "lam": logistic_mean(lost, n_ham, missed, n_spam),
        "one_minus_roca": one_minus_roca(run.score, run.ranked_is_spam),
        "sm_at_hm": missed_at(run.score, run.ranked_is_spam, 0.001),
        "brier": _brier(run),
        "calibration": calibration_error(run.probability, run.is_spam),
    }


def one_minus_roca_of_all(outcomes: Sequence[Outcome]) -> float:
    """(1−ROCA)% as in the TREC spam track: a message without a score enters with the score 0."""
    is_spam = np.array([outcome.label for outcome in outcomes], dtype=bool)
    return one_minus_roca(np.array([outcome.score for outcome in outcomes]), is_spam)


def _errors(run: Columns) -> tuple[int, int]:
    """Return the number of ham taken for spam, and of spam that was not."""
    return int((run.called_spam & ~run.is_spam).sum()), int((~run.called_spam & run.is_spam).sum())


def _brier(run: Columns) -> float:
    return 100 * float(np.mean((run.probability - run.is_spam) ** 2))


def one_minus_roca(score: NDArray[np.float64], y: NDArray[np.bool_]) -> float:
    """100 · (1 − area under the ROC curve): how often a ham ranks above a spam; ties count half.

    >>> one_minus_roca(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
    25.0
    """
    ham, spam = np.sort(score[~y]), score[y]
    above = len(ham) - np.searchsorted(ham, spam, side="right")
    tied = np.searchsorted(ham, spam, side="right") - np.searchsorted(ham, spam, side="left")
    return 100 * float((above + tied / 2).sum()) / (len(ham) * len(spam))


def missed_at(score: NDArray[np.float64], y: NDArray[np.bool_], ham_lost: float) -> float:
    """Spam missed, in percent, at the lowest cutoff that loses no more than this share of the ham."""
    ham = np.sort(score[~y])[::-1]
    cutoff = ham[min(int(ham_lost * len(ham)), len(ham) - 1)]
    return 100 * float((score[y] <= cutoff).mean())


def logistic_mean(ham_lost: int, n_ham: int, spam_missed: int, n_spam: int) -> float:
    """lam% = logit⁻¹((logit hm + logit sm) / 2), with half an error added to each cell so that 0 has a logit."""
    mean = (_logit(ham_lost, n_ham) + _logit(spam_missed, n_spam)) / 2
    return 100 / (1 + math.exp(-mean))


def calibration_error(probability: NDArray[np.float64], y: NDArray[np.bool_]) -> float:
    """Mean distance between probability and truth over ten bins of equal width, weighted by messages, in percent."""
    bins = _bins_of(probability)
    gaps = [abs(float((probability[bins == b] - y[bins == b]).sum())) for b in range(_BINS)]
    return 100 * sum(gaps) / len(y)


def calibration_bins(is_spam: NDArray[np.bool_], probability: NDArray[np.float64]) -> list[CalibrationBin]:
    """Return ten bins of equal width, without the empty ones."""
    bins = _bins_of(probability)
    messages = np.bincount(bins, minlength=_BINS)
    spam = np.bincount(bins, weights=is_spam, minlength=_BINS)
    sums = np.bincount(bins, weights=probability, minlength=_BINS)
    return [
        CalibrationBin(b / _BINS, (b + 1) / _BINS, float(sums[b] / messages[b]), int(messages[b]), int(spam[b]))
        for b in range(_BINS)
        if messages[b]
    ]


def _bins_of(probability: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return which of ten bins of equal width each probability is in, int64 (n,)."""
    bins: NDArray[np.int64] = np.minimum((probability * _BINS).astype(np.int64), _BINS - 1)
    return bins


def _logit(errors: int, n: int) -> float:
    return math.log((errors + 0.5) / (n - errors + 0.5))


def wilson(errors: float, n: int) -> Measure:
    """A share in percent, with its interval.

    Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
    """
    p = errors / n
    centre = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    return Measure(100 * p, 100 * min(low, p), 100 * max(high, p))  # rounding could put the ends on the wrong side of p


def _logistic_mean_interval(ham_lost: int, n_ham: int, spam_missed: int, n_spam: int) -> Measure:
    """Normal interval on the logit's scale, with the variance 1 / (e + ½) + 1 / (n - e + ½) (Gart, Zweifel, 1967)."""
    value = logistic_mean(ham_lost, n_ham, spam_missed, n_spam)
    cells = (ham_lost, n_ham - ham_lost, spam_missed, n_spam - spam_missed)
    reach = _Z * math.sqrt(sum(1 / (cell + 0.5) for cell in cells)) / 2
    mean = (_logit(ham_lost, n_ham) + _logit(spam_missed, n_spam)) / 2
    low, high = (100 / (1 + math.exp(-(mean + sign * reach))) for sign in (-1, 1))
    return Measure(value, low, high)


# Quoted: numpy.random takes 2 MB, and naming it imports it.
def _roca_interval(run: Columns, choose: "np.random.Generator", resamples: int) -> Measure:
    value = one_minus_roca(run.score, run.ranked_is_spam)
    if value in (0.0, 100.0):
        n_spam = int(run.ranked_is_spam.sum())
        smaller = min(n_spam, len(run.score) - n_spam)
        return wilson(value / 100 * smaller, smaller)
    low, high = _bootstrap(one_minus_roca, run, choose, resamples)
    return Measure(value, min(low, value), max(high, value))


def _missed_at_interval(run: Columns, choose: "np.random.Generator", resamples: int) -> Measure:
    """Return the bootstrap's interval, which allows for the cutoff's uncertainty, or Wilson's, whichever is wider."""
    value = missed_at(run.score, run.ranked_is_spam, 0.001)
    n_spam = int(run.ranked_is_spam.sum())
    low, high = _bootstrap(lambda score, is_spam: missed_at(score, is_spam, 0.001), run, choose, resamples)
    share = wilson(value / 100 * n_spam, n_spam)
    return Measure(value, min(low, share.low), max(high, share.high))


def _bootstrap(
    statistic: Callable[[NDArray[np.float64], NDArray[np.bool_]], float],
    run: Columns,
    choose: "np.random.Generator",
    resamples: int,
) -> tuple[float, float]:
    """Return the 2.5 and 97.5 percentiles over resamples; each has as many messages of each class."""
    classes = np.flatnonzero(~run.ranked_is_spam), np.flatnonzero(run.ranked_is_spam)
    tries = []
    for _ in range(resamples):
        taken = np.concatenate([choose.choice(places, len(places)) for places in classes])
        tries.append(statistic(run.score[taken], run.ranked_is_spam[taken]))
    low, high = np.percentile(tries, [2.5, 97.5]).tolist()
    return low, high


def _calibration_interval(run: Columns, choose: "np.random.Generator", resamples: int) -> Measure:
    """Draw from Jeffreys' posterior of each bin's share of spam, which has a width even if a bin has no spam.

    The error is a sum of absolute values. Any noise increases it: the noise of the draws, and before that the noise of
    the messages themselves. So the draws exceed the value by about as much as the value exceeds what it estimates. Both
    ends are lowered by twice that, the basic bootstrap's correction (Davison and Hinkley, "Bootstrap Methods", 1997,
    5.2). If probabilities without any error would show as much (Bröcker and Smith, "Increasing the Reliability of
    Reliability Diagrams", 2007), the interval begins at 0.
    """
    value = calibration_error(run.probability, run.is_spam)
    bins = _bins_of(run.probability)
    n = np.bincount(bins, minlength=_BINS)
    spam = np.bincount(bins, weights=run.is_spam, minlength=_BINS)
    expected = np.bincount(bins, weights=run.probability, minlength=_BINS)
    share = choose.beta(spam + 0.5, n - spam + 0.5, size=(resamples, _BINS))
    draws = 100 * np.abs(expected - n * share).sum(axis=1) / len(bins)
    low, high = (np.percentile(draws, [2.5, 97.5]) - 2 * max(0.0, float(draws.mean()) - value)).tolist()
    without_error = [
        calibration_error(run.probability, choose.random(len(bins)) < run.probability) for _ in range(resamples)
    ]
    is_consistent = value <= float(np.percentile(without_error, 97.5))
    return Measure(value, 0.0 if is_consistent else min(value, max(0.0, low)), max(value, high))
