"""A flood of first letters in these days, and the mail that it may hide."""

from typing import NamedTuple

from spamnb.ledger.history.senders import CameFrom
from spamnb.ledger.ledger import Ledger
from spamnb.rules.flood import USUAL, Before, flood, is_first

_TOLD = 3 * 86_400.0  # seconds after which it is told no more
_MOST = 5000  # messages
_MOST_KNOWN = 10


class Flood(NamedTuple):
    """First letters that came together. since, until: in seconds since the epoch. first: their number.

    known: the first messages in that time from writers who had written before: one of them may be what it hides.
    """

    since: float
    until: float
    first: int
    known: tuple[CameFrom, ...]


def flood_now(ledger: Ledger, now: float) -> Flood | None:
    """Return the last flood of the last days, or None."""
    came = ledger.senders.came_from(now - _TOLD, now, _MOST)
    earlier = ledger.senders.came_from(0.0, came[0].at, USUAL) if came else []
    began_at = ledger.messages.first_judged_at()
    if not earlier or began_at is None:
        return None
    first = sum(map(is_first, earlier))
    times = flood(came, Before(first, len(earlier) - first, (came[0].at - began_at) / 86_400))
    if times is None:
        return None
    since, until = times
    inside = [one for one in came if since <= one.at <= until]
    known = [one for one in inside if one.first_at < since]
    return Flood(since, until, sum(map(is_first, inside)), tuple(known[:_MOST_KNOWN]))
