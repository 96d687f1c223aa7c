"""Header blocks, read as all programs read them: what counts for a message's identity.

If programs may read a header in different ways, it counts as written, and the part is ambiguous.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

_CACHED = 200  # bytes of fields whose reading is cached: most parts have a header that was seen before
_ENVELOPE = re.compile(rb"(?:>?From [^\n]*\n)*")  # an mbox's lines; procmail keeps a second one (RFC 4155)
_BLANK_LINES = re.compile(rb"\A[ \t\r\n]*\n")
# Each pattern begins with a line end. The search for this literal is faster than `^`.
_FIELD = re.compile(
    rb"\n(?=[a-z])(message-id|date|from|subject|to|mime-version"
    rb"|content-(?:type|transfer-encoding|disposition|id|location|base|description)):[ \t]*"
    rb"([^\n]*(?:\n[ \t][^\n]*)*)",
    re.IGNORECASE,
)
# Texts that programs read in more than one way: a line that ends the header for some of them; one like a boundary.
_AMBIGUOUS = re.compile(rb"\n(?:--|(?![!-9;-~]+:|[ \t]|\Z))")
_TYPE = re.compile(rb"[\w.+-]+/[\w.+-]+")
# In mutt, a blank between a value without quotes and the next parameter is part of the value.
_PARAMETER = re.compile(rb";\s*([A-Za-z-]+)=(?:([^\s\"'\\*%()<>;=]+(?:\s+(?=;))?)|\"([^\"\\;]*)\")\s*(?=;|\Z)")
# Servers change other characters (NUL, bytes outside ASCII), or programs read them in different ways: blanks, encoded
# words, and more than 70 letters (RFC 2046, 5.1.1); Dovecot compares 80.
_BOUNDARY = re.compile(rb"(?![!-~]*=\?)[!-~]{1,70}")
# This also holds for blanks, and outside quotes for the letters that end a word there (RFC 2045, 5.1).
_ODD_BOUNDARY = re.compile(rb'boundary=(?:"[^"]*\s|[^\s";,/:?@\[\]]{0,70}[,/:?@\[\]])', re.IGNORECASE)
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")  # unexpected in a Content-… field; a blank to some programs
_PLAIN_ENCODINGS = frozenset({b"", b"7bit", b"8bit", b"binary"})
UNKNOWN = b"?"  # an encoding that programs may or may not undo
_ENCODINGS = _PLAIN_ENCODINGS | {b"base64", b"quoted-printable"}
_BLANKS = bytes.maketrans(b"\t\n", b"  ")
_READ = frozenset({b"content-type", b"content-transfer-encoding", b"content-disposition"})

Fields = Mapping[bytes, Sequence[bytes]]  # by name in lower case


class PartHeader(NamedTuple):
    """The declarations in a part's header: `frame` counts, the rest says how to read the part."""

    frame: bytes
    boundary: bytes = b""
    encoding: bytes = b""
    charset: bytes = b""
    is_text: bool = True
    is_ambiguous: bool = False  # programs may read it in different ways


def without_envelope(raw: bytes) -> bytes:
    """Return the message without the text before its header: the lines of an mbox, and blank lines."""
    lines = _ENVELOPE.match(raw)
    raw = raw[lines.end() :] if lines and lines.end() else raw
    return _BLANK_LINES.sub(b"", raw, count=1) if raw[:1] in b" \t\r\n" else raw


def fields_of(head: bytes) -> Fields:
    """Return the fields of a header block that count, by name in lower case, with their white space collapsed.

    The exception is text that may be in quotes, such as a boundary: its blanks count. A transfer encoding is unchanged:
    with a blank after it, it is another word to Python. The block begins with a newline.
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
    """Return the value with each run of blanks, tabs and folds as one blank; some programs keep other white space."""
    if _CONTROL.search(value) is None:
        return b" ".join(value.split())
    return b" ".join([word for word in value.translate(_BLANKS).split(b" ") if word])


def ambiguous_from(head: bytes) -> int | None:
    """Return where a header block begins to be ambiguous; None if all programs read it alike."""
    if head[1:2] in (b" ", b"\t"):  # a fold without a field: mutt ends the header there
        return 0
    line = _AMBIGUOUS.search(head)
    places = [line.start()] if line else []
    # Python ends a line at a return; mutt does not end a line at a newline after a NUL.
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
        # If only blanks keep an encoding from being known, the blanks count.
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
    # These must not have a transfer encoding (RFC 2045, 6.4): some programs undo it, others do not.
    is_encoded = kind.startswith((b"multipart/", b"message/")) and encoding not in _PLAIN_ENCODINGS
    if parameters is None or not is_clear:
        frame += [b"type:" + value for value in types]
        return PartHeader(joined(frame), b"", encoding, b"", is_text, is_multipart or is_encoded or not is_clear)
    boundary = parameters.pop(b"boundary", b"") if is_multipart else b""
    charset = b"" if is_multipart else parameters.pop(b"charset", b"")
    frame.append(_framed(b"type", kind, parameters))
    if is_multipart and (_BOUNDARY.fullmatch(boundary) is None or _ODD_BOUNDARY.search(types[0])):
        return PartHeader(joined([*frame, *types]), b"", encoding, charset, is_text, True)
    # In a digest, most programs take a part without a type for a message (RFC 2046, 5.1.5).
    is_ambiguous = is_encoded or kind == b"multipart/digest"
    return PartHeader(joined(frame), boundary, encoding, charset, is_text, is_ambiguous)


def _value(values: Sequence[bytes]) -> tuple[bytes, dict[bytes, bytes] | None]:
    """Return a field's value in lower case, and its parameters; None for parameters that programs read differently.

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
    """Join the pieces with their lengths, so that no other pieces give the same bytes."""
    return b"".join([b"%d:" % len(piece) + piece for piece in pieces])
