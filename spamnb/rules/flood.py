"""Find a flood of first letters: somebody has signed a person up everywhere, to hide one letter. Pure.

A list counts as one writer, so a new list of discussion makes no flood. A week's mail that comes at once after a
holiday has the usual share of first letters, and a conference has few in one hour. `benchmarks/floods.py` puts floods
into real mail.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from spamnb.ledger.history.senders import CameFrom
from spamnb.rules.chance import ABNORMAL, chance_of_at_least

_HOUR = 3600.0  # seconds: the width of the window, and for so long a writer stays a stranger
USUAL = 1000  # messages before a flood: they show the usual share of first letters
_FEWEST, _SHARE = 30, 0.8  # first letters in an hour, and their share of its mail
_LEAST_BEFORE, _LEAST_DAYS = 200, 14.0  # messages and days: before that everybody is a stranger


class Before(NamedTuple):
    """The mail before: first letters and others, and for how many days it has come."""

    first: int
    others: int
    days: float


def is_first(letter: CameFrom) -> bool:
    """Tell whether a letter is the first of its writer."""
    return letter.at <= letter.first_at


def _counts(letter: CameFrom) -> bool:
    """Whether a letter is a first one, or of somebody known: more of the same stranger says nothing new."""
    return is_first(letter) or letter.at - letter.first_at > _HOUR


def flood(letters: Sequence[CameFrom], before: Before) -> tuple[float, float] | None:
    """Return when the last flood among these letters began and ended, or None.

    letters: in the order of time.

    >>> def letters(since: float, step: float, one_known_in: int) -> list[CameFrom]:
    ...     times = [since + step * number for number in range(100)]
    ...     return [CameFrom(number, at, at * (number % one_known_in > 0)) for number, at in enumerate(times)]
    >>> bomb, quiet = letters(90_000.0, 10.0, 20), letters(200_000.0, 600.0, 2)
    >>> flood(bomb + quiet, Before(100, 400, 90.0)), flood(bomb, Before(0, 400, 90.0))
    ((90010.0, 90990.0), (90010.0, 90990.0))
    >>> flood(quiet, Before(100, 400, 90.0)), flood(bomb, Before(20, 10, 3.0))
    (None, None)
    """
    if before.first + before.others < _LEAST_BEFORE or before.days < _LEAST_DAYS:
        return None
    found: tuple[float, float] | None = None
    window, first = deque[CameFrom](), 0
    for letter in filter(_counts, letters):
        window.append(letter)
        first += is_first(letter)
        while window[0].at < letter.at - _HOUR:
            first -= is_first(window.popleft())
        if not is_first(letter) or first < _FEWEST or first < _SHARE * len(window):
            continue
        began = next(one.at for one in window if is_first(one))
        if found is not None and began <= found[1]:  # it goes on
            found = found[0], letter.at
        elif chance_of_at_least(first, len(window), (before.first + 1, before.others)) < ABNORMAL:
            found = began, letter.at
    return found
