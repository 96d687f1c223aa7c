"""Which clues of a verdict a person sees first, and how much of them is of the header.

A person can check a word, a sender, a host or a link. How a header is written is a fact of programs, and often the
strongest clue of all. The whole list, by strength alone, is in `explain`.
"""

from collections.abc import Iterable

from spamnb.filter.judge import Clue
from spamnb.mail.tokens.kinds import is_header, is_seen

_MOST_FACTS = 2  # of the header


def first_clues(clues: Iterable[Clue], most: int) -> list[Clue]:
    """The clues to show first, at most so many of those given by strength: what a person sees, then the rest.

    Of facts of the header only the two strongest.

    >>> clues = [Clue(token, 1, 0, -2.0, 1.0) for token in ("skew:+9", "date-zone:none", "field:x", "hello", "tag:p")]
    >>> [clue.token for clue in first_clues(clues, 4)]
    ['hello', 'skew:+9', 'date-zone:none', 'tag:p']
    """
    seen: list[Clue] = []
    others: list[Clue] = []
    facts = 0
    for clue in clues:
        if is_seen(clue.token):
            seen.append(clue)
        elif not is_header(clue.token) or facts < _MOST_FACTS:
            facts += is_header(clue.token)
            others.append(clue)
    return [*seen, *others][:most]
