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
# What programs read in more than one way: a line that to some of them ends the header; one like a boundary.
_AMBIGUOUS = re.compile(rb"\n(?:--|(?![!-9;-~]+:|[ \t]|\Z))")
_TYPE = re.compile(rb"[\w.+-]+/[\w.+-]+")
# A blank between a value without quotes and the next parameter is part of the value to mutt.
_PARAMETER = re.compile(rb";\s*([A-Za-z-]+)=(?:([^\s\"'\\*%()<>;=]+(?:\s+(?=;))?)|\"([^\"\\;]*)\")\s*(?=;|\Z)")
# Others are changed by servers (NUL, bytes outside ASCII) or read by programs in different ways: blanks, encoded words,
# and more than 70 letters (RFC 2046, 5.1.1), of which Dovecot compares 80.
_BOUNDARY = re.compile(rb"(?![!-~]*=\?)[!-~]{1,70}")
# So are blanks, and outside of quotes the letters that end a word there (RFC 2045, 5.1).
_ODD_BOUNDARY = re.compile(rb'boundary=(?:"[^"]*\s|[^\s";,/:?@\[\]]{0,70}[,/:?@\[\]])', re.IGNORECASE)
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")  # strange in a Content-… field; to some programs a blank
_PLAIN_ENCODINGS = frozenset({b"", b"7bit", b"8bit", b"binary"})
UNKNOWN = b"?"  # an encoding that programs may or may not undo
_ENCODINGS = _PLAIN_ENCODINGS | {b"base64", b"quoted-printable"}
_BLANKS = bytes.maketrans(b"\t\n", b"  ")
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

    But for what may stand in quotes, as a boundary does: its blanks count. A transfer encoding stays as it is: with a
    blank behind it, it is another word to Python. The block begins with a newline.
    """
    fields: dict[bytes, list[bytes]] = {}
    for name, value in _FIELD.findall(head):
        lower = name.lower()
        if lower == b"content-transfer-encoding":
            text = value
        elif lower == b"content-type" and b'"' in value:
            text = value.replace(b"\n", b"").strip(b" \t")
        else:
            text = _collapsed(value)
        fields.setdefault(lower, []).append(text)
    return fields


def _collapsed(value: bytes) -> bytes:
    """The value with its blanks, tabs and folds as one blank each; other white space is none to some programs."""
    if _CONTROL.search(value) is None:
        return b" ".join(value.split())
    return b" ".join([word for word in value.translate(_BLANKS).split(b" ") if word])


def ambiguous_from(head: bytes) -> int | None:
    """Where a header block begins to be read in more than one way; None where all programs read it alike."""
    if head[1:2] in (b" ", b"\t"):  # the fold of no field: to mutt the header ends there
        return 0
    line = _AMBIGUOUS.search(head)
    places = [line.start()] if line else []
    # Python ends a line at a return, and mutt ends none at a newline behind a NUL.
    places += [place for place in (head.find(b"\r"), head.find(b"\0")) if place >= 0]
    return min(places, default=None)


def part_header(fields: Fields) -> PartHeader:
    """Read the Content-… fields of a part."""
    pairs = tuple([(name, *values) for name, values in fields.items() if name.startswith(b"content-")])
    is_usual = sum([len(value) for pair in pairs for value in pair]) <= _CACHED
    return (_part_header if is_usual else _part_header.__wrapped__)(pairs)


@lru_cache(maxsize=512)
def _part_header(pairs: tuple[tuple[bytes, ...], ...]) -> PartHeader:
    fields: Fields = {name: values for name, *values in pairs}
    written = [name + b":" + value for name in sorted(fields) for value in fields[name]]
    if any(map(_CONTROL.search, written)):
        return PartHeader(joined(written), is_ambiguous=True)
    frame = [name + b":" + value for name in sorted(fields) if name not in _READ for value in fields[name]]
    encodings = fields.get(b"content-transfer-encoding", ())
    encoding = encodings[0].lower() if len(encodings) == 1 else b""
    if encoding.strip() in _PLAIN_ENCODINGS:
        encoding = encoding.strip()
    if len(encodings) > 1 or encoding not in _ENCODINGS:
        collapsed = [b" ".join(value.split()) for value in encodings]
        # Of one that only blanks keep from being known, these count.
        frame += [
            b"encoding:" + (value if word.lower() in _ENCODINGS else word)
            for value, word in zip(encodings, collapsed, strict=True)
        ]
        encoding = UNKNOWN
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
    # These may have no transfer encoding (RFC 2045, 6.4): some programs undo it, others do not.
    is_encoded = kind.startswith((b"multipart/", b"message/")) and encoding not in _PLAIN_ENCODINGS
    if parameters is None or not is_clear:
        frame += [b"type:" + value for value in types]
        return PartHeader(joined(frame), b"", encoding, b"", is_text, is_multipart or is_encoded or not is_clear)
    boundary = parameters.pop(b"boundary", b"") if is_multipart else b""
    charset = b"" if is_multipart else parameters.pop(b"charset", b"")
    frame.append(_framed(b"type", kind, parameters))
    if is_multipart and (_BOUNDARY.fullmatch(boundary) is None or _ODD_BOUNDARY.search(types[0])):
        return PartHeader(joined([*frame, *types]), b"", encoding, charset, is_text, True)
    # In a digest a part without a type is a message (RFC 2046, 5.1.5), to most programs.
    is_ambiguous = is_encoded or kind == b"multipart/digest"
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
        parameters[name] = parameter[2] or parameter[3] or b""
        position = parameter.end()
    if b";" in value and value[position:].strip(b"; \t\n"):
        is_clear = False
    return value.partition(b";")[0].strip().lower(), parameters if is_clear else None


def _framed(name: bytes, value: bytes, parameters: Mapping[bytes, bytes]) -> bytes:
    stripped = {key: parameters[key].strip() for key in sorted(parameters)}
    return name + b"=" + joined([value, *(key + b"=" + text for key, text in stripped.items() if text)])


def joined(pieces: Sequence[bytes]) -> bytes:
    """The pieces with their lengths, so that no others give the same bytes."""
    return b"".join([b"%d:" % len(piece) + piece for piece in pieces])
