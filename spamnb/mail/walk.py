"""The body of a message as its reader is shown it, to a digest: parts in order, from a stream, in bounded memory.

Boundaries, transfer encodings, preambles and epilogues do not count: servers rewrite them. All else does, the media
types with their other parameters, names and dispositions of parts too. No two messages that a program shows as
different texts may have one digest, and programs differ in what they make of broken structure. So wherever one can
read it in two ways (two Content-Type fields, a boundary in a comment, text that begins like a boundary line outside
of the parts), and past the limits below, **all that follows counts as it stands**.

A forwarded message is one part: its content counts as it is written, once its own transfer encoding is undone.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from spamnb.mail.fields import media_type, plain_parameters
from spamnb.mail.shown import PLAIN_ENCODINGS, ShownPart

_PARTS, _NESTING = 100, 10  # as the reader's limits; what lies past them counts as it stands
_FALSE_MARKS = 1000  # lines that only begin like a boundary, before the rest counts as it stands
_DECODED = 16 << 20  # bytes; quoted-printable takes 15 ms a megabyte, what counts as it stands takes 2
_CACHED = 200  # bytes of fields whose reading is kept
_PART_HEAD = 64 << 10  # bytes of a part's header block
_LINE = 1000  # bytes of a boundary line with the blanks behind it; what is nearer to the stream's present end waits
_MARK_END = re.compile(rb"(--)?[ \t]{0,200}(?=\n|\Z)")
_FIELD = re.compile(
    rb"\n(content-(?:type|transfer-encoding|disposition|id|location|base|description)):[ \t]*"
    rb"([^\n]*(?:\n[ \t][^\n]*)*)",
    re.IGNORECASE,
)
_ODD_LINE = re.compile(rb"\n(?:--|(?![!-9;-~]+:|[ \t]+[^ \t\n]|\Z))")
_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
# Others are changed by servers (NUL, bytes outside ASCII) or read by programs in different ways (blanks).
_BOUNDARY = re.compile(r"[!-~]{1,200}")
_BLANK_IN_BOUNDARY = re.compile(rb'boundary="[^"]*\s', re.IGNORECASE)
_KNOWN_ENCODINGS = PLAIN_ENCODINGS | {"base64", "quoted-printable"}

Fields = Mapping[bytes, Sequence[bytes]]


class Claims(NamedTuple):
    """What the header of a part says of it: `frame` counts, the rest tells how to read it."""

    frame: bytes
    boundary: bytes = b""
    encoding: str = ""
    charset: str = ""
    is_text: bool = True
    is_odd: bool = False  # programs may differ in what they make of it


def claims(fields: Fields) -> Claims:
    """Read the Content-… fields of a part, by their names in lower case, white space collapsed."""
    if not fields:
        return _PLAIN_TEXT
    key = tuple([(name, *values) for name, values in fields.items()])
    if sum([len(value) for values in fields.values() for value in values]) <= _CACHED:
        return _usual_claims(key)
    return _claims(key)


def _claims(pairs: tuple[tuple[bytes, ...], ...]) -> Claims:
    fields: Fields = {name: values for name, *values in pairs}
    said = [name + b":" + value for name in sorted(fields) if name not in _READ for value in fields[name]]
    encoding, known = _encoding(fields.get(b"content-transfer-encoding", ()))
    if not known:
        said += [b"encoding:" + value for value in fields[b"content-transfer-encoding"]]
    types, dispositions = fields.get(b"content-type", ()), fields.get(b"content-disposition", ())
    value, parameters = _read(types)
    disposition, more = _read(dispositions)
    if more is None:
        said += [b"disposition:" + each for each in dispositions]
    else:
        said.append(_framed(b"disposition", disposition.strip().lower(), {"filename": more.get("filename", "")}))
    kind = media_type(value)
    clear = not types or (len(types) == 1 and _TYPE.fullmatch(value.strip()) is not None)
    multipart, is_text = kind.startswith("multipart/"), kind.startswith("text/")
    if parameters is None or not clear:
        said += [b"type:" + each for each in types]
        return Claims(_joined(said), b"", encoding if clear else "", "", is_text, multipart or not clear)
    boundary = parameters.pop("boundary", "") if multipart else ""
    charset = "" if multipart else parameters.pop("charset", "").lower()
    said.append(_framed(b"type", kind, parameters))
    if multipart and (_BOUNDARY.fullmatch(boundary) is None or _BLANK_IN_BOUNDARY.search(types[0])):
        return Claims(_joined([*said, *types]), b"", encoding, charset, is_text, True)
    is_odd = multipart and (not known or encoding not in PLAIN_ENCODINGS)
    return Claims(_joined(said), boundary.encode("ascii"), encoding, charset, is_text, is_odd)


_usual_claims = lru_cache(maxsize=512)(_claims)  # two of three parts have a header that was met before
_READ = frozenset({b"content-type", b"content-transfer-encoding", b"content-disposition"})


def _encoding(values: Sequence[bytes]) -> tuple[str, bool]:
    """The transfer encoding, and whether all programs know it."""
    if not values:
        return "", True
    name = values[0].decode("ascii", "replace").lower()
    known = len(values) == 1 and name in _KNOWN_ENCODINGS
    return name if known else "", known


def _read(values: Sequence[bytes]) -> tuple[str, dict[str, str] | None]:
    """A field's value before its parameters, and these; None for them where programs may differ in reading them."""
    if not values:
        return "", {}
    text = values[0].decode("ascii", "surrogateescape")
    pairs = plain_parameters(text) if len(values) == 1 else None
    if pairs is None or len(found := dict(pairs)) < len(pairs):
        return text.partition(";")[0], None
    return text.partition(";")[0], found


def _framed(name: bytes, value: str, parameters: Mapping[str, str]) -> bytes:
    said = [value, *(f"{key}={parameters[key]}" for key in sorted(parameters) if parameters[key])]
    return name + b"=" + _joined([each.encode("utf-8", "surrogateescape") for each in said])


def _joined(said: Sequence[bytes]) -> bytes:
    return b"".join([b"%d:" % len(each) + each for each in said])


_PLAIN_TEXT = Claims(_joined([_framed(b"disposition", "", {}), _framed(b"type", "text/plain", {})]))


class _Level:
    """A multipart that is open: how its boundary lines begin, and where in the stream the next of them is."""

    __slots__ = ("closed", "mark", "place", "sections", "sought")

    def __init__(self, boundary: bytes) -> None:
        self.mark = b"\n--" + boundary
        self.sections = 0
        self.closed = False
        self.place = -1  # -1: none before `sought`
        self.sought = 0


class _In(Enum):
    """What is being read."""

    HEAD = 1  # of a part
    CONTENT = 2
    BETWEEN = 3  # before the first part of a multipart, or behind its last one


class Walk:
    """One message's body. It is fed with chunks whose line ends are newlines, and adds what is shown to `digest`.

    Lines are read with the newline before them: what is at hand begins with it, and a boundary line takes the newline
    before it along (RFC 2046, 5.1.1).
    """

    def __init__(self, root: Claims, digest: "hashlib._Hash") -> None:
        self._digest = digest
        self._buffer = b"\n"
        self._start = 0  # of the buffer, in the stream
        self._at = 0  # what of the buffer is done
        self._levels: list[_Level] = []
        self._parts = 1
        self._false_marks = 0
        self._charset = ""
        self._where = _In.CONTENT
        self._is_first = True  # the newline at hand is that before the content
        self._part: ShownPart | None = None  # the content of a part, or what stands before a multipart's first one
        self._raw: ShownPart | None = None  # all that follows, once it counts as it stands
        self._open(root)

    def feed(self, chunk: bytes) -> None:
        """More of the body."""
        self._add(chunk)
        if self._raw is None and len(self._buffer) > 2 * _LINE:
            self._read(len(self._buffer) - _LINE, is_end=False)

    def finish(self, chunk: bytes = b"") -> None:
        """The last of the body."""
        self._add(chunk)
        if self._raw is None:
            self._read(len(self._buffer), is_end=True)
        if self._raw is not None:
            self._digest.update(b"!" + self._raw.finish(""))
        else:
            self._leave(-1)

    def _add(self, chunk: bytes) -> None:
        room = _DECODED - self._start - len(self._buffer)
        if self._raw is None and len(chunk) > room:
            self._buffer += chunk[:room]
            self._read(len(self._buffer) - _LINE, is_end=False)
            if self._raw is None:
                self._take_raw(self._at)
            chunk = chunk[room:]
        if self._raw is None:
            self._buffer += chunk
        else:
            self._raw.feed(chunk)

    def _read(self, safe: int, is_end: bool) -> None:
        """Read on. Nothing is decided of what begins at or behind `safe`, since more of it may come."""
        going_on = True
        while going_on and self._raw is None:
            mark = self._next_mark(safe)
            going_on = self._head(mark, safe, is_end) if self._where is _In.HEAD else self._content(mark, safe)
        self._buffer = self._buffer[self._at :]
        self._start += self._at
        self._at = 0

    def _next_mark(self, safe: int) -> tuple[int, int] | None:
        """Where the next line begins that looks like a boundary, and the number of its level."""
        found = None
        for number, level in enumerate(self._levels):
            if level.place < self._start + self._at:
                start = max(level.sought - self._start, self._at)
                place = self._buffer.find(level.mark, start)
                if place < 0:
                    level.place, level.sought = -1, self._start + max(start, len(self._buffer) - len(level.mark) + 1)
                else:
                    level.place = self._start + place
            if level.place >= 0 and level.place - self._start < (safe if found is None else found[0]):
                found = (level.place - self._start, number)
        return found

    def _head(self, mark: tuple[int, int] | None, safe: int, is_end: bool) -> bool:
        """Read the header block of a part; False where more of it must come first."""
        blank = self._buffer.find(b"\n\n", self._at, safe + is_end)
        if mark is not None and (blank < 0 or mark[0] < blank):
            end = body = mark[0]
        elif blank >= 0:
            end, body = blank, blank + 1
        elif is_end or safe - self._at > _PART_HEAD:
            end = body = safe
        else:
            return False
        head = self._buffer[self._at : end]
        if len(head) > _PART_HEAD or odd_from(_ODD_LINE, head) is not None:
            self._take_raw(self._at)
        else:
            self._at = body
            self._open(claims(fields_of(_FIELD, head)))
        return True

    def _content(self, mark: tuple[int, int] | None, safe: int) -> bool:
        """Read what is no header up to the next boundary line; False where it is all done."""
        if self._where is _In.BETWEEN:
            line_end = self._buffer.find(b"\r", self._at, safe if mark is None else mark[0])
            if line_end >= 0:  # to some programs, so that a boundary may stand behind it
                self._emit(line_end)
                self._take_raw(line_end)
                return True
        if mark is None:
            self._emit(safe)
            return False
        place, number = mark
        level = self._levels[number]
        end = _MARK_END.match(self._buffer, place + len(level.mark))
        if end is None and self._where is _In.CONTENT and self._false_marks < _FALSE_MARKS:
            self._false_marks += 1
            self._emit(place + 1)
            return True
        self._emit(place)
        if end is None or level.closed or self._parts == _PARTS:
            self._take_raw(place)
            return True
        self._leave(number)
        self._at = end.end()
        if end[1] is not None:
            level.closed = True
            self._where, self._part = _In.BETWEEN, None
        else:
            level.sections += 1
            self._parts += 1
            self._where, self._part = _In.HEAD, None
        return True

    def _open(self, found: Claims) -> None:
        """Begin a part whose header was read."""
        self._digest.update(b"(%d:" % len(found.frame) + found.frame)
        self._charset = found.charset
        self._is_first = True
        if found.is_odd:
            self._take_raw(self._at, found.boundary)
        elif found.boundary:
            level = _Level(found.boundary)
            marks = [other.mark for other in self._levels]
            if len(marks) == _NESTING or any(m.startswith(level.mark) or level.mark.startswith(m) for m in marks):
                self._take_raw(self._at, found.boundary)
                return
            self._levels.append(level)
            self._where, self._part = _In.BETWEEN, ShownPart("", is_text=True)
        else:
            self._where, self._part = _In.CONTENT, ShownPart(found.encoding, found.is_text)

    def _emit(self, end: int) -> None:
        """Take what stands before `end` as content."""
        if end <= self._at:
            return
        if self._part is not None:
            self._part.feed(self._buffer[self._at + self._is_first : end])
        self._is_first = False
        self._at = end

    def _leave(self, number: int) -> None:
        """End the part that is read, and all multiparts inside level `number`."""
        if self._part is not None and (self._where is _In.CONTENT or len(self._levels) - 1 > number):
            self._digest.update(b"=" + self._part.finish(self._charset))
        if self._where is _In.CONTENT:
            self._digest.update(b")")
        self._part = None
        while len(self._levels) - 1 > number:
            self._levels.pop()
            self._digest.update(b")")

    def _take_raw(self, start: int, boundary: bytes = b"") -> None:
        """From here on everything counts as it stands, and each boundary with it; `boundary` is of no level yet."""
        if self._part is not None:
            self._digest.update(b"=" + self._part.finish(self._charset))
        self._digest.update(b"?" + _joined([*(level.mark for level in self._levels), boundary]))
        self._part = None
        self._raw = ShownPart("", is_text=True)
        self._raw.feed(self._buffer[start:])
        self._at = len(self._buffer)


def odd_from(pattern: re.Pattern[bytes], head: bytes) -> int | None:
    """Where a header block begins to be read in more than one way; None where all programs read it alike."""
    odd = pattern.search(head)
    place = head.find(b"\r", 0, odd.start() if odd else len(head))
    return place if place >= 0 else odd.start() if odd else None


def fields_of(pattern: re.Pattern[bytes], head: bytes) -> dict[bytes, list[bytes]]:
    """The fields of a header block that a pattern looks for, by name in lower case; white space in them collapsed.

    But for what may stand in quotes, as a boundary does: its blanks count.
    """
    found: dict[bytes, list[bytes]] = {}
    for name, value in pattern.findall(head):
        lower = name.lower()
        is_quoted = lower == b"content-type" and b'"' in value
        found.setdefault(lower, []).append(value.replace(b"\n", b"").strip() if is_quoted else b" ".join(value.split()))
    return found
