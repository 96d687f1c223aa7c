"""A message that comes in chunks: as much of it as the reader takes, with the digests over all of it."""

from collections.abc import Iterable

from spamnb.identity.digests import Digester, Start
from spamnb.mail.limits import DEFAULT_LIMITS

_READ = DEFAULT_LIMITS.message_bytes + 1  # bytes for the reader; the last one tells it that there are more
_BLANKS = b"\0 \t\n\r\f\v"
_PIECE = 1 << 16  # bytes digested at once of what comes in short lines


class Intake:
    """Takes one message of any size in chunks."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._size = 0  # of these chunks, in bytes
        self._start = b""
        self._digester: Digester | None = None  # once there is more than the reader takes

    def feed(self, chunk: bytes) -> None:
        """More of the message."""
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._size >= (_READ if self._digester is None else _PIECE):
            self._digest()

    def _digest(self) -> None:
        raw, self._chunks, self._size = b"".join(self._chunks), [], 0
        if self._digester is None:
            self._start, self._digester = raw[:_READ], Digester()
        self._digester.feed(raw)

    def finish(self) -> bytes:
        """The message, or as much of a longer one as the reader takes, with the digests over all of it."""
        if self._digester is None:
            return b"".join(self._chunks)
        self._digest()
        start = Start(self._start)
        start.digests = self._digester.finish()
        return start


def take(chunks: Iterable[bytes]) -> bytes:
    """A message that comes in chunks: all of it, or as much as the reader takes, with the digests over all of it."""
    intake = Intake()
    for chunk in chunks:
        intake.feed(chunk)
    return intake.finish()


def is_blank(content: bytes) -> bool:
    """Whether there is no message in a file: it is empty, or a power cut has left zeros in place of what was written.

    >>> is_blank(b"\\0\\0\\n"), is_blank(b"\\0To: a\\n")
    (True, False)
    """
    return not content.strip(_BLANKS)
