"""The digests of a message, as values: whoever asks only for these need not know how they are computed."""

from typing import NamedTuple


class Digests(NamedTuple):
    """Three digests of one message, of 16 bytes each; `header` is None without a Message-ID."""

    identity: bytes
    header: bytes | None
    delivery: bytes


class Start(bytes):
    """The first bytes of a message that is too long for the reader, with the digests over all of it."""

    digests: Digests
