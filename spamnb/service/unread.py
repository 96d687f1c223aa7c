"""A message whose bytes are there, and of which no more is read than is asked."""

from functools import cached_property

from spamnb.mail.identity import Digests, digests
from spamnb.mail.limits import DEFAULT_LIMITS
from spamnb.mail.message import Message, parse
from spamnb.mail.reading import Reading, summarise
from spamnb.mail.tokenizer import tokenize


class Unread:
    """A message as it was found.

    Its digests cost a tenth of its tokens, and say all that most moves ask: what is dragged to the trash is not
    tokenised.
    """

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    @cached_property
    def _digests(self) -> Digests:
        return digests(self._raw)

    @property
    def digest(self) -> bytes:
        """Its identity."""
        return self._digests.identity

    @property
    def header_digest(self) -> bytes | None:
        """Message-ID, Date and From alone."""
        return self._digests.header

    @property
    def delivery(self) -> bytes:
        """Which delivery of it."""
        return self._digests.delivery

    @cached_property
    def _message(self) -> Message:
        return parse(self._raw, DEFAULT_LIMITS)

    @cached_property
    def summary(self) -> str:
        """Subject and sender, for a person."""
        return summarise(self._message)

    @cached_property
    def reading(self) -> Reading:
        """All of it, with its tokens."""
        return Reading(self.digest, self.summary, tokenize(self._message, DEFAULT_LIMITS))
