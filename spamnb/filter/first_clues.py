"""Choose which clues of a verdict a person sees first, and how many of them concern the header.

A person can check a word, a sender, a host or a link. The form of a header depends on programs, and is often the
strongest clue of all. `explain` has the whole list, sorted by strength alone.
"""

from collections.abc import Iterable

from spamnb.filter.judge import Clue
from spamnb.mail.tokens.kinds import is_header, is_seen

_MOST_FACTS = 2  # facts about the header


def first_clues(clues: Iterable[Clue], most: int) -> list[Clue]:
    """Return the clues to show first, at most `most`: first those that a person can see, then the rest.

    The given clues are sorted by strength. Facts about the header are left out after the two strongest.

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
