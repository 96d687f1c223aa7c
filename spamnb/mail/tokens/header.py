"""Turn the header into tokens: sender and recipients, the message's way, its subject, its other fields."""

import re
from collections.abc import Iterator, Mapping

from spamnb.mail.limits import Limits
from spamnb.mail.parsing.encoded_words import READ_OF_X
from spamnb.mail.parsing.fields import address, addresses
from spamnb.mail.parsing.message import Message
from spamnb.mail.path import path_of, site_of
from spamnb.mail.tokens.dates import date_tokens
from spamnb.mail.tokens.ignored_fields import is_never_read
from spamnb.mail.tokens.received import received_tokens
from spamnb.mail.tokens.shapes import id_shape, short_shape
from spamnb.mail.tokens.text import count_forms, forms, grams, normalise, pairs, runs_of_marks, split_words, words
from spamnb.mail.tokens.urls import hosts

# These have functions of their own; `_other_fields` skips them.
_OWN_WAY = frozenset(
    """subject from to cc reply-to sender received message-id in-reply-to references date mime-version content-type
    content-transfer-encoding content-disposition""".split()  # noqa: SIM905
)
_MAILER = READ_OF_X | {"user-agent", "organization", "precedence", "importance", "auto-submitted", "content-language"}
_FORWARDED, _FORWARDED_CHARS = 10, 500  # subjects of forwarded messages
_MAILER_CHARS = 12  # of a word in the name of a mail program


def header_tokens(message: Message, limits: Limits) -> Iterator[str]:
    """Yield the tokens of all header fields, and of the subjects of forwarded messages; some more than once."""
    fields = message.by_name()
    first = {name: values[0] for name, values in fields.items()}
    yield from _subject(first.get("subject", ""), limits)
    for name in ("from", "reply-to", "to", "cc"):
        yield from _addresses(name, fields.get(name, []), limits)
    sender = address(first.get("from", "")[:500])
    yield from _reply_to(first.get("reply-to", ""), sender[1])
    received = fields.get("received", [])
    yield from received_tokens(received)
    yield from _message_id(first.get("message-id", ""))
    if date := first.get("date"):
        yield from date_tokens(date, received)
    if date or received:
        yield from _sender_facts(*sender, path_of(received))
    yield from (f"refers:{name}" for name in ("in-reply-to", "references") if first.get(name))
    yield from _other_fields(first, limits)
    for subject in message.subjects[:_FORWARDED]:  # before the text, so that the text does not use up the tokens
        yield from words(normalise(subject[:_FORWARDED_CHARS])[0], limits.token_chars)


def _prefixed(prefix: str, text: str, limits: Limits) -> Iterator[str]:
    """Yield the words of a text with a prefix, once each."""
    return (f"{prefix}:{word}" for word in words(normalise(text)[0], limits.token_chars))


def _subject(value: str, limits: Limits) -> Iterator[str]:
    text, notes = normalise(value)
    yield from (f"subject-{note}:" for note in notes)
    found = split_words(text)
    yield from (f"subject:{word}" for word in count_forms(found, limits.token_chars))
    yield from pairs("subject-pair", ["^", *forms(found, limits.token_chars), "$"])
    if not text.strip():
        yield "subject:"
    yield from (f"subject:{run}" for run in runs_of_marks(text))
    yield from grams("4:s", text.lower())
    letters = "".join(filter(str.isalpha, text))
    if len(letters) > 5 and all(map(str.isupper, letters)):
        yield "subject-shouts:"


def _message_id(value: str) -> Iterator[str]:
    """Yield the host, and the shape of the text before it, which shows the program that made it."""
    identifier = value.partition("<")[2].partition(">")[0] or value.strip("<> ")  # a comment may follow
    local, at, host = identifier.rpartition("@")
    if at:
        yield from hosts("message-id", host)
    else:
        yield "message-id:none"
        local = identifier
    yield f"message-id-shape:{id_shape(local[:200])[:30]}"


def _addresses(name: str, values: list[str], limits: Limits) -> Iterator[str]:
    if not values:
        yield f"{name}:none"
        return
    pairs = addresses([value[:2000] for value in values[:20]])[:50]
    if len(pairs) > 1:
        yield f"{name}-number:{len(pairs).bit_length()}"
    for display, written in pairs[:20]:
        lower = written.lower()
        local, _, host = lower.rpartition("@")
        yield f"{name}:{lower[:60]}"
        yield from hosts(name, host)
        if name == "from" and re.search(r"\d{3,}", local):
            yield "from-digits:"
        if display:
            yield from _prefixed(f"{name}-name", display, limits)
            if "@" in display and lower not in display.lower():
                yield f"{name}-name-is-another-address:"
        else:
            yield f"{name}-name:none"


def _reply_to(reply: str, sender: str) -> Iterator[str]:
    if reply:
        sites = {written.rpartition("@")[2].lower() for written in (address(reply[:500])[1], sender)}
        yield "reply-to-elsewhere:" if len(sites) > 1 else "reply-to-same:"


def _sender_facts(name: str, sender: str, path: str) -> Iterator[str]:
    """Yield how the first sender is written, and whether a server of the sender's site delivered the message."""
    local, _, host = sender.rpartition("@")
    yield f"agree:from-path:{_agreement(host.lower(), path)}"
    yield f"from-shape:{short_shape(local)}"
    yield f"from-name-shape:{short_shape(name)}"


def _agreement(host: str, path: str) -> str:
    if not path:
        return "none"
    if site_of(path) != path:
        return "ip"
    return "same" if site_of(host) == path else "other"


def _other_fields(first: Mapping[str, str], limits: Limits) -> Iterator[str]:
    for name, value in first.items():
        if name in _OWN_WAY or len(name) > 40 or is_never_read(name):
            continue
        yield f"field:{name}"
        if name in _MAILER:
            for word in words(normalise(value[:200])[0], limits.token_chars):
                yield f"{name}:{_without_id(word)}"


def _without_id(word: str) -> str:
    """Return a word, or its shape if it is long and has digits: an identifier, such as Mailchimp's for a customer."""
    return id_shape(word) if len(word) > _MAILER_CHARS and any(map(str.isdigit, word)) else word
