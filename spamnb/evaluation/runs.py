"""A run of a protocol, or several runs over one corpus in several orders, and the figures of each.

One order is one draw: over four orders of csdmc2010 (1−ROCA)% is 0.008 to 0.020.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from spamnb.base.label import Label, Verdict
from spamnb.evaluation.measures import Outcome, judged_opposite, one_minus_roca_of_all, values
from spamnb.evaluation.packed import Packed

Figure = float | str | None
Figures = Mapping[str, Figure]


def figures(outcomes: Sequence[Outcome]) -> dict[str, Figure]:
    """Return the figures of one run: counts and measures. Raises MailError if nothing can be measured.

    unscored: judged before a message of each class was learned. contradicting: judged the opposite of their label.
    """
    measured = values(outcomes)
    n_spam = sum(outcome.label for outcome in outcomes)
    return {
        "messages": len(outcomes),
        "ham": len(outcomes) - n_spam,
        "spam": n_spam,
        "ham_lost": sum(outcome.verdict is Verdict.SPAM and outcome.label is Label.HAM for outcome in outcomes),
        "unscored": sum(not outcome.has_score for outcome in outcomes),
        "contradicting": len(judged_opposite(outcomes)),
        **measured,
        "one_minus_roca_of_all": one_minus_roca_of_all(outcomes),
    }


def in_orders(samples: Packed, number: int) -> Iterator[Packed]:
    """Yield the samples in their order, and in the orders of the seeds 1, 2, and so on: `number` orders together."""
    yield samples
    yield from map(samples.shuffled, range(1, number))


def over_orders(orders: Iterable[Packed], column_of: Callable[[Packed, int], Figures]) -> list[Figures]:
    """Return the figures of a run over each order. The run gets the order's number, from 0."""
    return [column_of(samples, number) for number, samples in enumerate(orders)]


@dataclass(frozen=True, slots=True)
class Average:
    """The figures of several runs: the mean of each, and, by its name, the smallest and the largest.

    A figure that is not a number is the same in all runs. If a run lacks a figure, there is no mean, and the spread is
    that of the other runs.
    """

    mean: dict[str, Figure]
    spread: dict[str, tuple[float, float]]


def average(runs: Sequence[Figures]) -> Average:
    """Return the mean and the spread of each figure over several runs.

    >>> average([{"ham": 3, "ham_lost": 1, "habit": "tidy"}, {"ham": 3, "ham_lost": 2, "habit": "tidy"}])
    Average(mean={'ham': 3, 'ham_lost': 1.5, 'habit': 'tidy'}, spread={'ham': (3, 3), 'ham_lost': (1, 2)})
    """
    mean: dict[str, Figure] = {}
    spread: dict[str, tuple[float, float]] = {}
    for name in runs[0]:
        column = [run[name] for run in runs]
        numbers = [figure for figure in column if isinstance(figure, int | float)]
        if numbers:
            spread[name] = (min(numbers), max(numbers))
        if not numbers:
            mean[name] = column[0]
        else:
            mean[name] = _mean(numbers) if len(numbers) == len(column) else None
    return Average(mean, spread)


def _mean(numbers: Sequence[float]) -> float:
    """Return the mean. If all runs have one number, it is unchanged: a count stays a whole number."""
    return numbers[0] if len(set(numbers)) == 1 else sum(numbers) / len(numbers)
