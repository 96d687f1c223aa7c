"""Header blocks, read as all programs read them: what of them counts for a message's identity.

Where programs may differ in what they make of a header, it counts as it is written, and the part is ambiguous.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

_CACHED = 200  # bytes of fields whose reading is kept: most parts have a header that was met before
_ENVELOPE = re.compile(rb"(?:>?From [^\n]*\n)*")  # an mbox's, of which procmail keeps a second one (RFC 4155)
_BLANK_LINES = re.compile(rb"\A[ \t\r\n]*\n")
# Each pattern begins with a line end, which is searched for as a literal: faster than `^`.
_FIELD = re.compile(
    rb"\n(?=[a-z])(message-id|date|from|subject|to|mime-version"
    rb"|content-(?:type|transfer-encoding|disposition|id|location|base|description)):[ \t]*"
    rb"([^\n]*(?:\n[ \t][^\n]*)*)",
    re.IGNORECASE,
)
# What programs read in more than one way: a line that to some of them ends the header; one like a boundary; returns,
# which may end a line.
_AMBIGUOUS = re.compile(rb"\n(?:--|(?![!-9;-~]+:|[ \t]|\Z))")
_TYPE = re.compile(rb"[\w.+-]+/[\w.+-]+")
_PARAMETER = re.compile(rb";\s*([A-Za-z-]+)=(?:([^\s\"'\\*%()<>;=]+)|\"([^\"\\;]*)\")\s*(?=;|\Z)")
# Others are changed by servers (NUL, bytes outside ASCII) or read by programs in different ways (blanks).
_BOUNDARY = re.compile(rb"[!-~]{1,200}")
_BLANK_IN_BOUNDARY = re.compile(rb'boundary="[^"]*\s', re.IGNORECASE)
_PLAIN_ENCODINGS = frozenset({b"", b"7bit", b"8bit", b"binary"})
_ENCODINGS = _PLAIN_ENCODINGS | {b"base64", b"quoted-printable"}
_READ = frozenset({b"content-type", b"content-transfer-encoding", b"content-disposition"})

Fields = Mapping[bytes, Sequence[bytes]]  # by name in lower case


class PartHeader(NamedTuple):
    """What the header of a part declares: `frame` counts, the rest tells how to read the part."""

    frame: bytes
    boundary: bytes = b""
    encoding: bytes = b""
    charset: bytes = b""
    is_text: bool = True
    is_ambiguous: bool = False  # programs may differ in what they make of it


def without_envelope(raw: bytes) -> bytes:
    """The message without what is before its header in a file: the lines of an mbox, and blank lines."""
    lines = _ENVELOPE.match(raw)
    raw = raw[lines.end() :] if lines and lines.end() else raw
    return _BLANK_LINES.sub(b"", raw, count=1) if raw[:1] in b" \t\r\n" else raw


def fields_of(head: bytes) -> Fields:
    """The fields of a header block that count, by name in lower case; white space in them collapsed.

    But for what may stand in quotes, as a boundary does: its blanks count. The block begins with a newline.
    """
    fields: dict[bytes, list[bytes]] = {}
    for name, value in _FIELD.findall(head):
        lower = name.lower()
        is_quoted = lower == b"content-type" and b'"' in value
        text = value.replace(b"\n", b"").strip() if is_quoted else b" ".join(value.split())
        fields.setdefault(lower, []).append(text)
    return fields


def ambiguous_from(head: bytes) -> int | None:
    """Where a header block begins to be read in more than one way; None where all programs read it alike."""
    line = _AMBIGUOUS.search(head)
    place = head.find(b"\r", 0, line.start() if line else len(head))
    return place if place >= 0 else line.start() if line else None


def part_header(fields: Fields) -> PartHeader:
    """Read the Content-… fields of a part."""
    pairs = tuple([(name, *values) for name, values in fields.items() if name.startswith(b"content-")])
    is_usual = sum([len(value) for pair in pairs for value in pair]) <= _CACHED
    return (_part_header if is_usual else _part_header.__wrapped__)(pairs)


@lru_cache(maxsize=512)
def _part_header(pairs: tuple[tuple[bytes, ...], ...]) -> PartHeader:
    fields: Fields = {name: values for name, *values in pairs}
    frame = [name + b":" + value for name in sorted(fields) if name not in _READ for value in fields[name]]
    encodings = fields.get(b"content-transfer-encoding", ())
    encoding = encodings[0].lower() if len(encodings) == 1 else b""
    if len(encodings) > 1 or encoding not in _ENCODINGS:
        frame += [b"encoding:" + value for value in encodings]
        encoding = b"?"
    types, dispositions = fields.get(b"content-type", ()), fields.get(b"content-disposition", ())
    disposition, parameters = _value(dispositions)
    if parameters is None:
        frame += [b"disposition:" + value for value in dispositions]
    else:
        filename = {b"filename": parameters.get(b"filename", b"")}
        frame.append(_framed(b"disposition", disposition, filename))
    kind, parameters = _value(types) if types else (b"text/plain", {})
    is_clear = not types or (len(types) == 1 and _TYPE.fullmatch(kind) is not None)
    is_multipart, is_text = kind.startswith(b"multipart/"), kind.startswith(b"text/")
    if parameters is None or not is_clear:
        frame += [b"type:" + value for value in types]
        return PartHeader(joined(frame), b"", encoding, b"", is_text, is_multipart or not is_clear)
    boundary = parameters.pop(b"boundary", b"") if is_multipart else b""
    charset = b"" if is_multipart else parameters.pop(b"charset", b"")
    frame.append(_framed(b"type", kind, parameters))
    if is_multipart and (_BOUNDARY.fullmatch(boundary) is None or _BLANK_IN_BOUNDARY.search(types[0])):
        return PartHeader(joined([*frame, *types]), b"", encoding, charset, is_text, True)
    # In a digest a part without a type is a message (RFC 2046, 5.1.5), to most programs.
    is_ambiguous = is_multipart and (encoding not in _PLAIN_ENCODINGS or kind == b"multipart/digest")
    return PartHeader(joined(frame), boundary, encoding, charset, is_text, is_ambiguous)


def _value(values: Sequence[bytes]) -> tuple[bytes, dict[bytes, bytes] | None]:
    """A field's value before its parameters, in lower case, and these; None where programs may differ in reading them.

    >>> _value([b'Text/HTML; charset="utf-8"']), _value([b"a; b=c; b=d"])
    ((b'text/html', {b'charset': b'utf-8'}), (b'a', None))
    """
    if not values:
        return b"", {}
    value = values[0]
    position = max(value.find(b";"), 0)
    parameters: dict[bytes, bytes] = {}
    is_clear = len(values) == 1
    while parameter := _PARAMETER.match(value, position):
        name = parameter[1].lower()
        is_clear = is_clear and name not in parameters
        parameters[name] = (parameter[2] or parameter[3] or b"").strip()
        position = parameter.end()
    if b";" in value and value[position:].strip(b"; \t\n"):
        is_clear = False
    return value.partition(b";")[0].strip().lower(), parameters if is_clear else None


def _framed(name: bytes, value: bytes, parameters: Mapping[bytes, bytes]) -> bytes:
    pieces = [value, *(key + b"=" + parameters[key] for key in sorted(parameters) if parameters[key])]
    return name + b"=" + joined(pieces)


def joined(pieces: Sequence[bytes]) -> bytes:
    """The pieces with their lengths, so that no others give the same bytes."""
    return b"".join([b"%d:" % len(piece) + piece for piece in pieces])
