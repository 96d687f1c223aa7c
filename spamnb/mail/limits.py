"""Limits for a stranger's message: how much of it is read, and what that may cost.

Each limit is far above the needs of honest mail. It is low enough that the worst message is read in well under a
second. Past a limit, the rest is left out, a token `limit:NAME` says so, and reading goes on.
"""

from typing import NamedTuple


class Limits(NamedTuple):
    """The named limits of the reader; tests make them small."""

    message_bytes: int = 1 << 20  # read from the file; spamc's usual limit is half of this
    header_bytes: int = 64 << 10  # of one header; Postfix accepts 100 KB. Telling fields are read behind it, too
    header_fields: int = 200  # csdmc2010 has at most 65; the most telling ones are read behind it
    field_chars: int = 4 << 10  # of one field's value
    parts: int = 100  # with text; as many without it: files, and empty ones
    nesting: int = 20
    text_chars: int = 200_000  # over all text parts, without runs of blanks
    unspaced_chars: int = 40_000  # letters of Chinese and other scripts without spaces: each of them makes a token
    html_chars: int = 1 << 20  # of markup over all HTML parts: most of it may be comments, styles and attributes
    html_tags: int = 40_000  # number of "<" in it
    html_depth: int = 200  # below it, elements look like those around them
    links: int = 200
    work: int = 300_000  # units, see Work
    tokens: int = 4_000  # distinct
    token_chars: int = 24  # of a word; a longer word becomes a shape


DEFAULT_LIMITS = Limits()
# The limits past which text of the message is left out: behind them a stranger can write anything. The others concern
# the header, links and the styles of deep elements.
_OF_PARTS, _OF_TEXT = ("message_bytes", "parts", "nesting"), ("text_chars", "unspaced_chars", "html_chars", "html_tags")
NOTES_OF_TEXT = tuple(f"limit:{name}" for name in (*_OF_PARTS, *_OF_TEXT, "tokens", "work"))


class Work:
    """A message's units of work. When they are used up, the rest is left out.

    Work is counted, not timed, so that a message always has the same tokens. A unit is a microsecond for the slowest
    text or markup of its kind, and a fifth of that for ordinary mail.
    """

    def __init__(self, units: int) -> None:
        self.left = units
        self.is_spent = False  # something was left out

    def take(self, units: int, leave: int = 0) -> bool:
        """Tell whether enough work is left for a task of that many units, and `leave` behind. If so, count them."""
        if units + leave > self.left:
            self.is_spent = True
            return False
        self.left -= units
        return True

    def share(self, size: int, units_of_100: int) -> int:
        """Return how much of `size` can be done, at that many units per hundred. The units are counted."""
        units = size * units_of_100 // 100
        if units <= self.left:
            self.left -= units
            return size
        most = self.left * 100 // units_of_100
        self.left, self.is_spent = 0, True
        return most

    def quarter(self) -> "Work":
        """Take a quarter for one stage, until `rejoin`: a header must not use up what the text needs."""
        return self.without(self.left - self.left // 4)

    def without(self, units: int) -> "Work":
        """Take all but that many units for one stage, until `rejoin`."""
        part = Work(self.left - units)
        self.left = units
        return part

    def rejoin(self, part: "Work") -> None:
        """Take back the work that a stage has left over."""
        self.left += part.left
        self.is_spent = self.is_spent or part.is_spent
