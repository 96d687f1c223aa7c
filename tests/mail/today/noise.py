"""Tokens that tell of one message alone: ids, keys, names of one machine."""

import re

_RUN = re.compile(r"(?<![^\W_])(?=[a-z]*\d)[a-z0-9]{8,}(?![^\W_])", re.IGNORECASE)
_ID = re.compile(r"\D*\d\D*\d\D*\d\D*\d|\d+\D+\d|\D+\d+\D")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def is_noise(token: str) -> bool:
    """Whether a token has eight or more mixed letters and digits in a row, like an id.

    Letters and digits change twice in it, or it has four digits: `eurprd08` is a region, and no id.
    """
    return any(_ID.match(run) for run in _RUN.findall(token))


def is_uuid(token: str) -> bool:
    """Whether a token has a UUID (RFC 9562)."""
    return _UUID.search(token) is not None
