"""How the cost of a message grows with its size, in lines of Python that run: no clock is asked.

A message that costs the square of its size stops a host. Work that is done in C is not counted.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.reading import read
from tests.mail.hostile import alternatives, chinese, plain


def lines_run(work: Callable[[], object]) -> int:
    """Return how many lines of Python run, in all modules."""
    number = 0

    def count(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal number
        number += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return number


def cost(raw: bytes) -> int:
    """Return the lines that run for a message, without those that fill a cache."""
    read(raw)
    return lines_run(lambda: read(raw))


def test_an_alternative_costs_the_same_beside_a_long_one() -> None:
    """An alternative of one letter costs no more if the first one has thousands of words."""
    beside_long, beside_short = (
        cost(alternatives(first, *[b"x"] * 50)) - cost(alternatives(first, *[b"x"] * 10))
        for first in (chinese(2000), b"y")
    )
    assert beside_long < 1.1 * beside_short


def test_chinese_letters_past_their_limit_cost_nothing() -> None:
    """Twice as many letters of Chinese as the limit cost no more than as many as the limit."""
    most = DEFAULT_LIMITS.unspaced_chars
    assert cost(plain(chinese(2 * most), size=6 * most)) < 1.1 * cost(plain(chinese(most), size=3 * most))
