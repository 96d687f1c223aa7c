"""A message as its reader meets it: decoded header fields, texts, links and attachments."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

from spamnb.mail.charsets import codec_name, declared_in, decode, is_telling
from spamnb.mail.limits import DEFAULT_LIMITS, Limits
from spamnb.mail.mime import Entity, Part, parse_entity
from spamnb.mail.tongues import likely_codec
from spamnb.mail.transfer import decode_transfer

_ENCODED_WORD = re.compile(r"=\?([^?]{1,60})\?([bqBQ])\?")
_ADDRESS_FIELDS = frozenset({"from", "to", "cc", "reply-to", "sender"})
_SPECIAL = re.compile(r"[,;:<>@()\[\]]")
_HTML = frozenset({"text/html", "application/xhtml+xml", "text/x-amp-html"})
_FOLD = re.compile(r"[\r\n]+[ \t]*")
_ENRICHED = re.compile(r"<param>[^<]{0,200}</param>|</?[a-z][a-z0-9-]{0,59}>", re.IGNORECASE)  # RFC 1896
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
    spoken = cache(partial(_spoken, entity))
    texts, attachments, charsets = [], [], []
    left = {False: limits.text_chars, True: limits.html_chars}
    tags_left = limits.html_tags
    for part in entity.parts:
        notes.extend(part.notes)
        if not _is_text(part):
            filename = decode_field(part.filename, spoken)
            attachments.append(Attachment(part.media_type, filename, part.size, part.disposition == "inline"))
            continue
        is_html = part.media_type in _HTML
        text, claim = _decode_text(part, is_html, spoken)
        if claim:
            notes.append(f"charset-{claim}")
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
    return Message(
        fields=_decode_fields(entity.fields, spoken),
        inner=_decode_fields(entity.inner, spoken),
        texts=tuple(texts),
        attachments=tuple(attachments),
        structure=tuple(part.path for part in entity.parts),
        charsets=tuple(charsets),
        notes=tuple(dict.fromkeys(notes)),
    )


def _is_text(part: Part) -> bool:
    """Text that a reader is shown; a text file sent as an attachment is only named."""
    return bool(part.content) and part.disposition != "attachment"


def _decode_text(part: Part, is_html: bool, spoken: Callable[[], str]) -> tuple[str, str]:
    """A part's text, and how far its charset held; where the field is mute, HTML's own word holds."""
    if is_html and not part.content.isascii() and not is_telling(codec_name(part.charset)):
        inside = declared_in(part.content)
        if inside:
            return decode(part.content, inside)[0], "wrong" if part.charset else "missing"
    return decode(part.content, part.charset, spoken)


def _spoken(entity: Entity) -> str:
    """The codec of a message's bytes for which none is declared: one that it declares elsewhere, or the likeliest."""
    fields = entity.fields + entity.inner
    for part in entity.parts:
        for declared in (part.charset, declared_in(part.content) if part.media_type in _HTML else ""):
            codec = codec_name(declared)
            if codec is not None and is_telling(codec):
                return codec
    for _, value in fields:
        for word in _ENCODED_WORD.finditer(value):
            codec = codec_name(word[1])
            if codec is not None and is_telling(codec):
                return codec
    raw = [value.encode("utf-8", "surrogateescape") for _, value in fields if not value.isascii()]
    return likely_codec(b"\n".join([*(part.content for part in entity.parts), *raw]))


def _decode_fields(fields: tuple[tuple[str, str], ...], spoken: Callable[[], str]) -> tuple[tuple[str, str], ...]:
    """All fields decoded. Most header blocks have nothing but folds to undo, which is asked once of the whole."""
    if _is_plain("".join([value for _, value in fields])):
        return tuple([(name, _FOLD.sub(" ", value) if "\n" in value else value) for name, value in fields])
    return tuple([(name, decode_field(value, spoken, name in _ADDRESS_FIELDS)) for name, value in fields])


def _is_plain(value: str) -> bool:
    """Whether a field says what it says in ASCII: no encoded words, no raw bytes, no escapes of East Asian charsets."""
    return value.isascii() and "=?" not in value and "\x1b" not in value and "~{" not in value


def decode_field(value: str, spoken: Callable[[], str] | None = None, of_addresses: bool = False) -> str:
    """A field's value as text: unfolded, encoded words (RFC 2047) and raw 8-bit bytes decoded.

    `spoken` tells the charset of raw bytes. In a field `of_addresses` what was encoded stays part of a name.

    >>> decode_field("=?utf-8?q?caf=C3=A9?= au\\r\\n lait")
    'café au lait'
    """
    if "\n" in value or "\r" in value:
        value = _FOLD.sub(" ", value)
    if _is_plain(value):
        return value
    texts: list[str] = []
    quotes = 0
    for raw, charset in _pieces(value):
        text = decode(raw, charset or "", spoken)[0]
        if charset is not None and of_addresses:
            text = _as_name(text, quotes % 2 == 1)
        quotes += text.count('"')
        texts.append(text)
    return "".join(texts)


def _pieces(value: str) -> list[tuple[bytes, str | None]]:
    """A field's bytes with their charsets, None outside encoded words.

    QUIRK: neighbouring words of one charset are joined before they are decoded. RFC 2047 (5, 3) forbids to split
    a character between two words; programs that count bytes do so.
    """
    pieces: list[tuple[bytes, str | None]] = []
    position = 0
    for found in _ENCODED_WORD.finditer(value):
        if found.start() < position:
            continue
        end = value.find("?=", found.end())
        if end < 0:
            break
        between = value[position : found.start()]
        if between and not (pieces and between.isspace()):
            pieces.append((between.encode("utf-8", "surrogateescape"), None))
        charset = found[1].strip().lower()
        raw = _encoded(found[2].lower(), value[found.end() : end].encode("utf-8", "surrogateescape"))
        if pieces and pieces[-1][1] == charset:
            raw = pieces.pop()[0] + raw
        pieces.append((raw, charset))
        position = end + 2
    if position < len(value):
        pieces.append((value[position:].encode("utf-8", "surrogateescape"), None))
    return pieces


def _encoded(encoding: str, written: bytes) -> bytes:
    """The bytes of an encoded word (RFC 2047, 4)."""
    if encoding == "b":
        return decode_transfer(written, "base64")[0]
    return decode_transfer(written.replace(b"_", b" "), "quoted-printable")[0]


def _as_name(text: str, quoted: bool) -> str:
    """The text of an encoded word, as part of the name that it stands in: its commas part no addresses."""
    text = text.replace('"', " ").replace("\\", " ")
    return f'"{text}"' if _SPECIAL.search(text) and not quoted else text


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
