"""What stands before a message in its file, and is no part of it."""

import re

_BLANK_LINES = re.compile(rb"\A[ \t\r\n]*\n")


def without_envelope(raw: bytes) -> bytes:
    """The message without what stands before its header block: an mbox separator, blank lines.

    QUIRK: some delivery agents leave the `From ` line of an mbox (RFC 4155) in a file of its own.
    """
    if raw.startswith((b"From ", b">From ")):
        raw = raw.partition(b"\n")[2]
    return _BLANK_LINES.sub(b"", raw, count=1) if raw[:1] in b" \t\r\n" else raw
