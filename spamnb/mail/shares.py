"""Divide a limit among the parts of a message, and choose what is read of a part that is longer than its share.

A stranger decides what comes first. If the first part could use up a limit, or if only the start of a text were read,
everything behind would be a place to hide spam.
"""

from collections.abc import Sequence
from typing import TypeVar

from spamnb.base.patterns import lazy_pattern

_One = TypeVar("_One")

JOINT = "\n"  # between the start and the end of a text: it makes no word of two halves
# Browsers read the end of a page differently if they know what was before it. The filter reads it as another page, and
# this policy puts both in doubt: a style sheet that was left out may show what another one hides.
DOUBT = "<meta http-equiv=cut>"
# Letters of no width, and such as look like blanks.
_BLANK = "\u00ad\u034f\u115f\u1160\u180b-\u180e\u200b-\u200f\u2060-\u2064\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
_BLANKS = lazy_pattern(f"([{_BLANK}])[{_BLANK}]+")
_OVERRIDE = "\u202e"  # it turns letters round up to the end of a line


def fair_shares(sizes: Sequence[int], most: int) -> list[int]:
    """Return how much is kept of each part: all of the small ones, and as much of each other as there is room for.

    >>> fair_shares([10, 500, 500], 210), fair_shares([10, 50], 210)
    ([10, 100, 100], [10, 50])
    """
    shares = list(sizes)
    left = most
    if sum(sizes) > most:
        for rank, number in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
            shares[number] = min(sizes[number], left // (len(sizes) - rank))
            left -= shares[number]
    return shares


def both_ends(whole: Sequence[_One], most: int) -> list[_One]:
    """Return the first three quarters and the last quarter of what may be kept; all if it is not more.

    >>> both_ends("abcdefghij", 4)
    ['a', 'b', 'c', 'j']
    """
    if len(whole) <= most:
        return list(whole)
    end = most // 4
    return [*whole[: most - end], *whole[len(whole) - end :]]


def text_ends(text: str, most: int) -> tuple[str, str]:
    """Return the start and the end of a text that is longer than `most`: three quarters and one quarter of that.

    >>> text_ends("abcdefghij", 4)
    ('abc', 'j')
    """
    end = most // 4
    return text[: most - end], text[len(text) - end :]


def shortened(text: str, most: int) -> str:
    """Return the start and the end of a text, on lines of their own; all of it if it is not longer than `most`.

    >>> shortened("one two three", 8)
    'one tw\\nee'
    """
    return text if len(text) <= most else JOINT.join(text_ends(text, most))


def markup_ends(markup: str, most: int) -> tuple[str, str]:
    """Return the start and the end of some markup that has more than `most` times "<".

    >>> markup_ends("a<b>c<d>e<f>g<h>i<j>", 4)
    ('a<b>c<d>e<f>g', '<j>')
    """
    end = most // 4
    start = "<".join(markup.split("<", most - end + 1)[: most - end + 1])
    return start, "".join(f"<{piece}" for piece in markup.rsplit("<", end)[1:]) if end else ""


def without_blanks(text: str) -> str:
    """Return a text with one space in the place of each run of blanks: blanks are not text, so they use up no limit.

    >>> without_blanks("a \\n\\n b")
    'a b'
    """
    if _OVERRIDE in text:
        return text
    return " ".join((text if text.isascii() else _BLANKS.sub(r"\1", text)).split())
