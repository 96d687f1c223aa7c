"""Which spam cutoff loses at most one ham in so many, and what that is worth on mail it was not chosen on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spamnb.base.label import Label
from spamnb.evaluation.contradictions import contradicting
from spamnb.evaluation.measures import Outcome

_LOWEST = 0.5  # what is more probably ham is not called spam, however few ham come near
# Sparing ham that are really spam, filed wrongly, gives up most of the spam. On csdmc2010, Enron1 and Enron6, for one
# ham in 100 to 2000, a raised cutoff gives up at most 12 % of what is caught at 0.95 (22 % where one ham of Enron6,
# at 0.995, is to be spared); with 3 or 30 of the spam called ham, 21 to 98 % or less than 8 %.
_RUINOUS = 0.15
_PARTS = 10


@dataclass(frozen=True, slots=True)
class Advice:
    """The lowest spam cutoff at which at most one ham in so many is lost; None where the mail contradicts itself.

    caught, ham_lost: spam caught, in percent, and ham lost at a cutoff that was chosen in the same way on other mail:
    each tenth of the mail is judged at the cutoff of the others. caught_now, ham_lost_now: at the configured cutoff.
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
    mail, parts = _Mail.of(outcomes), _parts(outcomes, seed)
    enough = len(mail.ham) + 1 >= one_in
    n_spam = len(mail.spam)
    lost_now, caught_now = mail.lost(configured), mail.caught(configured)
    if lost_now * one_in <= len(mail.ham):
        found = max(_LOWEST, cutoff_for(mail.ham, mail.spam, one_in))
        lost, caught = _on_other_mail(parts, one_in, min(_LOWEST, configured), configured)
        if not enough or not ham_cutoff < found < configured or caught <= caught_now:
            found, lost, caught = configured, lost_now, caught_now
        return Advice(found, 100 * caught / n_spam, lost, 100 * caught_now / n_spam, lost_now, 0.0, enough)
    found = cutoff_for(mail.ham, mail.spam, one_in)
    lost, caught = _on_other_mail(parts, one_in, configured, 1.0)
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


def _parts(outcomes: Sequence[Outcome], seed: int) -> list[tuple[_Mail, _Mail]]:
    """Each tenth of the mail, with a tenth of both classes, after all the rest of it."""
    part = np.empty(len(outcomes), dtype=int)
    choose = np.random.default_rng(seed)
    for label in Label:
        places = choose.permutation([place for place, outcome in enumerate(outcomes) if outcome.label is label])
        part[places] = np.arange(len(places)) % _PARTS
    return [
        (
            _Mail.of([outcome for outcome, its in zip(outcomes, part, strict=True) if its != held_out]),
            _Mail.of([outcome for outcome, its in zip(outcomes, part, strict=True) if its == held_out]),
        )
        for held_out in range(_PARTS)
    ]


def _on_other_mail(parts: list[tuple[_Mail, _Mail]], one_in: int, least: float, most: float) -> tuple[int, int]:
    """The ham lost and the spam caught where each part is judged at the cutoff of the others, within these limits."""
    lost = caught = 0
    for chosen_on, judged in parts:
        cutoff = most
        if chosen_on.ham:
            cutoff = min(most, max(least, cutoff_for(chosen_on.ham, chosen_on.spam, one_in)))
        lost += judged.lost(cutoff)
        caught += judged.caught(cutoff)
    return lost, caught
