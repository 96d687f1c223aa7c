"""A message as its reader sees it: decoded header fields, texts, links and attachments."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.abridged import abridged, is_cut
from spamnb.mail.limits import DEFAULT_LIMITS, Limits, Work
from spamnb.mail.parsing.calendar import NO_CALENDAR, Calendar, read_calendar
from spamnb.mail.parsing.charset_guess import likely_codec
from spamnb.mail.parsing.charsets import as_bytes, codec_name, declared_in, decode, is_telling, is_utf8
from spamnb.mail.parsing.encoded_words import charsets_of, decode_field, decode_fields
from spamnb.mail.parsing.mime import Entity, Part, parse_entity
from spamnb.mail.parsing.part_forms import HTML, Form
from spamnb.mail.parsing.readings import is_text_type
from spamnb.mail.parsing.shown_addresses import authors
from spamnb.mail.shares import DOUBT, fair_shares, markup_ends, shortened, text_ends, without_blanks

_ENRICHED = lazy_pattern(r"<param>[^<]{0,200}</param>|</?[a-z][a-z0-9-]{0,59}>", re.IGNORECASE)  # RFC 1896
_SHOWN = (Form.TEXT, Form.HTML)
_LATER = (Form.CALENDAR, Form.ATTACHED, Form.PAGE)
_REFERENCES = 100_000  # "&" in markup; as many letters are half of the text that is read
_END_OF_ANY = "\nEND:X\n"  # a joint in a calendar: what is behind it is not in an alarm
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
    raw = abridged(raw, limits.message_bytes)
    has_gap = is_cut(raw)
    if has_gap:
        notes.append("limit:message_bytes")
    work = Work(limits.work)
    some = work.quarter()
    entity = parse_entity(raw, limits, some)
    work.rejoin(some)
    notes.extend(entity.notes)
    spoken = cache(lambda: _fallback_charset(entity))
    reader = _Parts(limits, spoken)
    attachments: list[Attachment] = []
    for part in entity.parts:
        notes.extend(part.notes)
        if part.is_attached:
            name = decode_field(part.filename, spoken)
            attachments.append(Attachment(part.media_type, name, part.size, has_gap and part is entity.parts[-1]))
        if part.form in _SHOWN:
            reader.take(part, work)
    some = work.quarter()  # attachments must not use up what the text needs, so they come after it
    later = [part for part in entity.parts if part.form in _LATER]
    for part in sorted(later, key=lambda part: _LATER.index(part.form)):  # nor what an invitation needs
        reader.take(part, some)
    work.rejoin(some)
    reader.cut()
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
        texts=tuple(reader.texts),
        attachments=tuple(attachments),
        calendars=tuple(reader.calendars),
        attached_texts=tuple(reader.attached_texts),
        pages=tuple(reader.pages),
        structure=tuple(part.path for part in entity.parts),
        charsets=tuple([part.charset or "none" for part in entity.parts if not part.is_attached]),
        notes=tuple(dict.fromkeys(notes)),
        work=work.left,
    )


class _Written(NamedTuple):
    """What a part shows, before it is cut to its share. calendar: the invitation whose text it is."""

    part: Part
    text: str
    is_html: bool
    calendar: Calendar | None = None


class _Parts:
    """Reads the parts of one message, within its limits: `take` them all, then `cut` what they show."""

    def __init__(self, limits: Limits, spoken: Callable[[], str]) -> None:
        self.notes: list[str] = []
        self.texts: list[Text] = []
        self.calendars: list[Calendar] = []
        self.attached_texts: list[Text] = []
        self.pages: list[str] = []
        self._limits = limits
        self._fallback_charset = spoken
        self._written: list[_Written] = []
        self._groups = 0

    def take(self, part: Part, work: Work) -> None:
        """Read what a part shows, in each charset in which programs show it."""
        for each in self._in_each_charset(part):
            is_html = each.form is Form.HTML
            if each.form is Form.PAGE:
                text = _decode_text(_affordable(each, work), True, self._fallback_charset)[0]
                self._written.append(_Written(each, text, True))
                continue
            if each.form is Form.CALENDAR:
                calendar = self._calendar(each, work)
                self._written.append(_Written(each, calendar.text, calendar.is_html, calendar))
            if each.form is not Form.CALENDAR or each.media_type == "text/plain":  # not all look at the file's name
                self._written.append(_Written(each, self._text(each, is_html, work), is_html))

    def cut(self) -> None:
        """Cut each text to its share, and sort the texts by their forms."""
        pages = [each for each in self._written if each.is_html]
        others = [each for each in self._written if not each.is_html]
        lengths, most = [len(each.text) for each in others], self._limits.text_chars
        if sum(lengths) > most:
            others = [each._replace(text=without_blanks(each.text)) for each in others]
            lengths = [len(each.text) for each in others]
        for each, share in zip(others, fair_shares(lengths, most), strict=True):
            if len(each.text) > share:
                self.notes.append("limit:text_chars")
            self._keep(each, [shortened(each.text, share)])
        shares = fair_shares([len(each.text) for each in pages], self._limits.html_chars)
        tags = fair_shares([each.text.count("<") for each in pages], self._limits.html_tags)
        for each, share, most_tags in zip(pages, shares, tags, strict=True):
            self._keep(each, self._ends_of_page(each.text, share, most_tags))

    def _ends_of_page(self, markup: str, share: int, tags: int) -> list[str]:
        """Return some markup; if it is longer than its share or has more tags, its start and its end, both in doubt."""
        pieces: tuple[str, ...] = (markup,)
        if (references := markup.count("&")) > _REFERENCES:
            share = min(share, len(markup) * _REFERENCES // references)
        if markup.count("<") > tags:
            self.notes.append("limit:html_tags")
            pieces = markup_ends(markup, tags)
        if sum(map(len, pieces)) > share:
            self.notes.append("limit:html_chars")
            start, end = text_ends(markup, share)
            pieces = (start[: len(pieces[0])], end[-len(pieces[-1]) :])
        return [DOUBT + piece for piece in pieces if piece] if len(pieces) > 1 else [markup]

    def _keep(self, written: _Written, pieces: Sequence[str]) -> None:
        part = written.part
        if written.calendar is not None:
            self.calendars += [written.calendar._replace(text=piece, group=part.group) for piece in pieces]
        elif part.form is Form.PAGE:
            self.pages += pieces
            if is_text_type(part.media_type):  # Thunderbird shows it
                self.attached_texts += [Text(piece, part.media_type in HTML, part.group) for piece in pieces]
        else:
            of_form = self.texts if part.form in _SHOWN else self.attached_texts
            of_form += [Text(piece, written.is_html, part.group) for piece in pieces]

    def _in_each_charset(self, part: Part) -> Iterator[Part]:
        """Yield the part, and if some programs do not know its charset, as an alternative how they show it."""
        content = as_bytes(part.content, part.charset)
        if not content:
            yield part
            return
        self._groups -= 1  # those of the parts are above 0
        part = part._replace(group=part.group or self._groups)
        yield part
        yield part._replace(charset="", content=content)

    def _text(self, part: Part, is_html: bool, work: Work) -> str:
        """Return the text that a part shows."""
        text = self._decoded(part, is_html, work)
        if part.media_type in {"text/enriched", "text/richtext"}:
            text = _ENRICHED.sub("", text)
        if part.flowed and not is_html:
            text = unflow(text, part.flowed == "delsp")
        return text

    def _calendar(self, part: Part, work: Work) -> Calendar:
        """Return the text that an invitation shows."""
        written = self._decoded(part, False, work)
        if len(written) > self._limits.text_chars:
            self.notes.append("limit:text_chars")
            written = _END_OF_ANY.join(text_ends(written, self._limits.text_chars))
        calendar = read_calendar(written[: work.share(len(written), _UNITS_CALENDAR)])
        if not part.is_attached and calendar == NO_CALENDAR:  # not a calendar at all: programs show it unchanged
            calendar = calendar._replace(text=written)
        return calendar

    def _decoded(self, part: Part, is_html: bool, work: Work) -> str:
        text, fault = _decode_text(_affordable(part, work), is_html, self._fallback_charset)
        if fault:
            self.notes.append(f"charset-{fault}:")
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
