"""What a spam cutoff does to mail judged by a filter that has not learned it, and which cutoff to choose.

The page Tune shows the effect of some cutoffs. `evaluate --at-most-one-ham-in` chooses one. It also measures the effect
on mail that had no part in the choice: each message is judged at the cutoff that all others give.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spamnb.base.label import Label
from spamnb.config import Scoring
from spamnb.evaluation.measures import Measure, Outcome, judged_opposite, wilson

CUTOFFS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999)
"""Spam cutoffs to show: about evenly spaced in log-odds."""
NOT_SEEN = (
    "Most of this mail is of senders whom the filter knows. These figures cannot show what it does with the first mail"
    " of a new sender or a new list: it takes more of that for spam."
)
"""What no figure about learned mail says."""
_LOWEST = 0.5  # mail that is more probably ham is never called spam, however few ham come near
# To spare ham that are really spam, filed wrongly, means to give up most of the spam. On csdmc2010, Enron1 and Enron6,
# for one ham in 100 to 2000, a raised cutoff gives up at most 12 % of what is caught at 0.95. It is 22 % if one ham of
# Enron6, at 0.995, has to be spared. With 3 or 30 of the spam called ham, it gives up 21 to 98 % or less than 8 %.
_RUINOUS = 0.15


@dataclass(frozen=True, slots=True)
class AtCutoff:
    """The effect of a spam cutoff: it calls `lost` of `ham` messages and `caught` of `spam` messages spam."""

    cutoff: float
    ham: int
    lost: int
    spam: int
    caught: int

    @property
    def lost_share(self) -> Measure:
        """Share of the ham that is called spam, in percent, with its 95 % interval (Wilson)."""
        return wilson(self.lost, self.ham)

    @property
    def caught_share(self) -> Measure:
        """Share of the spam that is caught, in percent, with its 95 % interval (Wilson)."""
        return wilson(self.caught, self.spam)


@dataclass(frozen=True, slots=True)
class Advice:
    """The lowest cutoff at which at most one ham in a given number is called spam; None if the mail contradicts itself.

    caught, ham_lost: spam caught, in percent, and ham called spam. Each message is judged at a cutoff that was chosen
    in the same way on all others. caught_now, ham_lost_now: at the configured cutoff. given_up: in percent of the spam
    that is caught now, what a cutoff that spares enough ham would miss. enough: whether there is enough ham to tell.
    look_at: ham that looks like spam, the strongest first, if it decides the cutoff or prevents one.
    """

    cutoff: float | None
    caught: float
    ham_lost: int
    caught_now: float
    ham_lost_now: int
    given_up: float
    enough: bool
    look_at: tuple[Outcome, ...] = ()


def at_cutoffs(
    is_spam: NDArray[np.bool_], probability: NDArray[np.float64], cutoffs: Sequence[float] = CUTOFFS
) -> list[AtCutoff]:
    """Count what each cutoff does to messages, ham and spam: bool (n,) and float64 (n,).

    >>> at_cutoffs(np.array([False, False, True]), np.array([0.1, 0.96, 0.99]), [0.95, 0.98])[0]
    AtCutoff(cutoff=0.95, ham=2, lost=1, spam=1, caught=1)
    """
    ham, spam = np.sort(probability[~is_spam]), np.sort(probability[is_spam])
    lost = len(ham) - np.searchsorted(ham, cutoffs)
    caught = len(spam) - np.searchsorted(spam, cutoffs)
    numbers = zip(cutoffs, lost.tolist(), caught.tolist(), strict=True)
    return [AtCutoff(cutoff, len(ham), n_lost, len(spam), n_caught) for cutoff, n_lost, n_caught in numbers]


def lost_at(is_spam: NDArray[np.bool_], probability: NDArray[np.float64], cutoff: float) -> list[int]:
    """Return the places of the ham that a cutoff loses, the most probable spam first."""
    places = np.flatnonzero(~is_spam & (probability >= cutoff))
    ordered: list[int] = places[np.argsort(-probability[places], kind="stable")].tolist()
    return ordered


def advise(
    outcomes: Sequence[Outcome], one_in: int, configured: float, ham_cutoff: float, *, is_doubted: bool = False
) -> Advice:
    """Choose a spam cutoff at which at most one ham in `one_in` is called spam.

    is_doubted: some of the ham is probably spam that is filed wrongly. To spare it, no cutoff above the default is
    advised.

    The configured cutoff stays if no more ham than that is called spam, unless a lower one spares it too and catches
    more. A lower one is advised only if there is enough ham to tell, and if it is above `ham_cutoff`.
    """
    is_spam = np.array([outcome.label is Label.SPAM for outcome in outcomes])
    probability = np.array([outcome.probability for outcome in outcomes])
    ham: list[float] = np.sort(probability[~is_spam])[::-1].tolist()
    spam: list[float] = np.sort(probability[is_spam]).tolist()
    enough = len(ham) + 1 >= one_in
    cutoff = cutoff_for(ham, spam, one_in)
    advised = max(_LOWEST, cutoff)
    now, then = at_cutoffs(is_spam, probability, [configured, cutoff])
    caught_now = now.caught_share.value
    if now.lost * one_in <= len(ham):
        lost, caught = _on_other_mail(ham, spam, one_in, min(_LOWEST, configured), configured)
        if not enough or not ham_cutoff < advised < configured or caught <= now.caught:
            return Advice(configured, caught_now, now.lost, caught_now, now.lost, 0.0, enough)
        return Advice(advised, 100 * caught / len(spam), lost, caught_now, now.lost, 0.0, enough)
    lost, caught = _on_other_mail(ham, spam, one_in, configured, 1.0)
    given_up = 1 - then.caught / now.caught if now.caught else 0.0
    look_at = tuple(outcome for outcome in judged_opposite(outcomes) if outcome.label is Label.HAM)
    return Advice(
        None if look_at and (given_up > _RUINOUS or (is_doubted and cutoff > Scoring().spam_cutoff)) else cutoff,
        100 * caught / len(spam),
        lost,
        caught_now,
        now.lost,
        100 * given_up,
        enough,
        look_at,
    )


def cutoff_for(ham: Sequence[float], spam: Sequence[float], one_in: int) -> float:
    """Return the lowest cutoff at which one ham in `one_in` is called spam, as expected in mail like this sample.

    ham: probabilities, the highest first. spam: the lowest first. With n ham, the expected share of other ham above the
    k-th highest is k / (n + 1). If n is too small for one in `one_in`, the cutoff is above all of them.

    The cutoff is above the ham to be spared, about half-way to the next spam. It has as few decimals as possible, since
    a person writes it down.
    """
    spared = ham[_spared(len(ham), one_in)]
    place = bisect_right(spam, spared)
    return _between(spared, spam[place] if place < len(spam) else 1.0)


def _spared(n_ham: int, one_in: int) -> int:
    """Return which ham, counted from the highest probability, is the first that must not be called spam."""
    return max(0, (n_ham + 1) // one_in - 1)


def _between(low: float, high: float) -> float:
    """Return a number with few decimals, above `low` and at most `high`."""
    tries = (round((low + high) / 2, decimals) for decimals in range(2, 17))
    return next((number for number in tries if low < number <= high), high)


def _on_other_mail(
    ham: Sequence[float], spam: Sequence[float], one_in: int, least: float, most: float
) -> tuple[int, int]:
    """Count ham called spam and spam caught, if each message is judged at the cutoff of all others, within limits.

    The cutoff follows from one ham and the next spam above it. So there are only two cutoffs without one of the ham:
    one without any ham that ranks up to the spared one, and one without any other ham. The same holds for the spam.
    """

    def limited(ham: Sequence[float], spam: Sequence[float]) -> float:
        return min(most, max(least, cutoff_for(ham, spam, one_in))) if ham else most

    last = _spared(len(ham) - 1, one_in)  # among the others
    without_high, without_low = limited(ham[1:], spam), limited(ham[:-1], spam)
    lost = sum(chance >= without_high for chance in ham[: last + 1])
    lost += sum(chance >= without_low for chance in ham[last + 1 :])
    decisive = bisect_right(spam, ham[_spared(len(ham), one_in)])
    others = [*spam[:decisive], *spam[decisive + 1 :]]
    cutoff = limited(ham, spam)
    caught = sum(chance >= cutoff for chance in others)
    caught += sum(chance >= limited(ham, others) for chance in spam[decisive : decisive + 1])
    return lost, caught
