"""How the cost of a message grows with its size: one that costs the square of its size stops a host."""

import pytest

from spamnb.mail.limits import DEFAULT_LIMITS, Limits
from spamnb.mail.reading import read
from tests.line_count import lines_run
from tests.mail.hostile import alternatives, chinese


def cost(raw: bytes, limits: Limits = DEFAULT_LIMITS) -> int:
    """Return the lines that run for a message, without those that fill a cache."""
    read(raw, limits)
    return lines_run(lambda: read(raw, limits))


def test_an_alternative_costs_the_same_beside_a_long_one() -> None:
    """An alternative of one letter costs no more if the first one has thousands of words."""
    beside_long, beside_short = (
        cost(alternatives(first, *[b"x"] * 50)) - cost(alternatives(first, *[b"x"] * 10))
        for first in (chinese(2000), b"y")
    )
    assert beside_long < 1.1 * beside_short


@pytest.mark.parametrize(
    "text",
    [
        b"w%x ",
        "漢".encode() + b"%x",
        "é%x ".encode(),
        "aя%x ".encode(),
        b"http://h%x.example ",
        b"a@h%x.example ",
        b"%x,",
    ],
)
@pytest.mark.parametrize("kind", [b"plain", b"html", b"calendar"])
@pytest.mark.parametrize("words_of_a_part", [50, 2000])
def test_twice_the_text_costs_twice_as_much(text: bytes, kind: bytes, words_of_a_part: int) -> None:
    """A message of twice as many words, in one text or in twice as many alternatives, costs about twice as much."""

    def written(words: int) -> bytes:
        starts = range(0, words, words_of_a_part)
        parts = (range(start, min(words, start + words_of_a_part)) for start in starts)
        return alternatives(*(b"".join(text % number for number in part) for part in parts), kind=kind)

    assert cost(written(2000)) < 2.2 * cost(written(1000))


def test_chinese_letters_past_their_limit_cost_nothing() -> None:
    """Twice as many letters of Chinese as the limit cost no more than as many as the limit."""
    limits = DEFAULT_LIMITS._replace(unspaced_chars=1000)
    assert cost(alternatives(chinese(2000)), limits) < 1.1 * cost(alternatives(chinese(1000)), limits)
