"""The header to tokens: sender and receivers, the way that the message took, its subject, its other fields."""

import re
import string
from collections.abc import Iterator, Mapping
from functools import lru_cache

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.limits import Limits
from spamnb.mail.parsing.fields import address, addresses
from spamnb.mail.parsing.message import Message
from spamnb.mail.tokens.ignored_fields import is_never_read
from spamnb.mail.tokens.text import count_forms, forms, grams, normalise, pairs, runs_of_marks, split_words, words
from spamnb.mail.tokens.urls import IPV4, hosts

# Have functions of their own; `_other_fields` skips them.
_OWN_WAY = frozenset(
    """subject from to cc reply-to sender received message-id in-reply-to references date mime-version content-type
    content-transfer-encoding content-disposition""".split()  # noqa: SIM905
)
_MAILER = frozenset(
    """x-mailer user-agent x-mimeole x-originating-ip organization precedence x-priority importance
    x-msmail-priority auto-submitted content-language""".split()  # noqa: SIM905
)
_NAMES = lazy_pattern(r"[a-z0-9][a-z0-9.-]{3,100}")
_RUN = lazy_pattern(r"(.)\1+")
_SHAPE = str.maketrans(
    dict.fromkeys(string.ascii_lowercase, "a")
    | dict.fromkeys(string.ascii_uppercase, "A")
    | dict.fromkeys(string.digits, "d")
)
_ZONE = lazy_pattern(r"([+-]\d{4})\s*(?:\(|\Z)")


def header_tokens(message: Message, limits: Limits) -> Iterator[str]:
    """The tokens of all header fields, and of the subjects of forwarded messages; some more than once."""
    fields = message.by_name()
    first = {name: values[0] for name, values in fields.items()}
    yield from _subject(first.get("subject", ""), limits)
    for name in ("from", "reply-to", "to", "cc"):
        yield from _addresses(name, fields.get(name, []), limits)
    yield from _reply_to(first.get("reply-to", ""), first.get("from", ""))
    yield from _received(fields.get("received", []))
    yield from _message_id(first.get("message-id", ""))
    if date := first.get("date"):
        zone = _ZONE.search(date)
        yield f"date-zone:{zone[1] if zone else 'none'}"
    yield from (f"refers:{name}" for name in ("in-reply-to", "references") if first.get(name))
    yield from _other_fields(first, limits)
    for subject in message.subjects:
        yield from words(normalise(subject)[0], limits.token_chars)


def _prefixed(prefix: str, text: str, limits: Limits) -> Iterator[str]:
    """The words of a text, typed; once each."""
    return (f"{prefix}:{word}" for word in words(normalise(text)[0], limits.token_chars))


def _subject(value: str, limits: Limits) -> Iterator[str]:
    text, notes = normalise(value)
    yield from (f"subject-{note}" for note in notes)
    found = split_words(text)
    yield from (f"subject:{word}" for word in count_forms(found, limits.token_chars))
    yield from pairs("subject-pair", ["^", *forms(found, limits.token_chars), "$"])
    if not text.strip():
        yield "subject:"
    yield from (f"subject:{run}" for run in runs_of_marks(text))
    yield from grams("4:s", text.lower())
    letters = "".join(filter(str.isalpha, text))
    if len(letters) > 5 and all(map(str.isupper, letters)):
        yield "subject-shouts"


def _message_id(value: str) -> Iterator[str]:
    """The host, and the shape of what is before it, which tells the program that made it."""
    identifier = value.partition("<")[2].partition(">")[0] or value.strip("<> ")  # a comment may follow
    local, at, host = identifier.rpartition("@")
    if at:
        yield from hosts("message-id", host)
    else:
        yield "message-id:none"
        local = identifier
    shape = _RUN.sub(r"\1", local[:200].translate(_SHAPE))
    yield f"message-id-shape:{shape[:30]}"


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
            yield "from-digits"
        if display:
            yield from _prefixed(f"{name}-name", display, limits)
            if "@" in display and lower not in display.lower():
                yield f"{name}-name-is-another-address"
        else:
            yield f"{name}-name:none"


def _reply_to(reply: str, sender: str) -> Iterator[str]:
    if reply:
        sites = {address(value[:500])[1].rpartition("@")[2].lower() for value in (reply, sender)}
        yield "reply-to-elsewhere" if len(sites) > 1 else "reply-to-same"


def _received(values: list[str]) -> Iterator[str]:
    """The topmost Received field was written by the user's own server; those below it may be forged."""
    yield f"received-number:{min(len(values), 8)}"
    for position, value in enumerate(value[:1000].lower() for value in values[:12]):
        prefix = "received" if position == 0 else "received-claimed"
        dotted = " ".join([piece for piece in value.split() if "." in piece])  # the others take longer than these
        for name in dict.fromkeys(_NAMES.findall(dotted)):
            if "." in name:
                yield from _server(prefix, name)


@lru_cache(maxsize=2048)  # as those of `hosts`
def _server(prefix: str, name: str) -> tuple[str, ...]:
    """A name or an address of a server that a Received field names; nothing for anything else that has a full stop."""
    if name.rpartition(".")[2].isalpha():
        return hosts(prefix, name)
    if IPV4.fullmatch(name):
        a, b, c, d = name.split(".")
        return (f"{prefix}-ip:{a}.{b}", f"{prefix}-ip:{a}.{b}.{c}", f"{prefix}-ip:{a}.{b}.{c}.{d}")
    return ()


def _other_fields(first: Mapping[str, str], limits: Limits) -> Iterator[str]:
    for name, value in first.items():
        if name in _OWN_WAY or len(name) > 40 or is_never_read(name):
            continue
        yield f"field:{name}"
        if name in _MAILER:
            yield from _prefixed(name, value[:200], limits)
