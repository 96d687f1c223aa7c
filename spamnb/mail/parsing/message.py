"""A message as its reader meets it: decoded header fields, texts, links and attachments."""

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.limits import DEFAULT_LIMITS, Limits, Work
from spamnb.mail.parsing.charset_guess import likely_codec
from spamnb.mail.parsing.charsets import codec_name, declared_in, decode, is_telling, is_utf8
from spamnb.mail.parsing.encoded_words import charsets_of, decode_field, decode_fields
from spamnb.mail.parsing.mime import Entity, Part, parse_entity

_HTML = frozenset({"text/html", "application/xhtml+xml", "text/x-amp-html"})
_ENRICHED = lazy_pattern(r"<param>[^<]{0,200}</param>|</?[a-z][a-z0-9-]{0,59}>", re.IGNORECASE)  # RFC 1896
_SIGNATURE_SPACE = "-- "
_UNITS_UTF8, _UNITS_BROKEN, _UNITS_FLOWED = 1, 12, 15  # of work, for a hundred bytes


class Text(NamedTuple):
    """A text that the message shows. `group` is shared by the alternatives of one multipart/alternative."""

    text: str
    is_html: bool
    group: int


class Attachment(NamedTuple):
    """A part that is not read: what it is declared as, and its size in bytes."""

    media_type: str
    filename: str
    size: int


class Message(NamedTuple):
    """What a message holds. Field names are in lower case; values are decoded and unfolded.

    `subjects` are those of forwarded messages. `structure` are the media types from the root to each leaf, `notes`
    what was odd or left out, `work` the units of work that are left for what comes of it.
    """

    fields: tuple[tuple[str, str], ...]
    subjects: tuple[str, ...]
    texts: tuple[Text, ...]
    attachments: tuple[Attachment, ...]
    structure: tuple[tuple[str, ...], ...]
    charsets: tuple[str, ...]
    notes: tuple[str, ...]
    work: int

    def by_name(self) -> dict[str, list[str]]:
        """The values of all fields, in order, by their names."""
        values: dict[str, list[str]] = {}
        for name, value in self.fields:
            values.setdefault(name, []).append(value)
        return values

    def first(self, name: str) -> str:
        """The value of the first field of that name, or ""."""
        for field, value in self.fields:
            if field == name:
                return value
        return ""


def parse(raw: bytes, limits: Limits = DEFAULT_LIMITS) -> Message:
    """Read a message (RFC 5322, RFC 2045-2049). Any bytes at all yield a Message."""
    notes: list[str] = []
    if len(raw) > limits.message_bytes:
        notes.append("limit:message_bytes")
        raw = raw[: limits.message_bytes]
    work = Work(limits.work)
    some = work.quarter()
    entity = parse_entity(raw, limits, some)
    work.rejoin(some)
    notes.extend(entity.notes)
    spoken = cache(lambda: _spoken(entity))
    texts, attachments, charsets = [], [], []
    left = {False: limits.text_chars, True: limits.html_chars}
    tags_left = limits.html_tags
    for part in entity.parts:
        notes.extend(part.notes)
        if not part.content or part.disposition == "attachment":  # a text file that is attached is only named
            attachments.append(Attachment(part.media_type, decode_field(part.filename, spoken), part.size))
            continue
        is_html = part.media_type in _HTML
        text, fault = _decode_text(_affordable(part, work), is_html, spoken)
        if fault:
            notes.append(f"charset-{fault}")
        charsets.append(part.charset or "none")
        if part.media_type in {"text/enriched", "text/richtext"}:
            text = _ENRICHED.sub("", text)
        if part.flowed and not is_html:
            text = unflow(text, part.flowed == "delsp")
        if len(text) > left[is_html]:
            notes.append("limit:html_chars" if is_html else "limit:text_chars")
            text = text[: left[is_html]]
        left[is_html] -= len(text)
        if is_html:
            tags = text.count("<")
            if tags > tags_left:
                notes.append("limit:html_tags")
                text = "<".join(text.split("<", tags_left + 1)[:-1])
            tags_left = max(0, tags_left - tags)
        texts.append(Text(text, is_html, part.group))
    some = work.quarter()
    fields = decode_fields(entity.fields, spoken, some)
    inner = decode_fields(tuple([field for field in entity.inner if field[0] == "subject"]), spoken, some)
    work.rejoin(some)
    if work.is_spent:
        notes.append("limit:work")
    return Message(
        fields=fields,
        subjects=tuple([value for _, value in inner]),
        texts=tuple(texts),
        attachments=tuple(attachments),
        structure=tuple(part.path for part in entity.parts),
        charsets=tuple(charsets),
        notes=tuple(dict.fromkeys(notes)),
        work=work.left,
    )


def _affordable(part: Part, work: Work) -> Part:
    """As much of a text part as there is work left to decode."""
    rate = (_UNITS_UTF8 if is_utf8(part.content) else _UNITS_BROKEN) + (_UNITS_FLOWED if part.flowed else 0)
    size = work.share(len(part.content), rate)
    return part if size == len(part.content) else part._replace(content=part.content[:size])


def _decode_text(part: Part, is_html: bool, spoken: Callable[[], str]) -> tuple[str, str]:
    """A part's text, and what was wrong with its charset; without one in Content-Type, that of <meta> is used."""
    codec = codec_name(part.charset)
    if is_html and not part.content.isascii() and not is_telling(codec):
        inside = declared_in(part.content)
        if inside and not (codec == "utf-8" and is_utf8(part.content)):  # a program that recodes leaves the markup
            return decode(part.content, inside)[0], "wrong" if part.charset else "missing"
    return decode(part.content, part.charset, spoken)


def _spoken(entity: Entity) -> str:
    """The codec of a message's bytes for which none is declared: one that it declares elsewhere, or the likeliest."""
    fields = entity.fields + entity.inner
    declared: list[str] = []
    for part in entity.parts:
        declared += [part.charset, declared_in(part.content) if part.media_type in _HTML else ""]
    declared += [charset for _, value in fields for charset in charsets_of(value)]
    if codec := next(filter(is_telling, map(codec_name, declared)), None):
        return codec
    raw = [value.encode("utf-8", "surrogateescape") for _, value in fields if not value.isascii()]
    return likely_codec(b"\n".join([*(part.content for part in entity.parts), *raw]))


def unflow(text: str, delsp: bool) -> str:
    """Join the soft line breaks of format=flowed text (RFC 3676, 4.1).

    >>> unflow("a \\nb\\n-- \\nme", delsp=False)
    'a b\\n-- \\nme'
    """
    pieces: list[str] = []
    open_line = False
    for raw_line in text.splitlines():
        line = raw_line[1:] if raw_line.startswith(" ") else raw_line
        if pieces and (not open_line or line == _SIGNATURE_SPACE):
            pieces.append("\n")
        open_line = line.endswith(" ") and line != _SIGNATURE_SPACE
        pieces.append(line[:-1] if open_line and delsp else line)
    return "".join(pieces)
