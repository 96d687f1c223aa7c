"""Ids of actions as text, for an address or a form: runs of consecutive ids, such as `1601-2600.2605`.

The actions of one act are consecutive, so a thousand of them take as much room as two.
"""

import itertools
from collections.abc import Iterable

from spamnb.web.http import HttpError, whole_number

MOST = 4_000  # ids in a text: a page needs 0.09 s of CPU to describe them
LONGEST = 3_000  # characters in an address: nginx takes 4 KB for the whole head of an answer


def written(ids: Iterable[int], longest: int = LONGEST) -> tuple[str, int]:
    """Return the ids as text, the lowest first, and how many ids it leaves out to stay short.

    >>> written([3, 1, 2, 7])
    ('1-3.7', 0)
    """
    text, left_out, room = "", 0, MOST
    ordered = enumerate(sorted(set(ids)))
    for _, group in itertools.groupby(ordered, key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        taken = run[:room]
        more = _run(taken[0], taken[-1]) if taken else ""
        if not more or len(text) + 1 + len(more) > longest:
            left_out, room = left_out + len(run), 0
            continue
        text, room, left_out = f"{text}.{more}" if text else more, room - len(taken), left_out + len(run) - len(taken)
    return text, left_out


def _run(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def read(text: str) -> list[int]:
    """Return the ids of such a text, the lowest first. Raises HttpError for other texts, and for more ids than `MOST`.

    >>> read("1-3.7")
    [1, 2, 3, 7]
    """
    ids: set[int] = set()
    for run in text.split("."):
        first, *end = run.split("-", 1)
        numbers = range(whole_number(first), whole_number(end[0] if end else first) + 1)
        if not numbers or len(ids) + len(numbers) > MOST:
            raise HttpError(
                400, "The address names no actions, or too many.", "Go back to the page that you came from."
            )
        ids.update(numbers)
    return sorted(ids)
