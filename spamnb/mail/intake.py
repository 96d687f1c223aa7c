"""Messages of any size, of which no more is held in memory than the reader takes."""

from collections.abc import Iterable

from spamnb.mail.identity import Digester, Start
from spamnb.mail.limits import DEFAULT_LIMITS

_MOST = DEFAULT_LIMITS.message_bytes + 1  # the last byte tells the reader that there are more
_AT_ONCE = 64 << 10  # bytes: short lines of an mbox are taken together


class Intake:
    """Takes one message in chunks."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._size = 0  # of the chunks that wait
        self._start = b""
        self._digester: Digester | None = None  # once there is more than the reader takes

    def feed(self, chunk: bytes) -> None:
        """More of the message."""
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._size >= (_MOST if self._digester is None else _AT_ONCE):
            self._digest()

    def finish(self) -> bytes:
        """The message, or as much of a longer one as the reader takes, with the digests over all of it."""
        if self._digester is None:
            return b"".join(self._chunks)
        self._digest()
        start = Start(self._start)
        start.digests = self._digester.finish()
        return start

    def _digest(self) -> None:
        taken = b"".join(self._chunks)
        self._chunks, self._size = [], 0
        if self._digester is None:
            self._digester = Digester()
            self._start = taken[:_MOST]
        self._digester.feed(taken)


def take(chunks: Iterable[bytes]) -> bytes:
    """A message that comes in chunks: all of it, or as much as the reader takes, with the digests over all of it."""
    intake = Intake()
    for chunk in chunks:
        intake.feed(chunk)
    return intake.finish()
