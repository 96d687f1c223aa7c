"""Take a message in chunks: as much as the reader reads, with the digests over all of it.

A longer message is abridged as it comes.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from spamnb.identity.values import Start
from spamnb.mail.abridged import Abridger, without_marks
from spamnb.mail.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    from spamnb.identity.digests import Digester

_READ = DEFAULT_LIMITS.message_bytes + 1  # a message of that many bytes is abridged
_BLANKS = b"\0 \t\n\r\f\v"
_PIECE = 1 << 16  # bytes digested at once, if the message comes in short lines


class Intake:
    """Takes one message of any size in chunks."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._size = 0  # of the chunks so far, in bytes
        self._abridger = Abridger(DEFAULT_LIMITS.message_bytes)
        self._digester: Digester | None = None  # made when there is more than the reader reads

    def feed(self, chunk: bytes) -> None:
        """Add a chunk of the message."""
        self._chunks.append(chunk)
        self._size += len(chunk)
        if self._size >= (_READ if self._digester is None else _PIECE):
            self._digest()

    def _digest(self) -> None:
        raw, self._chunks, self._size = b"".join(self._chunks), [], 0
        if self._digester is None:
            from spamnb.identity.digests import Digester  # noqa: PLC0415 - `score` needs it for long messages only

            self._digester = Digester()
        self._digester.feed(raw)
        self._abridger.feed(raw)

    def finish(self) -> bytes:
        """Return the message; or if it is long what the reader reads of it, with the digests over all of it."""
        if self._digester is None:
            return b"".join(self._chunks)
        self._digest()
        start = Start(self._abridger.finish())
        start.digests = self._digester.finish()
        return start


def take(chunks: Iterable[bytes]) -> bytes:
    """Return a message that comes in chunks: all of it, or what is read of it, with the digests over all of it."""
    intake = Intake()
    for chunk in chunks:
        intake.feed(chunk)
    return intake.finish()


def is_blank(content: bytes) -> bool:
    """Tell whether a file holds no message: it is empty, or a power cut has replaced its content by zeros.

    >>> is_blank(b"\\0\\0\\n"), is_blank(b"\\0To: a\\n")
    (True, False)
    """
    left, left_out = without_marks(content) if isinstance(content, Start) else (content, 0)
    return not left_out and not left.strip(_BLANKS)
