"""How the cost of a message grows with its size: one that costs the square of its size stops a host."""

from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.reading import read
from tests.line_count import lines_run
from tests.mail.hostile import alternatives, chinese, plain


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
