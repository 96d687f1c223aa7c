"""The structure of a message: header fields, and body parts with their transfer encoding undone (RFC 2045-2049).

Header blocks are read by the standard `email` parser. Bodies are split at their boundaries here: the standard
parser matches every line against the boundary of every enclosing multipart, and recurses a level at a time, so
that a hostile message of a thousand levels costs it minutes or its stack; finding a literal boundary is linear,
and levels and parts are counted as they are met.
"""

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message as HeaderBlock
from email.parser import BytesHeaderParser

from spamnb.mail.charsets import decode
from spamnb.mail.limits import Limits

_HEADER_PARSER = BytesHeaderParser()
_BLANK_LINE = re.compile(rb"\r?\n[ \t]*\r?\n|\r\r")
_LEADING_BLANK = re.compile(rb"\A(?:[ \t]*\r?\n)+")
_NOT_BASE64 = bytes(c for c in range(256) if not (chr(c).isalnum() and c < 128) and c not in b"+/")
_UU_BEGIN = re.compile(rb"^begin [0-7]{3,4} ([^\r\n]{1,200})\r?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Part:
    """A leaf of the MIME tree.

    `path` holds the media types from the root down to this part's own. `content` is the body with its transfer
    encoding undone, for text parts only; of other parts only the size in bytes is kept. `notes` say what was
    odd: `base64-broken`, `charset-wrong`, …
    """

    path: tuple[str, ...]
    group: int  # the same number for the alternatives of one multipart/alternative, else 0
    content: bytes
    size: int
    charset: str
    encoding: str
    disposition: str
    filename: str
    flowed: str  # "", "flowed" or "delsp" (RFC 3676)
    notes: tuple[str, ...]

    @property
    def media_type(self) -> str:
        """The part's own media type, in lower case."""
        return self.path[-1]


@dataclass(frozen=True, slots=True)
class Entity:
    """A header block and all leaves below it; `inner` are the header fields of forwarded messages."""

    fields: tuple[tuple[str, str], ...]
    inner: tuple[tuple[str, str], ...]
    parts: tuple[Part, ...]
    notes: tuple[str, ...]


def parse_entity(raw: bytes, limits: Limits) -> Entity:
    """Read a whole message. Any bytes at all yield an Entity."""
    walk = _Walk(limits)
    if raw.startswith((b"From ", b">From ")):  # QUIRK: an mbox separator that a delivery agent left in the file
        raw = raw.partition(b"\n")[2]
    raw = _LEADING_BLANK.sub(b"", raw, count=1)
    block, body = walk.split(raw)
    parts = tuple(walk.leaves(block, body, (), 0, 0))
    return Entity(walk.fields(block), tuple(walk.inner), parts, tuple(dict.fromkeys(walk.notes)))


class _Walk:
    """One reading of one message: what has been met so far, against the limits."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.notes: list[str] = []
        self.inner: list[tuple[str, str]] = []
        self.parts = 0
        self.groups = 0

    def split(self, raw: bytes) -> tuple[HeaderBlock, bytes]:
        """Part the header block from the body at the first blank line (RFC 5322, 2.1)."""
        blank = _BLANK_LINE.search(raw)
        if raw.startswith((b"\n", b"\r\n")):
            block, body = b"", raw
        elif blank is None:
            block, body = raw, b""
        else:
            block, body = raw[: blank.start() + 1], raw[blank.end() :]
        if len(block) > self.limits.header_bytes:
            self.notes.append("limit:header_bytes")
            block = block[: self.limits.header_bytes]
        header = _HEADER_PARSER.parsebytes(block)
        stray = header.get_payload()
        if isinstance(stray, str) and stray:  # QUIRK: a line without a colon ends the block; what follows is body
            self.notes.append("header-broken")
            body = stray.encode("utf-8", "surrogateescape") + b"\n\n" + body
        return header, body

    def fields(self, block: HeaderBlock) -> tuple[tuple[str, str], ...]:
        """Names in lower case, and values as they stand: bytes outside ASCII are surrogates."""
        items = [(name.lower(), str(value)) for name, value in block.raw_items()]
        if len(items) > self.limits.header_fields:
            self.notes.append("limit:header_fields")
            items = items[: self.limits.header_fields]
        return tuple((name, value[: self.limits.field_chars]) for name, value in items)

    def leaves(self, block: HeaderBlock, body: bytes, above: tuple[str, ...], group: int, depth: int) -> Iterator[Part]:
        """The leaves of one entity, in order."""
        self.parts += 1
        if self.parts > self.limits.parts:
            self.notes.append("limit:parts")
            return
        media_type = _media_type(block)
        path = (*above, media_type)
        nested = media_type.startswith("multipart/") or media_type == "message/rfc822"
        if nested and depth >= self.limits.nesting:
            self.notes.append("limit:nesting")
        elif media_type == "message/rfc822":
            inner, inner_body = self.split(decode_transfer(body, _encoding(block))[0])
            self.inner.extend(self.fields(inner))
            yield from self.leaves(inner, inner_body, path, group, depth + 1)
            return
        elif nested:
            sections = list(self.sections(block, body))
            if sections:
                if media_type == "multipart/alternative":
                    self.groups += 1
                    group = self.groups
                for section in sections:
                    if self.parts > self.limits.parts:
                        break
                    inner, inner_body = self.split(section)
                    yield from self.leaves(inner, inner_body, path, group, depth + 1)
                return
            self.notes.append("multipart-broken")
        yield _leaf(block, body, path, group)

    def sections(self, block: HeaderBlock, body: bytes) -> Iterator[bytes]:
        """The bytes between the boundary lines (RFC 2046, 5.1.1); the preamble and the epilogue are dropped."""
        boundary = _parameter(block, "boundary")
        if not boundary or len(boundary) > 200:
            return
        mark = re.compile(
            rb"^--" + re.escape(boundary.encode("utf-8", "surrogateescape")) + rb"(--)?[ \t]*\r?(?:\n|\Z)", re.MULTILINE
        )
        start = None
        for count, found in enumerate(mark.finditer(body)):
            if start is not None:
                yield body[start : found.start()]
            start = found.end()
            if found[1] or count > self.limits.parts:
                return
        if start is not None:  # QUIRK: the closing boundary is missing, as in a truncated message
            self.notes.append("multipart-unclosed")
            yield body[start:]


def _leaf(block: HeaderBlock, body: bytes, path: tuple[str, ...], group: int) -> Part:
    encoding = _encoding(block)
    filename = _filename(block)
    content, broken = decode_transfer(body, encoding)
    notes = [broken] if broken else []
    size = len(content)
    textual = path[-1].startswith("text/") or path[-1] in {"application/ics", "application/xhtml+xml"}
    if textual and b"begin " in content:
        content, uu_name = without_uuencoded(content)
        if uu_name:
            notes.append("uuencoded")
            filename = filename or uu_name
    flowed = ""
    if _parameter(block, "format").lower() == "flowed":
        flowed = "delsp" if _parameter(block, "delsp").lower() == "yes" else "flowed"
    return Part(
        path=path,
        group=group,
        content=content if textual else b"",
        size=size,
        charset=_parameter(block, "charset").lower(),
        encoding=encoding,
        disposition=_first_word(block, "content-disposition"),
        filename=filename,
        flowed=flowed,
        notes=tuple(notes),
    )


def decode_transfer(body: bytes, encoding: str) -> tuple[bytes, str]:
    """Undo a Content-Transfer-Encoding (RFC 2045, 6); broken input yields what can be had, and a note.

    >>> decode_transfer(b"QUJD*RA", "base64")
    (b'ABCD', 'base64-broken')
    """
    if encoding == "quoted-printable":
        return binascii.a2b_qp(body), ""
    if encoding == "base64":
        return _decode_base64(body)
    if encoding in {"x-uuencode", "uuencode", "x-uue"}:
        return _decode_uu(body), ""
    return body, ""


def _decode_base64(body: bytes) -> tuple[bytes, str]:
    try:
        return binascii.a2b_base64(b"".join(body.split()), strict_mode=True), ""
    except binascii.Error:
        letters = body.translate(None, _NOT_BASE64)
        letters = letters[: len(letters) - (len(letters) % 4 == 1)]
        return binascii.a2b_base64(letters + b"=" * (-len(letters) % 4)), "base64-broken"


def _decode_uu(body: bytes) -> bytes:
    lines = []
    for line in body.splitlines():
        if line.startswith((b"begin ", b"end")):
            continue
        try:
            lines.append(binascii.a2b_uu(line))
        except binascii.Error:
            continue
    return b"".join(lines)


def without_uuencoded(content: bytes) -> tuple[bytes, str]:
    """Text without the uuencoded files that stand in it, and the name of the first one ("" if there is none)."""
    kept, name, position = [], "", 0
    for begin in _UU_BEGIN.finditer(content):
        if begin.start() < position:
            continue
        end = content.find(b"\nend", begin.end())
        if end < 0:
            break
        kept.append(content[position : begin.start()])
        name = name or begin[1].decode("utf-8", "replace")
        position = end + 4
    kept.append(content[position:])
    return b"".join(kept), name


def _media_type(block: HeaderBlock) -> str:
    try:
        found = block.get_content_type()
    except Exception:  # any fault of the standard parser in a stranger's field is no reason to stop
        return "text/plain"
    return found if len(found) <= 80 else "text/plain"


def _encoding(block: HeaderBlock) -> str:
    return _first_word(block, "content-transfer-encoding")


def _first_word(block: HeaderBlock, name: str) -> str:
    """The field's value before any parameter or comment, in lower case."""
    value = str(block.get(name, ""))[:200]
    return re.split(r"[;(\s]", value.strip().lower(), maxsplit=1)[0].strip("'\"")


def _parameter(block: HeaderBlock, name: str) -> str:
    """A parameter of Content-Type, with RFC 2231 continuations and charsets undone; "" if there is none."""
    try:
        value = block.get_param(name)
        if isinstance(value, tuple):
            return decode(value[2].encode("latin-1", "replace"), value[0] or "")[0]
        return str(value).strip() if value is not None else ""
    except Exception:  # as in _media_type
        return ""


def _filename(block: HeaderBlock) -> str:
    try:
        return (block.get_filename() or "")[:200]
    except Exception:  # as in _media_type
        return ""
