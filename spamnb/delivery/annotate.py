"""Add fields to a message in a pipe; all other bytes of the message stay unchanged.

New fields go to the top of the header, after the `From ` line of an mbox and a Return-Path. Mail software looks for
these two first. Fields with the same names that came with the message are removed: anybody could have written them.
"""

import re
from collections.abc import Collection, Sequence
from functools import cache

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.parsing.header_block import empty_line, envelope_end, has_field

_RETURN_PATH = lazy_pattern(rb"return-path[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*(?![ \t])", re.IGNORECASE)
_LINE = rb"[^\r\n]*"
_BREAK = rb"(?:\r\n|\r|\n)"


def annotate(raw: bytes, fields: Sequence[tuple[str, str]], names: Collection[str]) -> tuple[bytes, int]:
    """Return the new beginning of a message with new fields, and the number of its bytes that the beginning replaces.

    `fields` are names and values, in ASCII, each for one line; `names` are those of the fields to remove. The header
    goes up to the first empty line, and has at least one field. A message without a header gets one.

    >>> raw = b"From a\\nTo: c\\nX-Spam: no\\n and no\\n\\nHello"
    >>> beginning, replaced = annotate(raw, [("X-Spam", "yes")], ["X-Spam"])
    >>> beginning + raw[replaced:]
    b'From a\\nX-Spam: yes\\nTo: c\\n\\nHello'
    """
    line_end = b"\r\n" if raw[max(raw.find(b"\n") - 1, 0) :][:2] == b"\r\n" else b"\n"
    new = b"".join(f"{name}: {value}".encode("ascii") + line_end for name, value in fields)
    start = envelope_end(raw)
    line = empty_line(raw, start)
    end = line[0] if line else len(raw)
    header = raw[start:end]
    if header and (header.startswith((b" ", b"\t")) or not has_field(header)):
        return raw[:start] + (new and new + line_end), start
    header = without(header, names)
    path = _RETURN_PATH.match(header)
    top = path.end() if path else 0
    return raw[:start] + header[:top] + new + header[top:], end


def without(header: bytes, names: Collection[str]) -> bytes:
    """Return a header without the fields of these names, in any case; folded fields are removed as a whole.

    QUIRK: some programs take a lone carriage return for a line end, so a field that begins after one is removed too.
    The text before and after it stays.

    >>> without(b"to: a\\nX-SPAM : 1\\n\\tb\\nCc: c\\rx-spam: 2\\nBcc: d\\n", ["X-Spam"])
    b'to: a\\nCc: c\\nBcc: d\\n'
    """
    return _pattern(tuple(names)).sub(b"", header) if names else header


@cache
def _pattern(names: tuple[str, ...]) -> re.Pattern[bytes]:
    field = rb"(?:%s)[ \t]*:%s(?:%s[ \t]%s)*" % (b"|".join(re.escape(n).encode() for n in names), _LINE, _BREAK, _LINE)
    return re.compile(rb"\r(?!\n)%s|(?<![^\r\n])%s(?:%s|\Z)" % (field, field, _BREAK), re.IGNORECASE)
