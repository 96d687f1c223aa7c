"""Take the content out of signed-data (RFC 5652, 5), as in a message of S/MIME whose text lies within its signature.

The signature is not looked at. A library for it (cryptography, asn1crypto) is large, and refuses what mail programs
show: the text of a broken or truncated message. Only the elements on the way to the content are read:

    ContentInfo        SEQUENCE { OID of signed-data, [0] { SignedData } }
    SignedData         SEQUENCE { version, digestAlgorithms, encapContentInfo, … }
    encapContentInfo   SEQUENCE { OID, [0] { OCTET STRING } }

Lengths may be indefinite, and the octet string may be in pieces (X.690, 8.1.3.6 and 8.7): Outlook and Apple Mail write
both.
"""

from typing import NamedTuple

from spamnb.mail.limits import Work

_OCTETS, _OID, _SEQUENCE, _EXPLICIT = 0x04, 0x06, 0x30, 0xA0
_CONSTRUCTED = 0x20
_LONG_TAG = 0x1F
_SIGNED_DATA = bytes.fromhex("2a864886f70d010702")  # 1.2.840.113549.1.7.2
_DEEPEST = 10  # elements in one another that are skipped, or pieces in pieces
_UNITS_AN_ELEMENT = 4  # of work; programs write pieces of a thousand bytes and more


class _Element(NamedTuple):
    """An element of BER: its tag, and where its content begins and ends. The end may be past it if it is indefinite."""

    tag: int
    start: int
    end: int
    is_indefinite: bool


class _MalformedError(ValueError):
    """No signed-data, or not such a one."""


def signed_content(data: bytes, work: Work) -> bytes:
    """Return the content of signed-data; nothing if there is none. A truncated value has the part that is there.

    If no work is left, the rest is left out.

    >>> text = b"\\x24\\x80\\x04\\x02ab\\x04\\x01c\\0\\0"  # in pieces, of indefinite length
    >>> head = "308006092a864886f70d010702a08030800201013100308006092a864886f70d010701a080"
    >>> signed_content(bytes.fromhex(head) + text, Work(100))
    b'abc'
    """
    reader = _Reader(data, work)
    try:
        return reader.content()
    except _MalformedError:
        return b""


class _Reader:
    """Reads the elements of one value, within its limits."""

    def __init__(self, data: bytes, work: Work) -> None:
        self._data = data
        self._work = work

    def content(self) -> bytes:
        """Return the content of the value. Raises _MalformedError."""
        whole = self._expect(_SEQUENCE, 0, len(self._data))
        kind = self._expect(_OID, whole.start, whole.end)
        if self._data[kind.start : kind.end] != _SIGNED_DATA:
            raise _MalformedError
        wrapped = self._expect(_EXPLICIT, kind.end, whole.end)
        signed = self._expect(_SEQUENCE, wrapped.start, wrapped.end)
        at = signed.start
        for _ in ("version", "digestAlgorithms"):
            at = self._behind(self._element(at, signed.end), _DEEPEST)
        inner = self._expect(_SEQUENCE, at, signed.end)
        at = self._expect(_OID, inner.start, inner.end).end
        octets = self._expect(_EXPLICIT, at, inner.end)
        pieces: list[bytes] = []
        self._collect(self._element(octets.start, octets.end), pieces, _DEEPEST)
        return b"".join(pieces)

    def _element(self, at: int, end: int) -> _Element:
        """Read the tag and the length of an element (X.690, 8.1). A length past the end is cut."""
        if at + 2 > end or not self._work.take(_UNITS_AN_ELEMENT):
            raise _MalformedError
        tag, length = self._data[at], self._data[at + 1]
        at += 2
        if tag & _LONG_TAG == _LONG_TAG:
            raise _MalformedError
        if length == 0x80:
            return _Element(tag, at, end, True)
        if length > 0x80:
            size = length & 0x7F
            length = int.from_bytes(self._data[at : at + size])
            at += size
        return _Element(tag, at, min(at + length, end), False)

    def _expect(self, tag: int, at: int, end: int) -> _Element:
        element = self._element(at, end)
        if element.tag != tag:
            raise _MalformedError
        return element

    def _behind(self, element: _Element, depth: int) -> int:
        """Return where the next element begins."""
        if not element.is_indefinite:
            return element.end
        at = element.start
        while self._data[at : at + 2] != b"\0\0":
            if not depth:
                raise _MalformedError
            at = self._behind(self._element(at, element.end), depth - 1)
        return at + 2

    def _collect(self, octets: _Element, pieces: list[bytes], depth: int) -> int:
        """Add the bytes of an octet string, which may be in pieces. Returns where the next element begins.

        Past a limit, or if the value is truncated, the rest is left out.
        """
        if octets.tag == _OCTETS:
            pieces.append(self._data[octets.start : octets.end])
            return octets.end
        if octets.tag != _OCTETS | _CONSTRUCTED or not depth:
            raise _MalformedError
        at = octets.start
        try:
            while at < octets.end and not (octets.is_indefinite and self._data[at : at + 2] == b"\0\0"):
                at = self._collect(self._element(at, octets.end), pieces, depth - 1)
        except _MalformedError:
            return octets.end
        return at + 2 if octets.is_indefinite else octets.end
