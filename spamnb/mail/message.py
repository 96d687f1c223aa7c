"""A message as its reader meets it: decoded header fields, texts, links and attachments."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from spamnb.mail.charsets import decode
from spamnb.mail.limits import DEFAULT_LIMITS, Limits
from spamnb.mail.mime import Part, parse_entity

_ENCODED_WORD = re.compile(r"=\?[^?\s]{1,60}\?[bqBQ]\?")
_FOLD = re.compile(r"[\r\n]+[ \t]*")
_SIGNATURE_SPACE = "-- "


@dataclass(frozen=True, slots=True)
class Text:
    """A text that the message shows. `group` is shared by the alternatives of one multipart/alternative."""

    text: str
    is_html: bool
    group: int


@dataclass(frozen=True, slots=True)
class Attachment:
    """A part that is not read: what it claims to be, and its size in bytes."""

    media_type: str
    filename: str
    size: int
    inline: bool


@dataclass(frozen=True, slots=True)
class Message:
    """What a message says. Field names are in lower case; values are decoded and unfolded.

    `structure` are the media types from the root to each leaf, `notes` what was odd or left out.
    """

    fields: tuple[tuple[str, str], ...]
    inner: tuple[tuple[str, str], ...]
    texts: tuple[Text, ...]
    attachments: tuple[Attachment, ...]
    structure: tuple[tuple[str, ...], ...]
    charsets: tuple[str, ...]
    notes: tuple[str, ...]

    def by_name(self) -> dict[str, list[str]]:
        """The values of all fields, in order, by their names."""
        values: dict[str, list[str]] = {}
        for name, value in self.fields:
            values.setdefault(name, []).append(value)
        return values

    def values(self, name: str) -> Iterator[str]:
        """The values of all fields of that name, in order."""
        return (value for field, value in self.fields if field == name)

    def first(self, name: str) -> str:
        """The value of the first field of that name, or ""."""
        return next(self.values(name), "")


def parse(raw: bytes, limits: Limits = DEFAULT_LIMITS) -> Message:
    """Read a message (RFC 5322, RFC 2045-2049). Any bytes at all yield a Message."""
    notes: list[str] = []
    if len(raw) > limits.message_bytes:
        notes.append("limit:message_bytes")
        raw = raw[: limits.message_bytes]
    entity = parse_entity(raw, limits)
    notes.extend(entity.notes)
    texts, attachments, charsets = [], [], []
    left = {False: limits.text_chars, True: limits.html_chars}
    tags_left = limits.html_tags
    for part in entity.parts:
        notes.extend(part.notes)
        if not _is_text(part):
            attachments.append(Attachment(part.media_type, part.filename, part.size, part.disposition == "inline"))
            continue
        text, claim = decode(part.content, part.charset)
        if claim:
            notes.append(f"charset-{claim}")
        charsets.append(part.charset or "none")
        is_html = part.media_type in {"text/html", "application/xhtml+xml"}
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
    return Message(
        fields=tuple((name, decode_field(value)) for name, value in entity.fields),
        inner=tuple((name, decode_field(value)) for name, value in entity.inner),
        texts=tuple(texts),
        attachments=tuple(attachments),
        structure=tuple(part.path for part in entity.parts),
        charsets=tuple(charsets),
        notes=tuple(dict.fromkeys(notes)),
    )


def _is_text(part: Part) -> bool:
    """Text that a reader is shown; a text file sent as an attachment is only named."""
    return bool(part.content) and part.disposition != "attachment"


def decode_field(value: str) -> str:
    """A field's value as text: unfolded, encoded words (RFC 2047) and raw 8-bit bytes decoded.

    >>> decode_field("=?utf-8?q?caf=C3=A9?= au\\r\\n lait")
    'café au lait'
    """
    if "\n" in value or "\r" in value:
        value = _FOLD.sub(" ", value)
    if "=?" not in value and value.isascii():  # nine fields of ten
        return value
    if not value.isascii():
        value = decode(value.encode("utf-8", "surrogateescape"))[0]
    if not _ENCODED_WORD.search(value):
        return value
    from email.errors import HeaderParseError  # noqa: PLC0415 - 10 ms, and one message in three has no encoded word
    from email.header import decode_header  # noqa: PLC0415

    try:
        pieces = decode_header(value)
    except (HeaderParseError, ValueError, UnicodeError):
        return value
    return "".join(p if isinstance(p, str) else decode(p, charset or "")[0] for p, charset in pieces)


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
