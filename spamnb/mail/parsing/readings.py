"""The different readings of one entity: programs disagree on where its header ends, or on which of two fields counts.

`header_block.py` lists the lines in question. The words of both readings count. A text that both show alike counts only
once. A text that one of them has decoded does not also count in its transfer encoding.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.parsing.fields import first_word, media_type, transfer_encoding
from spamnb.mail.parsing.header_block import HeaderBlock
from spamnb.mail.parsing.transfer import decode_transfer

# RFC 2046, 6532, 5537, 6522; GMime adds message/rfc2822.
MESSAGES = frozenset({"message/rfc822", "message/global", "message/news", "message/rfc2822", "text/rfc822-headers"})
_TEXTS = frozenset(  # not of the type text, but shown: mutt shows all of these, Thunderbird the first two
    """application/pgp application/x-pgp-message application/pgp-keys application/pgp-signed application/ics
    application/xhtml+xml""".split()  # noqa: SIM905 - names are easier to read without quotes
)
_BASE64, _QUOTED = "base64", "quoted-printable"
_NO_ENCODINGS = frozenset({"7bit", "8bit", "binary"})
# A line of a body; a shorter one may be a word.
_BASE64_LINE = lazy_pattern(rb"^[A-Za-z0-9+/]{16,}={0,2}[ \t]*\r?$", re.MULTILINE)
_CONTROLS = bytes(byte for byte in range(1, 32) if byte not in b"\t\n\r\x1b")
_MOST_CONTROLS = 50  # one in 50 bytes; base64 that is decoded from a wrong letter on has one in 9

Reading = tuple[HeaderBlock, bytes]


class _Way(NamedTuple):
    """The part of a header that says how the body is read."""

    encoding: str  # "" if there is nothing to undo
    parts: str  # the Content-Type if the body has parts of its own
    is_shown: bool  # as a text, or as parts of it

    @property
    def is_of_lines(self) -> bool:
        """Tell whether each line of the body is read by itself."""
        return not self.parts and self.encoding in {"", _QUOTED}


def readings(header: HeaderBlock, body: bytes) -> Iterator[Reading]:
    """Return the header and the body of an entity in each reading; mostly there is one.

    QUIRK: if two fields have one name (RFC 5322, 3.6: at most one), mutt and GMime take the last, the others the first.
    """
    if header.stray:
        yield from _wide_and_strict(header, body)
    else:
        yield header, body
    if body and header.has_doubles:
        ways = [_way(header)]
        for other in dict.fromkeys((header.last_first(), header.strict().last_first())):
            if _way(other) not in ways:
                ways.append(_way(other))
                yield other, body


def is_text_type(kind: str) -> bool:
    """Tell whether programs show a part of that media type as text."""
    return kind.startswith("text/") or kind in _TEXTS


def undone(body: bytes, encoding: str) -> bytes:
    """Undo a forbidden transfer encoding (RFC 2045, 6.4) of a body if that gives text; otherwise return it unchanged.

    QUIRK: some programs undo it, others do not.
    """
    content = decode_transfer(body, encoding)[0]
    return content if content and _is_text(content) else body


def _wide_and_strict(header: HeaderBlock, body: bytes) -> Iterator[Reading]:
    strict = header.strict()
    way, strict_way = _way(header), _way(strict)
    text, stray = (each.encode("utf-8", "surrogateescape") for each in (header.stray_text, header.stray))
    if way == strict_way and way.is_of_lines:
        yield header, text + b"\n\n" + body
        return
    if body:
        yield header, body
    whole = stray + b"\n\n" + body
    if strict_way.parts:  # the text before the first boundary is a preamble, which is not shown
        if not body or b"--" in stray or not strict_way.parts.startswith("multipart/"):
            yield strict, whole
    elif not strict_way.is_of_lines:
        if _is_text(decode_transfer(whole, strict_way.encoding)[0]):
            yield strict, whole
        elif strict_way.is_shown and not way.is_shown:
            yield strict, body
    elif way.is_of_lines and way.is_shown:
        yield strict, text
    else:
        yield strict, text + b"\n\n" + _BASE64_LINE.sub(b"", body)
    # QUIRK: in mutt the header ends after the first of these lines, so a body may begin at a later one.
    lines = b"\n".join(_BASE64_LINE.findall(stray)) if way.encoding == _BASE64 else b""
    if lines:
        yield header, lines


def _way(header: HeaderBlock) -> _Way:
    encoding = transfer_encoding(header.first("content-transfer-encoding"))
    own_type = header.first("content-type")
    kind = media_type(own_type)
    has_parts = kind.startswith("multipart/") or kind in MESSAGES
    is_shown = first_word(header.first("content-disposition")) != "attachment" and (has_parts or is_text_type(kind))
    return _Way("" if encoding in _NO_ENCODINGS else encoding, own_type if has_parts else "", is_shown)


def _is_text(content: bytes) -> bool:
    return _MOST_CONTROLS * (len(content) - len(content.translate(None, _CONTROLS))) <= len(content)
