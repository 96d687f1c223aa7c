"""Tokens that tell of one message alone: ids, keys, names of one machine."""

import re

_RUN = re.compile(r"(?<![^\W_])(?=[a-z]*\d)[a-z0-9]{8,}(?![^\W_])", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def is_noise(token: str) -> bool:
    """Whether a token holds eight or more letters and digits in a row, with digits among them, as ids have them.

    It is a bound from above: `windows11` is a word, and passes for an id.

    >>> [is_noise(token) for token in ("url:u48300791.ct.example", "url-path:unsubscribe", "received-ip:192.0.2")]
    [True, False, False]
    """
    return _RUN.search(token) is not None


def is_uuid(token: str) -> bool:
    """Whether a token holds a UUID (RFC 9562)."""
    return _UUID.search(token) is not None
