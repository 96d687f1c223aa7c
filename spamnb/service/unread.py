"""A message whose bytes are there, and of which no more is read than is asked."""

from functools import cached_property

from spamnb.mail.identity import delivery, header_digest, identity
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.message import parse
from spamnb.mail.reading import Reading, read, summarise


class Unread:
    """A message as it was found. To tokenise one costs many times what its digests cost, and most moves need no tokens:
    what is dragged to the trash is only recognised.
    """

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    @cached_property
    def digest(self) -> bytes:
        """Its identity."""
        return identity(self._raw)

    @cached_property
    def header_digest(self) -> bytes | None:
        """Message-ID, Date and From alone."""
        return header_digest(self._raw)

    @cached_property
    def delivery(self) -> bytes:
        """Which delivery of it."""
        return delivery(self._raw)

    @cached_property
    def summary(self) -> str:
        """Subject and sender, for a person."""
        return summarise(parse(self._raw, DEFAULT_LIMITS))

    @cached_property
    def reading(self) -> Reading:
        """All of it, with its tokens."""
        return read(self._raw)
