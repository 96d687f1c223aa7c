"""Types of arguments: whole numbers, lists of them, sizes, spans and times."""

import argparse
import re
import time
from collections.abc import Callable

from spamnb.base.errors import UsageError

_BYTES = {"K": 10**3, "M": 10**6, "G": 10**9}
_MOST_DIGITS = 15
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_UNITS = {"second": "s", "minute": "m", "min": "m", "hour": "h", "day": "d", "week": "w"}


def at_least(least: int) -> Callable[[str], int]:
    """Return the type of a whole number of `least` or more."""

    def number(text: str) -> int:
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
        if digits == text and len(digits) > _MOST_DIGITS:
            raise argparse.ArgumentTypeError(f"{text!r} is too large")
        value = int(text[:_MOST_DIGITS])  # the first digits of a longer negative number are enough
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is too small: it must be {least} or more")
        return value

    return number


def user_name(text: str) -> str:
    """Return a user's name as the header of a request can hold it: printable ASCII without blanks."""
    if not re.fullmatch(r"[!-~]{1,254}", text):
        raise argparse.ArgumentTypeError(f"{text!r} cannot be the name of a user")
    return text


def executor(text: str) -> str:
    """Return who reads the messages: `processes`, or `dask://HOST:PORT`."""
    if text != "processes" and not re.fullmatch(r"dask://(?:[\w.-]{1,253}|\[[0-9a-fA-F:.]{2,45}\]):\d{1,5}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not an executor: write processes, or dask://HOST:PORT")
    return text


def ledger_text(text: str) -> str:
    """Return the typed text, with ? for each byte that this locale cannot decode. The ledger holds no such bytes."""
    return text.encode(errors="replace").decode()


def several(text: str) -> list[int]:
    """Return whole numbers from a list with commas."""
    return [at_least(0)(part.strip()) for part in text.split(",")]


def size(text: str) -> int:
    """Return a size in bytes; K, M and G are powers of a thousand."""
    unit = _BYTES.get(text[-1:].upper(), 1)
    digits = text[:-1] if unit > 1 else text
    if not digits.isascii() or not digits.isdigit() or len(digits) > 12 or not int(digits):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: write 500K, 200M or 1G")
    return int(digits) * unit


def span(text: str) -> int | None:
    """Return seconds, or None if the text is not a span of time.

    >>> span("2h"), span("1 hour"), span("two hours")
    (7200, 3600, None)
    """
    found = re.fullmatch(rf"(\d{{1,6}})\s*(?:({'|'.join(_UNITS)})s?|([smhdw]))", text.strip().lower(), re.ASCII)
    return None if found is None else int(found[1]) * _SECONDS[found[3] or _UNITS[found[2]]]


def moment(text: str, now: float | None = None) -> float:
    """Return a time, or a span before now, in seconds since the epoch. Raises UsageError.

    >>> moment("2h", 10_000.0)
    2800.0
    """
    from datetime import datetime, timedelta

    now = time.time() if now is None else now
    if (seconds := span(text)) is not None:
        return now - seconds
    midnight = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    named = {"today": midnight, "yesterday": midnight - timedelta(days=1)}
    try:
        return (named.get(text.strip().lower()) or datetime.fromisoformat(text.strip())).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"{text!r} is not a time: write 30m, 2h, 3d, today, yesterday or 2026-01-31 12:00") from None
