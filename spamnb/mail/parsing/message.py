"""A message as its reader sees it: decoded header fields, texts, links and attachments."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.limits import DEFAULT_LIMITS, Limits, Work
from spamnb.mail.parsing.calendar import NO_CALENDAR, Calendar, read_calendar
from spamnb.mail.parsing.charset_guess import likely_codec
from spamnb.mail.parsing.charsets import as_bytes, codec_name, declared_in, decode, is_telling, is_utf8
from spamnb.mail.parsing.encoded_words import charsets_of, decode_field, decode_fields
from spamnb.mail.parsing.mime import Entity, Part, parse_entity
from spamnb.mail.parsing.part_forms import HTML, Form
from spamnb.mail.parsing.readings import is_text_type
from spamnb.mail.parsing.shown_addresses import authors

_ENRICHED = lazy_pattern(r"<param>[^<]{0,200}</param>|</?[a-z][a-z0-9-]{0,59}>", re.IGNORECASE)  # RFC 1896
_SHOWN = (Form.TEXT, Form.HTML)
_LATER = (Form.CALENDAR, Form.ATTACHED, Form.PAGE)
_SIGNATURE_SPACE = "-- "
_UNITS_UTF8, _UNITS_BROKEN, _UNITS_FLOWED = 1, 12, 15  # of work, per hundred bytes
_UNITS_CALENDAR = 10  # per hundred characters


class Text(NamedTuple):
    """A text that the message shows. Alternatives share a `group`: of a multipart/alternative, or of two charsets."""

    text: str
    is_html: bool
    group: int


class Attachment(NamedTuple):
    """A part that is not shown: its declared type, its name, and its size in bytes. is_cut: only the start was read."""

    media_type: str
    filename: str
    size: int
    is_cut: bool = False


class Message(NamedTuple):
    """The content of a message. Field names are in lower case; values are decoded and unfolded.

    `authors` are the addresses of From, and "" for what is in doubt.
    `subjects` are those of forwarded messages. `calendars` are invitations, attached or not; `attached_texts` the texts
    that most programs show below the message; `pages` the markup of attached HTML and SVG files. `structure` has the
    media types from the root to each leaf. `notes` say what was odd or left out. `work` is the work left for the later
    steps.
    """

    fields: tuple[tuple[str, str], ...]
    authors: tuple[str, ...]
    subjects: tuple[str, ...]
    texts: tuple[Text, ...]
    attachments: tuple[Attachment, ...]
    calendars: tuple[Calendar, ...]
    attached_texts: tuple[Text, ...]
    pages: tuple[str, ...]
    structure: tuple[tuple[str, ...], ...]
    charsets: tuple[str, ...]
    notes: tuple[str, ...]
    work: int

    def by_name(self) -> dict[str, list[str]]:
        """Return the values of all fields, in order, by their names."""
        values: dict[str, list[str]] = {}
        for name, value in self.fields:
            values.setdefault(name, []).append(value)
        return values

    def first(self, name: str) -> str:
        """Return the value of the first field of that name, or ""."""
        for field, value in self.fields:
            if field == name:
                return value
        return ""


def parse(raw: bytes, limits: Limits = DEFAULT_LIMITS) -> Message:
    """Read a message (RFC 5322, RFC 2045-2049). Any bytes yield a Message."""
    notes: list[str] = []
    is_cut = len(raw) > limits.message_bytes
    if is_cut:
        raw = raw[: limits.message_bytes]
    work = Work(limits.work)
    some = work.quarter()
    entity = parse_entity(raw, limits, some)
    work.rejoin(some)
    notes.extend(entity.notes)
    spoken = cache(lambda: _fallback_charset(entity))
    reader = _Parts(limits, spoken)
    texts, attachments, calendars, attached_texts, pages = [], [], [], [], []
    if is_cut and not (entity.parts and entity.parts[-1].form is Form.FILE and entity.parts[-1].size):
        notes.append("limit:message_bytes")
    for part in entity.parts:
        notes.extend(part.notes)
        if part.is_attached:
            attachments.append(Attachment(part.media_type, decode_field(part.filename, spoken), part.size))
            if is_cut and part is entity.parts[-1]:
                attachments[-1] = attachments[-1]._replace(is_cut=True)
        if part.form in _SHOWN:
            texts.extend([reader.text(each, work) for each in reader.in_each_charset(part)])
    some = work.quarter()  # attachments must not use up what the text needs, so they come after it
    later = [part for part in entity.parts if part.form in _LATER]
    later.sort(key=lambda part: _LATER.index(part.form))  # nor what an invitation needs
    for part in chain.from_iterable(map(reader.in_each_charset, later)):
        if part.form is Form.CALENDAR:
            calendars.append(reader.calendar(part, some))
            if part.media_type == "text/plain":  # programs that do not look at the name of the file
                attached_texts.append(reader.text(part, some))
        elif part.form is Form.ATTACHED:
            attached_texts.append(reader.text(part, some))
        elif part.form is Form.PAGE:
            pages.append(reader.page(part, some))
            if is_text_type(part.media_type):  # Thunderbird shows it
                attached_texts.append(Text(pages[-1], part.media_type in HTML, part.group))
    work.rejoin(some)
    notes.extend(reader.notes)
    some = work.quarter()
    fields = decode_fields(entity.fields, spoken, some)
    inner = decode_fields(tuple([field for field in entity.inner if field[0] == "subject"]), spoken, some)
    work.rejoin(some)
    if work.is_spent:
        notes.append("limit:work")
    return Message(
        fields=fields,
        authors=authors([value for name, value in entity.fields if name == "from"], spoken),
        subjects=tuple([value for _, value in inner]),
        texts=tuple(texts),
        attachments=tuple(attachments),
        calendars=tuple(calendars),
        attached_texts=tuple(attached_texts),
        pages=tuple(pages),
        structure=tuple(part.path for part in entity.parts),
        charsets=tuple([part.charset or "none" for part in entity.parts if not part.is_attached]),
        notes=tuple(dict.fromkeys(notes)),
        work=work.left,
    )


class _Parts:
    """Reads the parts of one message, within its limits."""

    def __init__(self, limits: Limits, spoken: Callable[[], str]) -> None:
        self.notes: list[str] = []
        self._limits = limits
        self._fallback_charset = spoken
        self._chars = {False: limits.text_chars, True: limits.html_chars}
        self._tags = limits.html_tags
        self._groups = 0

    def in_each_charset(self, part: Part) -> Iterator[Part]:
        """Yield the part, and if some programs do not know its charset, as an alternative how they show it."""
        content = as_bytes(part.content, part.charset)
        if not content:
            yield part
            return
        self._groups -= 1  # those of the parts are above 0
        part = part._replace(group=part.group or self._groups)
        yield part
        yield part._replace(charset="", content=content)

    def text(self, part: Part, work: Work) -> Text:
        """Return the text that a part shows."""
        is_html = part.form is Form.HTML
        text = self._decoded(part, is_html, work)
        if part.media_type in {"text/enriched", "text/richtext"}:
            text = _ENRICHED.sub("", text)
        if part.flowed and not is_html:
            text = unflow(text, part.flowed == "delsp")
        return Text(self._cut(text, is_html), is_html, part.group)

    def calendar(self, part: Part, work: Work) -> Calendar:
        """Return the text that an invitation shows."""
        written = self._decoded(part, False, work)
        if len(written) > self._limits.text_chars:
            self.notes.append("limit:text_chars")
            written = written[: self._limits.text_chars]
        calendar = read_calendar(written[: work.share(len(written), _UNITS_CALENDAR)])
        if not part.is_attached and calendar == NO_CALENDAR:  # not a calendar at all: programs show it unchanged
            calendar = calendar._replace(text=written)
        return calendar._replace(text=self._cut(calendar.text, calendar.is_html), group=part.group)

    def page(self, part: Part, work: Work) -> str:
        """Return the markup of an attached page."""
        return self._cut(_decode_text(_affordable(part, work), True, self._fallback_charset)[0], True)

    def _decoded(self, part: Part, is_html: bool, work: Work) -> str:
        text, fault = _decode_text(_affordable(part, work), is_html, self._fallback_charset)
        if fault:
            self.notes.append(f"charset-{fault}:")
        return text

    def _cut(self, text: str, is_html: bool) -> str:
        """Return as much of a text as is still read."""
        if len(text) > self._chars[is_html]:
            self.notes.append("limit:html_chars" if is_html else "limit:text_chars")
            text = text[: self._chars[is_html]]
        self._chars[is_html] -= len(text)
        if is_html:
            tags = text.count("<")
            if tags > self._tags:
                self.notes.append("limit:html_tags")
                text = "<".join(text.split("<", self._tags + 1)[:-1])
            self._tags = max(0, self._tags - tags)
        return text


def _affordable(part: Part, work: Work) -> Part:
    """Return as much of a text part as there is work left to decode."""
    rate = (_UNITS_UTF8 if is_utf8(part.content) else _UNITS_BROKEN) + (_UNITS_FLOWED if part.flowed else 0)
    size = work.share(len(part.content), rate)
    return part if size == len(part.content) else part._replace(content=part.content[:size])


def _decode_text(part: Part, is_html: bool, spoken: Callable[[], str]) -> tuple[str, str]:
    """Return a part's text, and what was wrong with its charset; without one in Content-Type, <meta> decides."""
    codec = codec_name(part.charset)
    if is_html and not part.content.isascii() and not is_telling(codec):
        inside = declared_in(part.content)
        if inside and not (codec == "utf-8" and is_utf8(part.content)):  # programs recode text, not its markup
            return decode(part.content, inside)[0], "wrong" if part.charset else "missing"
    return decode(part.content, part.charset, spoken)


def _fallback_charset(entity: Entity) -> str:
    """Return the codec for bytes without a declared one: one that the message declares elsewhere, or the likeliest."""
    fields = entity.fields + entity.inner
    declared: list[str] = []
    for part in entity.parts:
        declared += [part.charset, declared_in(part.content) if part.media_type in HTML else ""]
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
