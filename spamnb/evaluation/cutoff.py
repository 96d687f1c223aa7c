"""Which spam cutoff loses at most one ham in so many, and what that is worth on mail it was not chosen on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spamnb.evaluation.contradictions import contradicting
from spamnb.evaluation.measures import Outcome
from spamnb.label import Label

_LOWEST = 0.5  # what is more probably ham is not called spam, however few ham come near
# Sparing ham that are really spam, filed wrongly, gives up most of the spam: with 1 % of csdmc2010's and Enron's spam
# called ham, a cutoff for one ham in 200 or 1,000 gives up 21 to 93 % of what is caught at 0.95, with one exception of
# 0 %. As these corpora are it gives up at most 12 %; 22 % where a single ham of Enron6, at 0.995, has to be spared.
_RUINOUS = 0.15


@dataclass(frozen=True, slots=True)
class Advice:
    """The lowest spam cutoff at which at most one ham in so many is lost; None where the mail contradicts itself.

    caught, ham_lost: spam caught, in percent, and ham lost at a cutoff that was chosen in the same way on other mail:
    each half of the mail is judged at the cutoff of the other half. caught_now, ham_lost_now: at the configured cutoff.
    given_up: of the spam that is caught now, in percent, what a cutoff that spares enough ham would miss.
    enough: whether there is enough ham to tell. look_at: ham that looks like spam, the strongest first, where it
    decides the cutoff or stands against it.
    """

    cutoff: float | None
    caught: float
    ham_lost: int
    caught_now: float
    ham_lost_now: int
    given_up: float
    enough: bool
    look_at: tuple[Outcome, ...] = ()


@dataclass(frozen=True, slots=True)
class _Mail:
    """The probabilities of ham, the highest first, and of spam, the lowest first."""

    ham: list[float]
    spam: list[float]

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> "_Mail":
        ham = sorted((outcome.probability for outcome in outcomes if outcome.label is Label.HAM), reverse=True)
        return cls(ham, sorted(outcome.probability for outcome in outcomes if outcome.label is Label.SPAM))

    def lost(self, cutoff: float) -> int:
        return sum(probability >= cutoff for probability in self.ham)

    def caught(self, cutoff: float) -> int:
        return sum(probability >= cutoff for probability in self.spam)


def advise(outcomes: Sequence[Outcome], one_in: int, configured: float, ham_cutoff: float, seed: int) -> Advice:
    """Which spam cutoff to take, so that at most one ham in `one_in` is lost.

    The configured one stays where it loses no more than that, unless a lower one does so too and catches more. A lower
    one is advised only where there is enough ham to tell, and is above `ham_cutoff`. The seed divides the mail.
    """
    mail, halves = _Mail.of(outcomes), _halves(outcomes, seed)
    enough = len(mail.ham) + 1 >= one_in
    n_spam = len(mail.spam)
    lost_now, caught_now = mail.lost(configured), mail.caught(configured)
    if lost_now * one_in <= len(mail.ham):
        found = max(_LOWEST, cutoff_for(mail.ham, mail.spam, one_in))
        lost, caught = _on_other_mail(halves, one_in, min(_LOWEST, configured), configured)
        if not enough or not ham_cutoff < found < configured or caught <= caught_now:
            found, lost, caught = configured, lost_now, caught_now
        return Advice(found, 100 * caught / n_spam, lost, 100 * caught_now / n_spam, lost_now, 0.0, enough)
    found = cutoff_for(mail.ham, mail.spam, one_in)
    lost, caught = _on_other_mail(halves, one_in, configured, 1.0)
    given_up = 1 - mail.caught(found) / caught_now if caught_now else 0.0
    look_at = tuple(outcome for outcome in contradicting(outcomes) if outcome.label is Label.HAM)
    return Advice(
        None if look_at and given_up > _RUINOUS else found,
        100 * caught / n_spam,
        lost,
        100 * caught_now / n_spam,
        lost_now,
        100 * given_up,
        enough,
        look_at,
    )


def cutoff_for(ham: Sequence[float], spam: Sequence[float], one_in: int) -> float:
    """The lowest cutoff at which one ham in `one_in` is expected to be lost, of mail of which this is a sample.

    ham: probabilities, the highest first. spam: the lowest first. Of n ham, as much other ham is expected above the
    k-th highest as k / (n + 1). Where n is too small for that to be one in `one_in`, the cutoff is above all of them.

    The cutoff is above the ham that has to be spared, about half the way to the next spam, and has no more decimals
    than that takes: it is written down.
    """
    spared = ham[max(0, (len(ham) + 1) // one_in - 1)]
    above = next((probability for probability in spam if probability > spared), 1.0)
    return _between(spared, above)


def _between(low: float, high: float) -> float:
    """A number with few decimals above `low`, and up to `high`."""
    tries = (round((low + high) / 2, decimals) for decimals in range(2, 17))
    return next((number for number in tries if low < number <= high), high)


def _halves(outcomes: Sequence[Outcome], seed: int) -> tuple[_Mail, _Mail]:
    """The mail in two halves, each with half of both classes."""
    choose = np.random.default_rng(seed)
    halves: tuple[list[Outcome], list[Outcome]] = ([], [])
    for label in Label:
        places = choose.permutation([place for place, outcome in enumerate(outcomes) if outcome.label is label])
        for number, place in enumerate(places.tolist()):
            halves[number % 2].append(outcomes[place])
    return _Mail.of(halves[0]), _Mail.of(halves[1])


def _on_other_mail(halves: tuple[_Mail, _Mail], one_in: int, least: float, most: float) -> tuple[int, int]:
    """The ham lost and the spam caught where each half is judged at the cutoff of the other, within these limits."""
    lost = caught = 0
    for chosen_on, judged in (halves, halves[::-1]):
        cutoff = most
        if chosen_on.ham:
            cutoff = min(most, max(least, cutoff_for(chosen_on.ham, chosen_on.spam, one_in)))
        lost += judged.lost(cutoff)
        caught += judged.caught(cutoff)
    return lost, caught
