"""How the cost of a message grows with its size, in lines of Python that run: no clock is asked.

A message that costs the square of its size stops a host. Work that is done in C is not counted.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from spamnb.mail.reading import read
from tests.mail.hostile import alternatives, chinese


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


def test_an_alternative_costs_the_same_beside_a_long_one() -> None:
    """An alternative of one letter costs no more if the first one has thousands of words."""

    def cost(first: bytes, others: int) -> int:
        raw = alternatives(first, *[b"x"] * others)
        read(raw)  # fills the caches
        return lines_run(lambda: read(raw))

    long, short = ([cost(first, others) for others in (10, 50)] for first in (chinese(2000), b"y"))
    assert long[1] - long[0] < 1.1 * (short[1] - short[0])
