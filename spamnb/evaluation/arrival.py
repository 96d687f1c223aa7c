"""When a message came, by its header: mail in the order of arrival is what a filter meets."""

import email.utils
from datetime import UTC

from spamnb.mail.parsing.message import Message, parse

_HEADER = 64 * 1024  # bytes


def header_of(raw: bytes) -> Message:
    """Return the header of a message, without the body."""
    return parse(raw[:_HEADER].replace(b"\r\n", b"\n").partition(b"\n\n")[0])


def arrival(message: Message) -> float | None:
    """Return when the person's own server took the message, else its date: seconds since the epoch, or None.

    The topmost Received field is the last server's (RFC 5321, section 4.4).
    """
    topmost = message.by_name().get("received", [""])[0]
    came = _seconds(topmost.rpartition(";")[2])
    return date(message) if came is None else came


def date(message: Message) -> float | None:
    """Return the time of the Date field, in seconds since the epoch; None if it is missing, odd, or before 1970."""
    return _seconds(message.by_name().get("date", [""])[0])


def _seconds(written: str) -> float | None:
    try:
        time = email.utils.parsedate_to_datetime(written.strip())
        seconds = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if seconds > 0 else None
