"""Turn a message into typed tokens.

Body words are bare. Every other token has a prefix for the place where it was found: `subject:`, `from:`, `url:`,
`received:` and others. The same word means something else in a different place. A token may occur several times in a
message; the event model decides what that means.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from spamnb.mail.limits import DEFAULT_LIMITS, Limits, Work
from spamnb.mail.parsing.calendar import Calendar
from spamnb.mail.parsing.message import Attachment, Message
from spamnb.mail.shares import both_ends
from spamnb.mail.tokens.body import body_tokens
from spamnb.mail.tokens.header import header_tokens
from spamnb.mail.tokens.text import normalise
from spamnb.mail.tokens.urls import hosts

_TOKEN_CHARS = 100  # for a whole token with its prefix
_EXTENSION_CHARS = 20
_ORGANIZERS = 20
VERSION = 8  # raised when the same message yields other tokens; kept with each lesson


def tokenize(message: Message, limits: Limits = DEFAULT_LIMITS) -> dict[str, int]:
    """Return the tokens of a message, and how often each occurs in it.

    Never empty. At most `limits.tokens` distinct tokens: the first and the last ones.
    """
    tokens = dict(Counter(chain(_structure(message), header_tokens(message, limits))))
    bodies = body_tokens(message, limits, Work(message.work))
    both = {token: number + bodies[token] for token, number in tokens.items() if token in bodies}
    tokens = {**tokens, **bodies, **both}
    if not "".join(tokens).isprintable() or max(map(len, tokens)) > _TOKEN_CHARS:
        _make_presentable(tokens)
    if len(tokens) > limits.tokens:
        tokens = dict(both_ends(list(tokens.items()), limits.tokens - 1))
        tokens["limit:tokens"] = 1
    return tokens


def _make_presentable(tokens: dict[str, int]) -> None:
    """Make tokens fit for a database and a terminal: cut to their greatest length, and printable.

    Addresses, file names and hosts are a stranger's words. Control characters, lone surrogates and the like in them
    become U+FFFD.
    """
    for token in [token for token in tokens if len(token) > _TOKEN_CHARS or not token.isprintable()]:
        number = tokens.pop(token)
        shown = "".join(c if c.isprintable() else "\ufffd" for c in token[:_TOKEN_CHARS])
        tokens[shown] = tokens.get(shown, 0) + number


def _structure(message: Message) -> Iterator[str]:
    for path in dict.fromkeys(message.structure):
        yield f"mime:{'>'.join(path[-3:])}"
    yield f"mime-parts:{len(message.structure).bit_length()}"
    yield from (f"charset:{name[:30]}" for name in dict.fromkeys(message.charsets))
    for name, value in message.fields:
        if name == "content-transfer-encoding":
            yield f"transfer:{value.strip().lower()[:20]}"
    yield from message.notes
    for attachment in message.attachments:
        yield from _attachment(attachment)
    for calendar in message.calendars:
        yield from _invitation(calendar)


def _attachment(attachment: Attachment) -> Iterator[str]:
    yield f"attached:{attachment.media_type}"
    yield f"attached-size:{attachment.size.bit_length()}"
    if attachment.filename:
        name = normalise(attachment.filename.lower())[0]
        yield f"attached-name:{name[:40]}"
        labels = name.split(".")[1:][-2:]
        yield f"attached-extension:{'.'.join(labels)[-_EXTENSION_CHARS:]}"
        if len(labels) > 1:
            yield f"attached-extension:{labels[-1][-_EXTENSION_CHARS:]}"


def _invitation(calendar: Calendar) -> Iterator[str]:
    if calendar.method:
        yield f"ics-method:{calendar.method}"
    for organizer in calendar.organizers[:_ORGANIZERS]:
        address = organizer[-500:].lower()
        yield f"organizer:{address[:60]}"
        yield from hosts("organizer", address.rpartition("@")[2])
