"""Read everything that the filter needs from a message, in one pass over its bytes."""

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from spamnb.identity.values import Digests
from spamnb.mail.limits import DEFAULT_LIMITS, NOTES_OF_TEXT, Limits
from spamnb.mail.parsing.message import Message, parse
from spamnb.mail.relations import Addressees, Relations, Reply, addressees, relations, reply
from spamnb.mail.tokens.tokenizer import tokenize

_SUMMARY_CHARS = 100


class Reading(NamedTuple):
    """A message after reading.

    digest: its identity. summary: subject and sender, for a person.
    tokens: each token with its occurrences in the message. relations: who wrote it, over which path,
    and what it answers.
    """

    digest: bytes
    summary: str
    tokens: Mapping[str, int]
    relations: Relations = Relations()

    @property
    def is_in_part(self) -> bool:
        """Whether some of the text was left out: it is past a limit."""
        return is_in_part(self.tokens)


class Content(NamedTuple):
    """The part of a `Reading` that a verdict needs."""

    tokens: Mapping[str, int]
    relations: Relations = Relations()

    @property
    def is_in_part(self) -> bool:
        """As that of a `Reading`."""
        return is_in_part(self.tokens)


def is_in_part(tokens: Mapping[str, int]) -> bool:
    """Tell whether some of a message's text was left out when these tokens were made.

    >>> is_in_part({"hello": 1, "limit:text_chars": 1}), is_in_part({"hello": 1, "limit:links": 1})
    (True, False)
    """
    return any(note in tokens for note in NOTES_OF_TEXT)


def read(raw: bytes, limits: Limits = DEFAULT_LIMITS) -> Reading:
    """Read a message. Any bytes yield a Reading."""
    from spamnb.identity.digests import identity  # noqa: PLC0415 - a fortieth of `score`, which asks for no digest

    message = parse(raw, limits)
    return Reading(identity(raw), summarise(message), tokenize(message, limits), relations(message))


def read_content(raw: bytes, limits: Limits = DEFAULT_LIMITS) -> Content:
    """Read only what a verdict needs."""
    message = parse(raw, limits)
    return Content(tokenize(message, limits), relations(message))


class LazyReading:
    """Reads of a message only what is asked: its digests suffice for most moves, and cost little."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    @cached_property
    def _digests(self) -> Digests:
        from spamnb.identity.digests import digests  # noqa: PLC0415 - as above

        return digests(self._raw)

    @property
    def digest(self) -> bytes:
        """Its identity."""
        return self._digests.identity

    @property
    def header_digest(self) -> bytes | None:
        """The digest of Message-ID, Date and From alone."""
        return self._digests.header

    @property
    def delivery(self) -> bytes:
        """Which delivery of the message it is."""
        return self._digests.delivery

    @cached_property
    def _message(self) -> Message:
        return parse(self._raw, DEFAULT_LIMITS)

    @cached_property
    def summary(self) -> str:
        """Subject and sender, for a person."""
        return summarise(self._message)

    @cached_property
    def relations(self) -> Relations:
        """Who wrote it, over which path, and what it answers."""
        return relations(self._message)

    @cached_property
    def reading(self) -> Reading:
        """All of it, with its tokens."""
        return Reading(self.digest, self.summary, tokenize(self._message, DEFAULT_LIMITS), self.relations)

    @property
    def addressees(self) -> Addressees:
        """To whom it went, if the person has sent it."""
        return addressees(self._message)

    @property
    def reply(self) -> Reply:
        """What this message answers, if the person has sent it."""
        return reply(self._message)

    def is_answered_by(self, reply: Reply) -> bool:
        """Tell whether that message of the person answers it."""
        return reply.answers(self._message)


def summarise(message: Message) -> str:
    """Return subject and sender on one line, without control characters, at most 100 characters."""
    subject = printable(message.first("subject")) or "(no subject)"
    sender = printable("".join(message.authors[:1])) or "no sender"
    if len(sender) > 40:
        sender = sender[:39] + "…"
    most = _SUMMARY_CHARS - len(sender) - 3
    return f"{subject if len(subject) <= most else subject[: most - 1] + '…'} ({sender})"


def printable(text: str) -> str:
    """Return a stranger's text as one line that can go to a terminal, a log or a database.

    Control and format characters (terminal escapes, direction marks), lone surrogates and line ends become spaces. A
    run of spaces becomes one.

    >>> printable("a\\x1b[2Jb\\nc\\u202ed")
    'a [2Jb c d'
    """
    if text.isprintable():
        return " ".join(text.split())
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
