"""How much of a stranger's message is read, and what that may cost.

Each limit is far above what honest mail needs and low enough that the worst message is read in well under a
second. Past a limit the rest is left out, a token `limit:NAME` says so, and reading goes on.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The named limits of the reader; tests make them small."""

    message_bytes: int = 1 << 20  # read from the file; spamc's usual limit is half of it
    header_bytes: int = 64 << 10  # of one header; Postfix takes 100 KB. Those fields are read behind it, too
    header_fields: int = 200  # csdmc2010 has at most 65; those that tell most are read behind it
    field_chars: int = 4 << 10  # of one field's value
    parts: int = 100
    nesting: int = 10
    text_chars: int = 200_000  # over all text parts
    html_chars: int = 400_000  # of markup over all HTML parts
    html_tags: int = 40_000  # marks of "<" in it
    html_depth: int = 200  # libxml2 itself gives up at 256
    links: int = 200
    work: int = 400_000  # units, see Work
    tokens: int = 4_000  # distinct
    token_chars: int = 24  # of a word; longer ones become a shape


DEFAULT_LIMITS = Limits()


class Work:
    """Units of work, of which a message has so many; past them the rest is left out.

    Counted, not timed, so that a message always has the same tokens. A unit is a microsecond for the slowest text or
    markup of its kind, a fifth of one for ordinary mail.
    """

    def __init__(self, units: int) -> None:
        self.left = units
        self.is_spent = False  # something was left out

    def take(self, units: int) -> bool:
        """Whether there is work left for a task of so many units, which is then counted."""
        if units > self.left:
            self.is_spent = True
            return False
        self.left -= units
        return True

    def share(self, size: int, units_of_100: int) -> int:
        """How much of `size` can be done where each hundred takes so many units, which are then counted."""
        units = size * units_of_100 // 100
        if units <= self.left:
            self.left -= units
            return size
        most = self.left * 100 // units_of_100
        self.left, self.is_spent = 0, True
        return most

    def quarter(self) -> "Work":
        """A quarter of it for one stage, taken off until `rejoin`: a header must not use up what the text needs."""
        part = Work(self.left // 4)
        self.left -= part.left
        return part

    def rejoin(self, part: "Work") -> None:
        """Take back what a stage has left of its part."""
        self.left += part.left
        self.is_spent = self.is_spent or part.is_spent
