"""The body of a message as its reader is shown it, to a digest: parts in order, with their encodings undone.

Boundaries, transfer encodings, preambles and epilogues do not count: servers rewrite them. All else does, the media
types with their other parameters, names and dispositions of parts too. No two messages that a program shows as
different texts may have one digest, and programs differ in what they make of broken structure. So wherever one can
read it in two ways (two Content-Type fields, a boundary in a comment, text that only begins like a boundary line, a
multipart without a part), and past the limits below, **all that follows counts as it is written**.

A forwarded message is one part: its content counts as it is written.
"""

import hashlib
import re
from collections.abc import Sequence
from enum import Enum

from spamnb.identity.charsets import charset_of, is_ascii
from spamnb.identity.headers import UNKNOWN, PartHeader, ambiguous_from, fields_of, joined, part_header
from spamnb.identity.transfer import from_base64, from_quoted

_PARTS, _NESTING = 100, 10
_PART_HEAD, _PART_FIELDS = 8 << 10, 100  # bytes and fields of a part's header block

_MARK_END = re.compile(rb"(--)?[ \t]{0,200}(?=\n|\Z)")
_BEYOND_ASCII = re.compile(rb"=(?:[89A-Fa-f][0-9A-Fa-f]|1[Bb])")  # an escape of a byte outside ASCII, or of a shift
_UNDONE = frozenset({b"base64", b"quoted-printable"})
_NEWLINES = b"\n" * (64 << 10)


def _content(data: bytes, header: PartHeader) -> bytes:
    """The digest of a part's content and charset. Line ends of decoded text and newlines at the end do not count.

    Bytes are not made characters: a charset that is missing or wrong is guessed at in as many ways as there are
    programs, and servers that recode text are few. But the same bytes are another text in another charset, so its name
    counts, but for ASCII under the name of a charset that contains it.
    """
    broken_at = -1
    if header.encoding == b"base64":
        data, broken_at = from_base64(data)
    elif header.encoding == b"quoted-printable":
        data, broken_at = from_quoted(data.removesuffix(b"="))  # a soft line break whose line end is the boundary's
    if header.encoding not in _UNDONE:
        data = _with_line_ends(data)
    elif header.is_text:
        whole = _with_line_ends(data if broken_at < 0 else data[:broken_at])
        data, broken_at = (whole, -1) if broken_at < 0 else (whole + data[broken_at:], len(whole))
    data = data.rstrip(b"\n")
    charset = charset_of(header.charset)
    # Where an encoding is broken, or is none to some programs only, others may undo more of it.
    is_undone = header.encoding != UNKNOWN and (broken_at < 0 or _stays_ascii(data, broken_at, header))
    if is_undone and is_ascii(data, charset):
        charset = b""
    return sealed(hashlib.sha256(data).digest(), broken_at, charset)


def _stays_ascii(data: bytes, broken_at: int, header: PartHeader) -> bool:
    """Whether what is behind a break is ASCII however much of it is undone."""
    return header.encoding == b"quoted-printable" and _BEYOND_ASCII.search(data, broken_at) is None


def _with_line_ends(data: bytes) -> bytes:
    """Line ends as newlines. `\\r\\r\\n` is one too: a copy by IMAP makes `\\r\\n` of it."""
    return data.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n")


def sealed(digest: bytes, broken_at: int = -1, charset: bytes = b"") -> bytes:
    """The digest of some content, and how it was read: where its encoding broke, and its charset."""
    return digest + joined([b"%d" % broken_at, charset])


class Trimmed:
    """A digest of bytes that come in chunks as they are written, without the newlines at their end."""

    def __init__(self, digest: "hashlib._Hash | None" = None) -> None:
        self._hash = digest or hashlib.sha256()
        self._newlines = 0

    def feed(self, chunk: bytes) -> None:
        """More of them."""
        kept = chunk.rstrip(b"\n")
        if kept:
            while self._newlines:
                some = _NEWLINES[: self._newlines]
                self._hash.update(some)
                self._newlines -= len(some)
            self._hash.update(kept)
        self._newlines += len(chunk) - len(kept)

    def finish(self) -> bytes:
        """The digest, 32 bytes."""
        return self._hash.digest()


def show(root: PartHeader, body: bytes, digest: "hashlib._Hash") -> Trimmed | None:
    """Add to `digest` what a message's body shows; or give a digest of it as it is written, for the caller to add.

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
    """How a part is read, which counts where its content counts as it is written."""
    return [header.boundary, header.encoding if header.encoding in _UNDONE else b"", charset_of(header.charset)]


class _Level:
    """A multipart that is open: how its boundary lines begin, and where the next such text is."""

    __slots__ = ("closed", "has_empty", "mark", "place", "start")

    def __init__(self, boundary: bytes, start: int) -> None:
        self.mark = b"\n--" + boundary
        self.start = start  # of its body
        self.closed = False
        self.has_empty = False  # a part without content
        self.place = -1  # of the dashes of a mark, or the end of the text


class _In(Enum):
    """What is being read."""

    HEAD = 1  # of a part
    CONTENT = 2
    BETWEEN = 3  # before the first part of a multipart, or behind its last one
    NOTHING = 4  # any more


class _Walk:
    """One message's body: adds what is shown to `digest`.

    Lines are read with the newline before them, as the body is; a boundary line takes it along (RFC 2046, 5.1.1).
    """

    def __init__(self, root: PartHeader, body: bytes, digest: "hashlib._Hash") -> None:
        self._digest = digest
        self._text = body
        self._at = 0
        self._levels: list[_Level] = []
        self._parts = 1
        self._part: tuple[int, PartHeader] | None = None  # where the content at hand begins, if it counts
        self._where = _In.CONTENT
        self._open(root)
        while self._where is not _In.NOTHING:
            if self._where is _In.HEAD:
                self._read_head()
            else:
                self._read_content(*self._next_mark())

    def _next_mark(self) -> tuple[int, _Level | None]:
        """Where the next text is that may be a boundary line, and of which level; or the end of the text.

        In the middle of a line too: mutt reads 1,023 letters of a line at once, and takes what follows for another.
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
        if is_long or ambiguous_from(head) is not None:  # or there is a boundary line in it
            self._take_raw(start)
        else:
            self._at = end + 1 if has_end else end
            self._open(part_header(fields_of(head)))

    def _read_content(self, place: int, level: _Level | None) -> None:
        """Read what is no header, up to what may be a boundary line at `place`."""
        is_between = self._where is _In.BETWEEN
        line_end = self._text.find(b"\r" if is_between else b"\r--", self._at, place + 2)
        if line_end >= 0:  # to some programs, so that a boundary may be behind it
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
            self._take_raw(place, [b"between"] if level.closed else [])  # and not behind an opening line
        elif end[1] is not None and is_between and self._part is not None and level is self._levels[-1]:
            start, self._part = self._part[0], None  # a multipart that ends without a part
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
        """Begin a part whose header was read."""
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
        """End the part at hand, and all multiparts inside `level`, or all of them."""
        inside = self._levels.index(level) + 1 if level is not None else 0
        if self._where is _In.CONTENT or len(self._levels) > inside:
            self._end_part(end)
        if self._where is _In.CONTENT:
            self._digest.update(b")")
        self._part = None
        for left in self._levels[inside:]:
            if left.has_empty and not left.closed:  # mutt shows all of it, or from the empty part on, as it is written
                self._digest.update(b"~" + joined([left.mark, self._text[left.start : end]]))
                break  # those inside are in it
        self._digest.update(b")" * (len(self._levels) - inside))
        del self._levels[inside:]

    def _end_part(self, end: int) -> None:
        if self._part is not None:
            start, header = self._part
            content = self._text[start + 1 : end]
            if header.encoding not in _UNDONE and self._text.startswith(b"\n", end):
                content = content.removesuffix(b"\r")  # of the line end that is the boundary's
            if not content.strip(b"\n") and self._levels:
                self._levels[-1].has_empty = True
            self._digest.update(b"=" + _content(content, header))

    def _take_raw_in_part(self, place: int) -> None:
        """From here on, or from where a content begins whose encoding goes on behind it to other programs."""
        if self._part is None or self._part[1].encoding not in _UNDONE:
            self._take_raw(place)
        else:
            (start, header), self._part = self._part, None
            self._take_raw(start, _declared(header))

    def _take_raw(self, start: int, declared: Sequence[bytes] = ()) -> None:
        """From here on everything counts as it is written, with each boundary, and with what a part has `declared`."""
        self._end_part(start)
        self._digest.update(b"?" + joined([*(level.mark for level in self._levels), *declared]))
        raw = Trimmed()
        raw.feed(self._text[start:])
        self._digest.update(b"!" + sealed(raw.finish()))
        self._where = _In.NOTHING


_AS_WRITTEN = PartHeader(b"")
