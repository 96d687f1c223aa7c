"""Turn the date of a message into tokens: its form, and its distance from the dates of its way."""

import string
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.path import MOST_RECEIVED

_DATE_CHARS, _SHAPE_CHARS = 100, 40
_LONGEST = 20  # a difference of two years, as a power of two of minutes
_ZONE = lazy_pattern(r"([+-]\d{4})\s*(?:\(|\Z)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATE = lazy_pattern(
    rf"(\d{{1,2}}) +({'|'.join(_MONTHS)}) +(\d{{4}}) +(\d{{1,2}}):(\d\d)(?::\d\d(?:\.\d{{1,6}})?)?"
    r" *(?:([+-])(\d\d)(\d\d)|gmt|utc?\b)"
)
_AS_WRITTEN = str.maketrans(dict.fromkeys(string.ascii_letters, "a") | dict.fromkeys(string.digits, "d"))


def date_tokens(written: str, received: Sequence[str]) -> Iterator[str]:
    """Yield the zone and the shape of a date, and its distance from the topmost and the lowest Received field.

    A difference is the power of two of its minutes, below 0 if the message arrived before it was written. If one of the
    dates cannot be read, there is no token.
    """
    zone = _ZONE.search(written)
    yield f"date-zone:{zone[1] if zone else 'none'}"
    yield f"date-shape:{written[:_SHAPE_CHARS].translate(_AS_WRITTEN)}"
    sent = _minutes(written)
    if sent is None or not received:
        return
    for kind, field in (("skew", received[0]), ("skew-first", received[:MOST_RECEIVED][-1])):
        passed = _minutes(field.rpartition(";")[2])
        if passed is not None:
            yield f"{kind}:{_power(passed - sent):+d}"


def _minutes(written: str) -> int | None:
    """Return the minutes from the year 1 to a date with a number or UTC as zone (RFC 5322, 3.3); else None.

    `email.utils` is not used: its import takes long, and it guesses if it cannot read a date. QUIRK: SendGrid writes
    the date of a Received field after an id, without the semicolon of RFC 5321, 4.4, and with fractions of seconds.
    """
    match = _DATE.search(written[-_DATE_CHARS:].lower())
    if match is None:
        return None
    day, month, year, hour, minute, sign, zone_hours, zone_minutes = match.groups()
    days = _days(year, month, day)
    if days is None:
        return None
    east = int(f"{sign}1") * (int(zone_hours) * 60 + int(zone_minutes)) if sign else 0
    return (days * 24 + int(hour)) * 60 + int(minute) - east


@lru_cache(maxsize=64)  # the dates of a message are mostly on one day
def _days(year: str, month: str, day: str) -> int | None:
    """Return the days from the year 1; None for the year 0 and the 31st of June."""
    try:
        return date(int(year), _MONTHS.index(month) + 1, int(day)).toordinal()
    except ValueError:
        return None


def _power(minutes: int) -> int:
    """Return the power of two of a number of minutes plus one, with its sign.

    >>> _power(0), _power(1), _power(62), _power(-63), _power(10**9)
    (0, 1, 5, -6, 20)
    """
    power = min((1 + abs(minutes)).bit_length() - 1, _LONGEST)
    return power if minutes >= 0 else -power
