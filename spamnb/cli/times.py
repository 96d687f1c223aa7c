"""Times and spans as a person types them."""

import re
import time

from spamnb.errors import UsageError

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def span(text: str) -> int | None:
    """Seconds, or None where the text is no span.

    >>> span("2h"), span("two hours")
    (7200, None)
    """
    found = re.fullmatch(r"(\d{1,6})\s*([smhdw])", text.strip().lower(), re.ASCII)
    return None if found is None else int(found[1]) * _UNITS[found[2]]


def moment(text: str, now: float) -> float:
    """A time that a person wrote, in seconds since the epoch. Raises UsageError.

    >>> moment("2h", 10_000.0)
    2800.0
    """
    from datetime import datetime, timedelta

    if (seconds := span(text)) is not None:
        return now - seconds
    midnight = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    named = {"today": midnight, "yesterday": midnight - timedelta(days=1)}
    try:
        return (named.get(text.strip().lower()) or datetime.fromisoformat(text.strip())).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"{text!r} is no time: write 30m, 2h, 3d, today, yesterday or 2026-01-31 12:00") from None


def moment_or_none(text: str | None) -> float | None:
    """The same, before this moment; None where nothing was written."""
    return None if text is None else moment(text, time.time())
