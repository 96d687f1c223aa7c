"""Undo transfer encodings as all programs do: up to the place where they are broken.

Programs treat a broken encoding in different ways, so from there on the encoded bytes count. `binascii` gets only
complete input, which all versions of Python decode alike.
"""

import binascii
import re

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_PADDED = re.compile(rb"(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_NO_ESCAPE = re.compile(rb"=(?![0-9A-Fa-f]{2}|\n)")


def from_base64(data: bytes) -> tuple[bytes, int]:
    """Decode by RFC 2045, 6.8, ignoring white space. Returns also the number of bytes before a break, or -1.

    >>> from_base64(b"QUJD\\nRA=="), from_base64(b"QUJD*RA==")
    ((b'ABCD', -1), (b'ABC*RA==', 3))
    """
    data = data.translate(None, b" \t\r\n")
    whole = len(data) - len(data.lstrip(_LETTERS))
    whole -= whole % 4
    made, rest = binascii.a2b_base64(data[:whole]), data[whole:]
    if _PADDED.fullmatch(rest):
        return made + binascii.a2b_base64(rest), -1
    return made + rest, len(made)


def from_quoted(data: bytes) -> tuple[bytes, int]:
    """Decode by RFC 2045, 6.7. Returns also the number of bytes before an equals sign that is not an escape, or -1.

    >>> from_quoted(b"caf=C3=A9 =\\nau"), from_quoted(b"caf=C3=A9 =x")
    ((b'caf\\xc3\\xa9 au', -1), (b'caf\\xc3\\xa9 =x', 6))
    """
    broken = _NO_ESCAPE.search(data)
    if broken is None:
        return binascii.a2b_qp(data), -1
    made = binascii.a2b_qp(data[: broken.start()])
    return made + data[broken.start() :], len(made)
