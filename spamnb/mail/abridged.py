"""Abridge a message that is longer than the reader reads: the middle of large pictures and files is left out.

The first half stays whole. Behind it, pieces that are base64 alone are left out, so that text behind pictures is
read. If that is not enough, the end of the message is kept, and what is before the end is left out.

A mark stands where something is left out. A stranger can write one too: then the message counts as read in part.
"""

from spamnb.base.patterns import lazy_pattern

PIECE = 1 << 16  # bytes: a run of base64 that is shorter stays
_MARK = lazy_pattern(rb"\0cut ([0-9]{1,10})\0\n")
_CUT = b"\0cut anything\0\n"
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n"


class Abridger:
    """Takes a message in pieces, and keeps at most that many bytes of it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._start: list[bytes] = []
        self._room = most // 2  # of the start
        self._waiting = bytearray()
        self._rest = bytearray()
        self._dropped = 0  # bytes of base64 in a row
        self._held = b""  # the last line of these, which may go on
        self._is_cut = False

    def feed(self, piece: bytes) -> None:
        """Add a piece of the message."""
        if self._room:
            start, piece = piece[: self._room], piece[self._room :]
            self._start.append(start)
            self._room -= len(start)
        self._waiting += piece
        for place in range(0, len(self._waiting) - PIECE + 1, PIECE):  # however the message comes
            self._take(bytes(self._waiting[place : place + PIECE]))
        del self._waiting[: len(self._waiting) // PIECE * PIECE]

    def _take(self, piece: bytes) -> None:
        first, last = piece.find(b"\n"), piece.rfind(b"\n")
        if len(piece) == PIECE and first <= last and not piece.translate(None, _BASE64):
            if first == last:  # a line without end: the letters that are left out are a multiple of four
                first, last = -1, PIECE - 1
            if not self._dropped:
                self._rest += piece[: first + 1]
                self._dropped -= first + 1
            self._dropped += len(piece)
            self._held = piece[last + 1 :]
            return
        if self._dropped:
            self._rest += b"\0cut %d\0\n" % (self._dropped - len(self._held)) + self._held
            self._dropped = 0
        self._rest += piece
        room = self._most - self._most // 2 - len(_CUT)
        if len(self._rest) > 2 * room:
            self._trim(room)

    def _trim(self, room: int) -> None:
        if len(self._rest) > room:
            self._is_cut = True
            del self._rest[: len(self._rest) - room]

    def finish(self) -> bytes:
        """Return what is kept, with marks."""
        if self._waiting:
            self._take(bytes(self._waiting))
        if self._dropped:
            self._rest += b"\0cut %d\0\n" % (self._dropped - len(self._held)) + self._held
        self._trim(self._most - self._most // 2 - len(_CUT))
        return b"".join([*self._start, _CUT if self._is_cut else b"", self._rest])


def abridged(raw: bytes, most: int) -> bytes:
    """Return a message of at most that many bytes; a longer one is abridged."""
    if len(raw) <= most:
        return raw
    abridger = Abridger(most)
    abridger.feed(raw)
    return abridger.finish()


def is_cut(raw: bytes) -> bool:
    """Tell whether parts may be missing of an abridged message."""
    return _CUT in raw


def without_marks(body: bytes) -> tuple[bytes, int]:
    """Return a body without marks, and how many bytes were left out of it.

    >>> without_marks(b"QUJD\\n\\0cut 70000\\0\\nREVG\\n"), without_marks(b"a")
    ((b'QUJD\\nREVG\\n', 70000), (b'a', 0))
    """
    if b"\0cut " not in body:
        return body, 0
    return _MARK.sub(b"", body.replace(_CUT, b"\n")), sum(map(int, _MARK.findall(body)))
