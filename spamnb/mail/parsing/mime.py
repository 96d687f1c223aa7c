"""Read the structure of a message: body parts with their transfer encoding undone (RFC 2045-2049).

Bodies are split at their boundaries here. The standard library's parser matches every line against the boundary of
every enclosing multipart, and recurses for each level: a hostile message of many levels takes very long, or exhausts
the stack. The search for a literal boundary is linear, and levels and parts are counted.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.abridged import without_marks
from spamnb.mail.limits import Limits, Work
from spamnb.mail.parsing.fields import first_word, media_type, parameters, transfer_encoding
from spamnb.mail.parsing.header_block import HeaderBlock, empty_line, read_fields, without_envelope
from spamnb.mail.parsing.part_forms import Form, form_of
from spamnb.mail.parsing.readings import MESSAGES, is_text_type, readings, undone
from spamnb.mail.parsing.signed_data import signed_content
from spamnb.mail.parsing.transfer import UUENCODED, decode_transfer, without_uuencoded
from spamnb.mail.shares import both_ends

_LIKE_BOUNDARY = lazy_pattern(
    rb"^(--(?:[^\r\n]{0,199}[^\r\n\t ])?)[ \t]{0,200}\r?\n(?=content-)", re.MULTILINE | re.IGNORECASE
)
_AFTER_BOUNDARY = lazy_pattern(rb"(--)?[ \t]*(?:\r*\n|\r|\r?\Z)")
_Section = tuple[bytes, int]
_DIGEST = "multipart/digest"
_NO_FIELDS = HeaderBlock(())
_UNITS_A_PART = 40  # of work
_BYTES_A_UNIT = 100  # of work, for a body that is decoded once more
_BYTES_A_UNIT_OF_READING = 20  # for a body whose parts are read once more
_NAME_CHARS = 200  # of a file's name, from each end: a long name hides the type of the file


class Part(NamedTuple):
    """A leaf of the MIME tree.

    `path` holds the media types from the root to this part's own. `content` is the body with its transfer encoding
    undone, for text parts and others that are read; of the rest only the size in bytes is kept. `form` is how the part
    is read. `notes` say what was odd: `base64-broken:`, `charset-wrong:`, …
    """

    path: tuple[str, ...]
    group: int  # the same number for the alternatives of one multipart/alternative, else 0
    content: bytes
    form: Form
    size: int
    charset: str
    disposition: str
    filename: str
    flowed: str  # "", "flowed" or "delsp" (RFC 3676)
    notes: tuple[str, ...]

    @property
    def media_type(self) -> str:
        """Return the part's own media type, in lower case."""
        return self.path[-1]

    @property
    def is_attached(self) -> bool:
        """Tell whether it is shown as a file, if at all."""
        return not self.content or self.disposition == "attachment" or not is_text_type(self.media_type)


class Entity(NamedTuple):
    """A header block and all leaves below it; `inner` has the header fields of forwarded messages, unchanged."""

    fields: tuple[tuple[str, str], ...]
    inner: tuple[tuple[str, str], ...]
    parts: tuple[Part, ...]
    notes: tuple[str, ...]


def parse_entity(raw: bytes, limits: Limits, work: Work) -> Entity:
    """Read a whole message. Any bytes yield an Entity."""
    walk = _Walk(limits, work)
    block, body = walk.split(without_envelope(raw))
    parts = list(walk.leaves(block, body, (), 0, 0))
    if len(parts) > limits.parts:
        parts = _chosen(parts, limits.parts, walk.notes)
    return Entity(block.fields, tuple(walk.inner), tuple(parts), tuple(dict.fromkeys(walk.notes)))


def _chosen(parts: list[Part], most: int, notes: list[str]) -> list[Part]:
    """Return at most that many parts with text, and as many others, the first and the last ones, in order."""
    with_text = [number for number, part in enumerate(parts) if part.form is not Form.FILE and part.content.strip()]
    others = sorted(set(range(len(parts))).difference(with_text))
    if len(with_text) > most:
        notes.append("limit:parts")
    return [parts[number] for number in sorted(both_ends(with_text, most) + both_ends(others, most))]


class _Walk:
    """One reading of one message: the counts so far, against the limits."""

    def __init__(self, limits: Limits, work: Work) -> None:
        self.limits = limits
        self.work = work
        self.notes: list[str] = []
        self.inner: list[tuple[str, str]] = []
        self.groups = 0
        self.multiparts: dict[str, list[str]] = {}  # the media types of those so far, by their boundaries

    def split(self, raw: bytes) -> tuple[HeaderBlock, bytes]:
        """Split the header from the body."""
        end = empty_line(raw)
        block, body = (raw, b"") if end is None else (raw[: end[0]], raw[end[1] :])
        header = read_fields(block, self.limits, self.work, is_ended=end is not None)
        self.work.take(len(header.fields))
        self.notes.extend(header.notes)
        return header, body

    def leaves(
        self, header: HeaderBlock, body: bytes, above: tuple[str, ...], group: int, depth: int
    ) -> Iterator[Part]:
        """Yield the leaves of one entity, in order; if programs read its header in two ways, those of both."""
        if above[-1:] == (_DIGEST,) and not header.first("content-type"):  # RFC 2046, 5.1.5
            header = header.with_first("content-type", "message/rfc822")
        for number, (block, content) in enumerate(readings(header, body)):
            if number == 0 or self.work.take(len(content) // _BYTES_A_UNIT_OF_READING):
                yield from self.leaves_as_read(block, content, above, group, depth)

    def leaves_as_read(
        self, block: HeaderBlock, body: bytes, above: tuple[str, ...], group: int, depth: int
    ) -> Iterator[Part]:
        """Yield the leaves of one entity in one reading, in order."""
        own_type = block.first("content-type")
        kind = media_type(own_type)
        path = (*above, kind)
        encoding = transfer_encoding(block.first("content-transfer-encoding"))
        nested = kind.startswith("multipart/") or kind in MESSAGES
        if nested and depth >= self.limits.nesting:
            self.notes.append("limit:nesting")
        elif kind in MESSAGES:
            if encoding == "base64":
                self.note_left_out(body)
            inner, inner_body = self.split(without_envelope(undone(body, encoding)))
            self.inner.extend(inner.fields)
            if kind == "text/rfc822-headers":  # the header of a returned message; the rest is text
                stray = inner.stray_text.encode("utf-8", "surrogateescape")
                yield _leaf(_NO_FIELDS, stray + inner_body, path, group, self.work)
                return
            yield from self.leaves(inner, inner_body, path, group, depth + 1)
            return
        elif nested:
            boundary = parameters(own_type, self.work).get("boundary", "")
            kinds = self.multiparts.setdefault(boundary, [])
            outside = len(kinds)
            kinds.append(kind)
            sections, body = self.decoded_sections(boundary, encoding, body)
            if sections:
                if kind == "multipart/alternative":
                    self.groups += 1
                    group = self.groups
                for section, closed in sections:
                    # QUIRK: if a multipart within has the same boundary, Dovecot and GMime close that one first.
                    if closed < len(kinds) - outside:
                        inner, inner_body = self.split(section)
                        yield from self.leaves(inner, inner_body, path, group, depth + 1)
                        if _DIGEST in kinds and kinds[-1] != kind and not inner.first("content-type"):
                            yield from self.leaves(inner, inner_body, (*path, kinds[-1]), group, depth + 1)
                return
            self.notes.append("multipart-broken:")
            path = (*path, "text/html" if b"<html" in body[:5000].lower() else "text/plain")
            block = _NO_FIELDS
        leaf = _leaf(block, body, path, group, self.work)
        yield leaf
        if leaf.form is Form.SIGNED:
            yield from self.signed_leaves(leaf, depth)

    def signed_leaves(self, signed: Part, depth: int) -> Iterator[Part]:
        """Yield the leaves of the message that a file of S/MIME holds in its signature."""
        if depth >= self.limits.nesting:
            self.notes.append("limit:nesting")
        elif self.work.take(len(signed.content) // _BYTES_A_UNIT) and (
            content := signed_content(signed.content, self.work)
        ):
            inner, inner_body = self.split(content)
            yield from self.leaves(inner, inner_body, signed.path, signed.group, depth + 1)

    def decoded_sections(self, boundary: str, encoding: str, body: bytes) -> tuple[list[_Section], bytes]:
        """Return the sections of a multipart, and its body.

        QUIRK: mutt undoes an encoding of the whole, which RFC 2045 (6.4) forbids, and then looks for the parts.
        """
        sections = self.sections(boundary, body)
        is_encoded = encoding == "base64" or (encoding == "quoted-printable" and not sections)
        if is_encoded and self.work.take(len(body) // _BYTES_A_UNIT):
            whole = undone(body, encoding)
            if whole is not body:
                self.note_left_out(body)
                return sections + self.sections(boundary, whole), whole
        return sections, body

    def note_left_out(self, body: bytes) -> None:
        """Note that some of an encoded body was left out, which may have had parts."""
        if without_marks(body)[1]:
            self.notes.append("limit:message_bytes")

    def sections(self, boundary: str, body: bytes) -> list[_Section]:
        """Return the bytes between the boundary lines (RFC 2046, 5.1.1), without preamble and epilogue.

        With each, the number of closing boundaries before it.
        """
        found = list(self._sections(b"--" + boundary.encode("utf-8", "surrogateescape"), body)) if boundary else []
        if not found and (like := _LIKE_BOUNDARY.search(body)):  # QUIRK: it differs from the one that the field names
            self.notes.append("multipart-broken:")
            found = list(self._sections(like[1], body))
        return found

    def _sections(self, line: bytes, body: bytes) -> Iterator[_Section]:
        # The boundary is found as a literal: compiling a pattern of it takes as long as reading a short message.
        start, place, closed = None, body.find(line), 0
        while place >= 0:
            if not self.work.take(1):
                return
            end = _AFTER_BOUNDARY.match(body, place + len(line))
            if end and (place == 0 or body[place - 1] in b"\r\n"):
                if start is not None:
                    yield body[start:place], closed
                    if not self.work.take(_UNITS_A_PART):
                        return
                start = end.end()
                if end[1] is not None:
                    start, closed = None, closed + 1
            place = body.find(line, end.end() if end else place + 1)
        if start is not None:  # QUIRK: the closing boundary is missing, as in a truncated message
            if not closed:
                self.notes.append("multipart-unclosed:")
            yield body[start:], closed


def _leaf(block: HeaderBlock, body: bytes, path: tuple[str, ...], group: int, work: Work) -> Part:
    declared = parameters(block.first("content-type"), work)
    disposition = block.first("content-disposition")
    filename = parameters(disposition, work).get("filename") or declared.get("name", "")
    encoding = transfer_encoding(block.first("content-transfer-encoding"))
    if encoding in UUENCODED and not work.take(body.count(b"\n")):
        encoding = ""
    body, left_out = without_marks(body)
    content, broken = decode_transfer(body, encoding)
    notes, size = [broken] if broken else [], len(content) + (left_out * 3 // 4 if encoding == "base64" else left_out)
    textual = is_text_type(path[-1])
    if path[-1] == "text/plain" and b"begin " in content:
        content, uu_name = without_uuencoded(content)
        if uu_name:
            notes.append("uuencoded:")
            filename = filename or uu_name
    flowed = ""
    if declared.get("format", "").lower() == "flowed":
        flowed = "delsp" if declared.get("delsp", "").lower() == "yes" else "flowed"
    filename = filename[:_NAME_CHARS] + filename[_NAME_CHARS:][-_NAME_CHARS:]
    form = form_of(path[-1], first_word(disposition), filename) if content else Form.FILE
    if left_out and form is not Form.FILE:
        notes.append("limit:message_bytes")
    return Part(
        path=path,
        group=group,
        content=content if textual or form is not Form.FILE else b"",
        form=form,
        size=size,
        charset=declared.get("charset", "").lower(),
        disposition=first_word(disposition),
        filename=filename,
        flowed=flowed,
        notes=tuple(notes),
    )
