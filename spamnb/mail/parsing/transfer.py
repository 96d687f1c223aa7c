"""Transfer encodings undone (RFC 2045, 6); broken input yields what can be had of it."""

import binascii
import re

from spamnb.base.patterns import lazy_pattern

_NOT_BASE64 = bytes(c for c in range(256) if not (chr(c).isalnum() and c < 128) and c not in b"+/")
_UU_BEGIN = lazy_pattern(rb"^begin [0-7]{3,4} ([^\r\n]{1,200})\r?$", re.MULTILINE)


def decode_transfer(body: bytes, encoding: str) -> tuple[bytes, str]:
    """Undo a Content-Transfer-Encoding (RFC 2045, 6); broken input yields what can be had, and a note.

    >>> decode_transfer(b"QUJD*RA", "base64")
    (b'ABCD', 'base64-broken:')
    """
    if encoding == "quoted-printable":
        return binascii.a2b_qp(body), ""
    if encoding == "base64":
        return _decode_base64(body)
    if encoding in {"x-uuencode", "uuencode", "x-uue"}:
        return _decode_uu(body), ""
    return body, ""


def _decode_base64(body: bytes) -> tuple[bytes, str]:
    try:
        return binascii.a2b_base64(b"".join(body.split()), strict_mode=True), ""
    except binascii.Error:
        letters = body.translate(None, _NOT_BASE64)
        letters = letters[: len(letters) - (len(letters) % 4 == 1)]
        return binascii.a2b_base64(letters + b"=" * (-len(letters) % 4)), "base64-broken:"


def _decode_uu(body: bytes) -> bytes:
    lines = []
    for line in body.splitlines():
        if line.startswith((b"begin ", b"end")):
            continue
        try:
            lines.append(binascii.a2b_uu(line))
        except binascii.Error:
            continue
    return b"".join(lines)


def without_uuencoded(content: bytes) -> tuple[bytes, str]:
    """Text without the uuencoded files that stand in it, and the name of the first one ("" if there is none)."""
    kept, name, position = [], "", 0
    for begin in _UU_BEGIN.finditer(content):
        if begin.start() < position:
            continue
        end = content.find(b"\nend", begin.end())
        if end < 0:
            break
        kept.append(content[position : begin.start()])
        name = name or begin[1].decode("utf-8", "replace")
        position = end + 4
    kept.append(content[position:])
    return b"".join(kept), name
