"""The body of a message as its reader sees it, for a digest: parts in order, with their encodings undone.

Boundaries, transfer encodings, preambles and epilogues do not count: servers rewrite them. Everything else counts, also
the other parameters of media types, and the names and dispositions of parts. If a program shows two messages as
different texts, they must have different digests, and programs read broken structure in different ways. Examples are a
second Content-Type field, a boundary in a comment, text that only begins like a boundary line, or a multipart
without a part. From the place where programs may differ, and from the limits below, **everything counts as written**.

A forwarded message is one part: its content counts as written.
"""

import hashlib
import re
from collections.abc import Sequence
from enum import Enum

from spamnb.identity.charsets import charset_of, is_ascii
from spamnb.identity.headers import UNKNOWN, PartHeader, ambiguous_from, fields_of, joined, part_header
from spamnb.identity.transfer import from_base64, from_quoted

_PARTS, _NESTING = 100, 10
_PART_HEAD, _PART_FIELDS = 8 << 10, 100  # the largest header block of a part: bytes and fields

_MARK_END = re.compile(rb"(--)?[ \t]{0,200}(?=\n|\Z)")
_BEYOND_ASCII = re.compile(rb"=(?:[89A-Fa-f][0-9A-Fa-f]|1[Bb])")  # the escape of a byte outside ASCII, or of a shift
_UNDONE = frozenset({b"base64", b"quoted-printable"})
_NEWLINES = b"\n" * (64 << 10)


def _content(data: bytes, header: PartHeader) -> bytes:
    """Return the digest of a part's content and charset. Decoded line ends and newlines at the end do not count.

    Bytes are not turned into characters: programs guess a missing or wrong charset in different ways, and few servers
    recode text. But the same bytes are another text in another charset, so the charset's name counts. The exception is
    ASCII text under the name of a charset that contains ASCII.
    """
    broken_at = -1
    if header.encoding == b"base64":
        data, broken_at = from_base64(data)
    elif header.encoding == b"quoted-printable":
        data, broken_at = from_quoted(data.removesuffix(b"="))  # a soft break; its line end belongs to the boundary
    if header.encoding not in _UNDONE:
        data = _with_line_ends(data)
    elif header.is_text:
        whole = _with_line_ends(data if broken_at < 0 else data[:broken_at])
        data, broken_at = (whole, -1) if broken_at < 0 else (whole + data[broken_at:], len(whole))
    data = data.rstrip(b"\n")
    charset = charset_of(header.charset)
    # Some programs may undo more than we do if an encoding is broken, or if only some of them see an encoding.
    is_undone = header.encoding != UNKNOWN and (broken_at < 0 or _stays_ascii(data, broken_at, header))
    if is_undone and is_ascii(data, charset):
        charset = b""
    return sealed(hashlib.sha256(data).digest(), broken_at, charset)


def _stays_ascii(data: bytes, broken_at: int, header: PartHeader) -> bool:
    """Tell whether the text after a break is ASCII, however much of it a program undoes."""
    return header.encoding == b"quoted-printable" and _BEYOND_ASCII.search(data, broken_at) is None


def _with_line_ends(data: bytes) -> bytes:
    """Turn line ends into newlines. `\\r\\r\\n` is a line end too: a copy by IMAP turns it into `\\r\\n`."""
    return data.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n")


def sealed(digest: bytes, broken_at: int = -1, charset: bytes = b"") -> bytes:
    """Return the digest of content and of the way it was read: where its encoding broke, and its charset."""
    return digest + joined([b"%d" % broken_at, charset])


class Trimmed:
    """A digest of bytes that come in chunks; they count as written, except for the newlines at their end."""

    def __init__(self, digest: "hashlib._Hash | None" = None) -> None:
        self._hash = digest or hashlib.sha256()
        self._newlines = 0

    def feed(self, chunk: bytes) -> None:
        """Add a chunk."""
        kept = chunk.rstrip(b"\n")
        if kept:
            while self._newlines:
                some = _NEWLINES[: self._newlines]
                self._hash.update(some)
                self._newlines -= len(some)
            self._hash.update(kept)
        self._newlines += len(chunk) - len(kept)

    def finish(self) -> bytes:
        """Return the digest, 32 bytes."""
        return self._hash.digest()


def show(root: PartHeader, body: bytes, digest: "hashlib._Hash") -> Trimmed | None:
    """Add to `digest` what a message's body shows; or return a digest of it as written, for the caller to add.

    The body begins with the newline before it.
    """
    if root.is_ambiguous:
        digest.update(_framed_part(root) + b"?" + joined(_declared(root)))
        raw = Trimmed()
        raw.feed(body)
        return raw
    if root.boundary:
        _Walk(root, body, digest)
    else:
        digest.update(_framed_part(root) + b"=" + _content(body[1:], root) + b")")
    return None


def _framed_part(header: PartHeader) -> bytes:
    return b"(%d:" % len(header.frame) + header.frame


def _declared(header: PartHeader) -> list[bytes]:
    """Return how a part is read. This counts if the part's content counts as written."""
    return [header.boundary, header.encoding if header.encoding in _UNDONE else b"", charset_of(header.charset)]


class _Level:
    """An open multipart: how its boundary lines begin, and the place of the next such text."""

    __slots__ = ("closed", "has_empty", "mark", "place", "start")

    def __init__(self, boundary: bytes, start: int) -> None:
        self.mark = b"\n--" + boundary
        self.start = start  # of its body
        self.closed = False
        self.has_empty = False  # it has a part without content
        self.place = -1  # of the dashes of the next mark, or the end of the text


class _In(Enum):
    """The piece that is being read."""

    HEAD = 1  # the header of a part
    CONTENT = 2
    BETWEEN = 3  # before the first part of a multipart, or after its last one
    NOTHING = 4  # nothing more


class _Walk:
    """A walk through one message's body: it adds to `digest` what a reader sees.

    Each line is read with the newline before it; a boundary line includes that newline (RFC 2046, 5.1.1).
    """

    def __init__(self, root: PartHeader, body: bytes, digest: "hashlib._Hash") -> None:
        self._digest = digest
        self._text = body
        self._at = 0
        self._levels: list[_Level] = []
        self._parts = 1
        self._part: tuple[int, PartHeader] | None = None  # where the present content begins, if it counts
        self._where = _In.CONTENT
        self._open(root)
        while self._where is not _In.NOTHING:
            if self._where is _In.HEAD:
                self._read_head()
            else:
                self._read_content(*self._next_mark())

    def _next_mark(self) -> tuple[int, _Level | None]:
        """Return the place and level of the next text that may be a boundary line, or the end of the text.

        It may be in the middle of a line: mutt reads 1,023 letters of a line at once, and takes the rest for a new
        line.
        """
        place, found = len(self._text), None
        for level in self._levels:
            if level.place < self._at:
                level.place = self._text.find(level.mark[1:], self._at)
                if level.place < 0:
                    level.place = len(self._text)
            if level.place < place:
                place, found = level.place, level
        return place, found

    def _read_head(self) -> None:
        """Read the header block of a part, up to a blank line or the end of the text."""
        start, most = self._at, self._at + _PART_HEAD
        end = self._text.find(b"\n\n", start, most + 2)
        has_end = end >= 0
        end = end if has_end else min(len(self._text), most + 1)
        head = self._text[start:end]
        folds = head.count(b"\n ") + head.count(b"\n\t")
        is_long = len(head) > _PART_HEAD or head.count(b"\n") - folds > _PART_FIELDS
        if is_long or ambiguous_from(head) is not None:  # or a boundary line is in it
            self._take_raw(start)
        else:
            self._at = end + 1 if has_end else end
            self._open(part_header(fields_of(head)))

    def _read_content(self, place: int, level: _Level | None) -> None:
        """Read text that is not a header, up to a possible boundary line at `place`."""
        is_between = self._where is _In.BETWEEN
        line_end = self._text.find(b"\r" if is_between else b"\r--", self._at, place + 2)
        if line_end >= 0:  # a line end to some programs, so a boundary may follow
            self._take_raw_in_part(line_end)
            return
        if level is None:
            self._leave(None, place)
            self._where = _In.NOTHING
            return
        begins_line = self._text.startswith(b"\n", place - 1)
        place -= begins_line
        end = _MARK_END.match(self._text, place + len(level.mark)) if begins_line else None
        if end is None and not level.closed:
            self._take_raw_in_part(place)
        elif end is None or level.closed or self._parts == _PARTS:
            self._take_raw(place, [b"between"] if level.closed else [])  # and not after an opening line
        elif end[1] is not None and is_between and self._part is not None and level is self._levels[-1]:
            start, self._part = self._part[0], None  # this multipart ends without a part
            self._take_raw(start, [b"between"])
        else:
            self._leave(level, place)
            self._at = end.end()
            if end[1] is not None:
                level.closed = True
                self._where = _In.BETWEEN
            else:
                self._parts += 1
                self._where = _In.HEAD

    def _open(self, header: PartHeader) -> None:
        """Begin a part after its header."""
        self._digest.update(_framed_part(header))
        self._part = None
        if header.boundary and not header.is_ambiguous:
            level = _Level(header.boundary, self._at)
            marks = [other.mark for other in self._levels]
            if len(marks) < _NESTING and not any(m.startswith(level.mark) or level.mark.startswith(m) for m in marks):
                self._levels.append(level)
                self._where, self._part = _In.BETWEEN, (self._at, _AS_WRITTEN)
                return
        if header.boundary or header.is_ambiguous:
            self._take_raw(self._at, _declared(header))
        else:
            self._where, self._part = _In.CONTENT, (self._at, header)

    def _leave(self, level: _Level | None, end: int) -> None:
        """End the present part, and all multiparts inside `level`; without a level, all of them."""
        inside = self._levels.index(level) + 1 if level is not None else 0
        if self._where is _In.CONTENT or len(self._levels) > inside:
            self._end_part(end)
        if self._where is _In.CONTENT:
            self._digest.update(b")")
        self._part = None
        for left in self._levels[inside:]:
            if left.has_empty and not left.closed:  # mutt shows all of it, or all after the empty part, as written
                self._digest.update(b"~" + joined([left.mark, self._text[left.start : end]]))
                break  # this includes those inside
        self._digest.update(b")" * (len(self._levels) - inside))
        del self._levels[inside:]

    def _end_part(self, end: int) -> None:
        if self._part is not None:
            start, header = self._part
            content = self._text[start + 1 : end]
            if header.encoding not in _UNDONE and self._text.startswith(b"\n", end):
                content = content.removesuffix(b"\r")  # of the line end that belongs to the boundary
            if not content.strip(b"\n") and self._levels:
                self._levels[-1].has_empty = True
            self._digest.update(b"=" + _content(content, header))

    def _take_raw_in_part(self, place: int) -> None:
        """Count everything as written from `place`, or, if programs may decode beyond it, from the content's start."""
        if self._part is None or self._part[1].encoding not in _UNDONE:
            self._take_raw(place)
        else:
            (start, header), self._part = self._part, None
            self._take_raw(start, _declared(header))

    def _take_raw(self, start: int, declared: Sequence[bytes] = ()) -> None:
        """Count everything from here as written, with each boundary, and with the part's `declared` values."""
        self._end_part(start)
        self._digest.update(b"?" + joined([*(level.mark for level in self._levels), *declared]))
        raw = Trimmed()
        raw.feed(self._text[start:])
        self._digest.update(b"!" + sealed(raw.finish()))
        self._where = _In.NOTHING


_AS_WRITTEN = PartHeader(b"")
