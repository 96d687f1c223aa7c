"""Find the senders whose mail a person never opens. Pure: values in, an answer out."""

from collections.abc import Mapping

from spamnb.ledger.history.senders import Came

SPAN = 90 * 86_400.0  # seconds that are looked at
_FEWEST = 10  # messages: one may be away for the last three of a weekly letter
_LEAST_SPAN = 30 * 86_400.0  # seconds from the first to the last: a flood in a week says nothing
_NEWEST = 30 * 86_400.0  # seconds since the last: what has ended needs no choice
_USUAL = 0.2  # of all mail, which is opened: who fetches mail by POP3 opens none here


def never_opened(of_senders: Mapping[int, Came], now: float) -> list[int]:
    """Return the senders whose mail comes again and again, and is never opened, in the order in which they are given.

    of_senders: the mail since `SPAN` before now, by the ids of all senders.

    >>> day, friends = 86_400.0, Came(100, 90, 0.0, 0.0)
    >>> news, opened_once, few = Came(40, 0, 0.0, 60 * day), Came(40, 1, 0.0, 60 * day), Came(9, 0, 0.0, 60 * day)
    >>> flood, ended = Came(40, 0, 50 * day, 60 * day), Came(40, 0, 0.0, 31 * day)
    >>> never_opened(dict(enumerate([friends, news, opened_once, few, flood, ended])), 70 * day)
    [1]
    >>> never_opened({1: news}, 70 * day)  # nothing is opened here
    []
    """
    messages, opened = (sum(came[place] for came in of_senders.values()) for place in (0, 1))
    if opened < _USUAL * messages:
        return []
    return [sender for sender, came in of_senders.items() if _is_never_opened(came, now)]


def _is_never_opened(came: Came, now: float) -> bool:
    comes_again = came.messages >= _FEWEST and came.last_at - came.first_at >= _LEAST_SPAN
    return comes_again and not came.opened and now - came.last_at <= _NEWEST
