"""Text, times and numbers as a person reads them."""

import math
import shlex
import time
from collections.abc import Sequence


def escaped(text: str) -> str:
    r"""Return a stranger's text as one line that can go to a terminal: an escape replaces what is not printable.

    Path names with such bytes stay distinguishable, unlike with blanks in their place.

    >>> print(escaped("a\x1b[2J\n  caf\udce9 \u202e"))
    a\x1b[2J\n  caf\xe9 \u202e
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def named(path: str) -> str:
    """Return a path that a person gave, for a sentence about it."""
    return escaped(path) or "a file without a name"


def option(name: str, value: str) -> str:
    """Return an option with its value, as a person types it in a shell.

    >>> print(option("--user", "o'neil"), option("--user", "-x@example.org"))
    --user 'o'"'"'neil' --user=-x@example.org
    """
    return f"{name}{'=' if value.startswith('-') else ' '}{escaped(shlex.quote(value))}"


def _escape(character: str) -> str:
    import unicodedata  # noqa: PLC0415 - most text needs no escape

    if unicodedata.category(character) == "Zs":  # a no-break space, for example
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # how Python keeps a byte that is not UTF-8 (PEP 383)
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def clock(at: float) -> str:
    """Return a time as a person writes it, in local time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def clock_near(at: float, now: float) -> str:
    """Return a time to the minute, in local time; without its date if that is today's.

    >>> clock_near(time.mktime((2026, 11, 28, 14, 0, 0, 0, 0, 0)), time.mktime((2026, 11, 28, 9, 5, 0, 0, 0, 0)))
    '14:00'
    """
    is_today = time.localtime(at)[:3] == time.localtime(now)[:3]
    return time.strftime("%H:%M" if is_today else "%Y-%m-%d %H:%M", time.localtime(at))


def part_of_day(at: float, now: float) -> str:
    """Return a coming time as a person says it, in local time: a part of a day, and the day.

    >>> monday = time.mktime((2026, 11, 30, 20, 0, 0, 0, 0, -1))
    >>> [part_of_day(monday + 3600 * hours, monday) for hours in (-9, 2, 13, 42, 61)]
    ['this evening', 'this evening', 'tomorrow morning', 'Wednesday afternoon', 'Thursday morning']
    >>> part_of_day(monday + 86_400 * 9, monday)
    'the evening of 9 December'
    """
    from datetime import datetime  # noqa: PLC0415 - a thirtieth of `spamnb --help`

    then, today = datetime.fromtimestamp(max(at, now)), datetime.fromtimestamp(now)
    part = "morning" if then.hour < 12 else "afternoon" if then.hour < 18 else "evening"
    days = (then.date() - today.date()).days
    if days < 2:
        return f"{('this', 'tomorrow')[days]} {part}"
    return f"{then:%A} {part}" if days < 7 else f"the {part} of {then:%-d %B}"


def plural(number: int, noun: str) -> str:
    """Return a number and its noun.

    >>> plural(1, "message"), plural(0, "message")
    ('1 message', '0 messages')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def adding_up(parts: Sequence[float], total: float, digits: int) -> list[float]:
    """Round parts to that number of digits, so that they sum to the rounded total, which is nearly their sum.

    Those that are nearest to the next number are rounded up, as many as necessary.

    >>> adding_up([0.33, 0.33, 0.34], 1.0, 1), adding_up([2.0, 3.0], 4.9, 1)
    ([0.3, 0.3, 0.4], [2.0, 2.9])
    """
    unit = 10**digits
    floors = [math.floor(one * unit) for one in parts]
    each, more = divmod(round(total * unit) - sum(floors), max(1, len(parts)))
    first = sorted(range(len(parts)), key=lambda place: floors[place] - parts[place] * unit)[:more]
    return [(floor + each + (place in first)) / unit for place, floor in enumerate(floors)]


def megabytes(size: float) -> str:
    """Return bytes as a person reads them.

    >>> megabytes(208_896), megabytes(173_043_712), megabytes(78_600_000_000)
    ('209 KB', '173.0 MB', '78.6 GB')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size / 1e3:.0f} KB"


def size_of(size: float, *, is_cut: bool) -> str:
    """Return a number of bytes in words; if reading was cut short, only that there are more.

    >>> size_of(775_300, is_cut=True)
    'more than 775 KB'
    """
    return f"{'more than ' if is_cut else ''}{megabytes(size)}"


def days(seconds: float) -> str:
    """Return an age in words.

    >>> days(90_000), days(3 * 86_400), days(60)
    ('1 day', '3 days', 'less than a day')
    """
    number = int(seconds // 86_400)
    return "less than a day" if number < 1 else f"{number} day{'' if number == 1 else 's'}"
