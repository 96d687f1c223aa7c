"""Undo transfer encodings (RFC 2045, 6). Broken input yields everything that can be decoded."""

import binascii
import re

from spamnb.base.patterns import lazy_pattern

UUENCODED = frozenset({"x-uuencode", "uuencode", "x-uue", "uue"})
_NOT_BASE64 = bytes(c for c in range(256) if not (chr(c).isalnum() and c < 128) and c not in b"+/")
# Soft line breaks that `binascii` does not know. Blanks after the mark are padding (RFC 2045, 6.7). After a lone return
# it drops everything up to the next newline.
_PADDED_BREAK = lazy_pattern(rb"=(?:[ \t]+(?:\r*\n|\r|\Z)|\r(?!\r*\n))")
_UU_BEGIN = lazy_pattern(rb"^begin [0-7]{3,4} ([^\r\n]{1,200})\r?$", re.MULTILINE)
_UU_LINE = lazy_pattern(rb"\r?\n([ -`]?)([ -`]*)(?=\r?\n)")
_UU_END = lazy_pattern(rb"\r?\nend[ \t]*(?=\r?\n|\Z)")


def decode_transfer(body: bytes, encoding: str) -> tuple[bytes, str]:
    """Undo a Content-Transfer-Encoding (RFC 2045, 6). Broken input yields everything that can be decoded, and a note.

    >>> decode_transfer(b"QUJD*RA", "base64")
    (b'ABCD', 'base64-broken:')
    >>> decode_transfer(b"AB= \\nC=44", "quoted-printable")
    (b'ABCD', '')
    """
    if encoding == "quoted-printable":
        return binascii.a2b_qp(_PADDED_BREAK.sub(b"=\n", body)), ""
    if encoding == "base64":
        return _decode_base64(body)
    if encoding in UUENCODED:
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
    """QUIRK: programs that do not know this encoding show the lines that are not encoded; such lines stay."""
    lines = []
    for line in body.splitlines():
        if line.startswith((b"begin ", b"end")):
            continue
        try:
            lines.append(binascii.a2b_uu(line))
        except binascii.Error:
            lines.append(line + b"\n")
    return b"".join(lines)


def without_uuencoded(content: bytes) -> tuple[bytes, str]:
    """Return text without the uuencoded files in it, and the name of the first one ("" if there is none).

    Most programs show such a file as text. A stranger may write anything between `begin` and `end`. So it is a file
    only if each line has the length that its first letter says.

    >>> without_uuencoded(b"a\\nbegin 644 b\\n#86)C\\n`\\nend\\nc"), without_uuencoded(b"begin 644 b\\nhello\\nend\\n")
    ((b'a\\n\\nc', 'b'), (b'begin 644 b\\nhello\\nend\\n', ''))
    """
    kept, name, position = [], "", 0
    for begin in _UU_BEGIN.finditer(content):
        end = _UU_END.match(content, _end_of_uu_lines(content, begin.end()))
        if end:
            kept.append(content[position : begin.start()])
            name = name or begin[1].decode("utf-8", "replace")
            position = end.end()
    kept.append(content[position:])
    return b"".join(kept), name


def _end_of_uu_lines(content: bytes, position: int) -> int:
    """Return where the last line ends that has the length that its first letter says."""
    while line := _UU_LINE.match(content, position):
        number_of_bytes = line[1][0] - 32 & 63 if line[1] else 0
        if len(line[2]) != (number_of_bytes + 2) // 3 * 4:
            break
        position = line.end()
    return position
