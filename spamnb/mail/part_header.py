"""The header of a part, read as all programs read it: what of it counts for the message's identity.

Where programs may differ in what they make of a header, it counts as it is written, and the part is ambiguous.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.parsing.fields import media_type, plain_parameters
from spamnb.mail.parsing.header_block import STRICT_FIELD

_CACHED = 200  # bytes of fields whose reading is kept: most parts have a header that was met before
# Each pattern begins with a line end, which is searched for as a literal: faster than `^`.
_FIELD = lazy_pattern(
    rb"\n(?=[a-z])(message-id|date|from|subject|to|mime-version"
    rb"|content-(?:type|transfer-encoding|disposition|id|location|base|description)):[ \t]*"
    rb"([^\n]*(?:\n[ \t][^\n]*)*)",
    re.IGNORECASE,
)
# What programs read in more than one way: a line that to some of them ends the header; one like a boundary; returns,
# which may end a line.
_AMBIGUOUS = lazy_pattern(rb"\n(?:--|(?!%s|[ \t]|\Z))" % STRICT_FIELD.encode())
_TYPE = lazy_pattern(r"[\w.+-]+/[\w.+-]+", re.ASCII)
# Others are changed by servers (NUL, bytes outside ASCII) or read by programs in different ways (blanks).
_BOUNDARY = lazy_pattern(r"[!-~]{1,200}")
_BLANK_IN_BOUNDARY = lazy_pattern(rb'boundary="[^"]*\s', re.IGNORECASE)
_PLAIN_ENCODINGS = frozenset({"", "7bit", "8bit", "binary"})
_ENCODINGS = _PLAIN_ENCODINGS | {"base64", "quoted-printable"}
_READ = frozenset({b"content-type", b"content-transfer-encoding", b"content-disposition"})

Fields = Mapping[bytes, Sequence[bytes]]  # by name in lower case


class PartHeader(NamedTuple):
    """What the header of a part declares: `frame` counts, the rest tells how to read the part."""

    frame: bytes
    boundary: bytes = b""
    encoding: str = ""
    charset: str = ""
    is_text: bool = True
    is_ambiguous: bool = False  # programs may differ in what they make of it


def fields_of(head: bytes) -> Fields:
    """The fields of a header block that count, by name in lower case; white space in them collapsed.

    But for what may stand in quotes, as a boundary does: its blanks count. The block begins with a newline.
    """
    found: dict[bytes, list[bytes]] = {}
    for name, value in _FIELD.findall(head):
        lower = name.lower()
        is_quoted = lower == b"content-type" and b'"' in value
        found.setdefault(lower, []).append(value.replace(b"\n", b"").strip() if is_quoted else b" ".join(value.split()))
    return found


def ambiguous_from(head: bytes) -> int | None:
    """Where a header block begins to be read in more than one way; None where all programs read it alike."""
    found = _AMBIGUOUS.search(head)
    place = head.find(b"\r", 0, found.start() if found else len(head))
    return place if place >= 0 else found.start() if found else None


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
    encoding = encodings[0].decode("ascii", "replace").lower() if len(encodings) == 1 else ""
    if len(encodings) > 1 or encoding not in _ENCODINGS:
        frame += [b"encoding:" + value for value in encodings]
        encoding = "?"
    types, dispositions = fields.get(b"content-type", ()), fields.get(b"content-disposition", ())
    disposition, parameters = _value(dispositions)
    if parameters is None:
        frame += [b"disposition:" + each for each in dispositions]
    else:
        filename = {"filename": parameters.get("filename", "")}
        frame.append(_framed(b"disposition", disposition.strip().lower(), filename))
    value, parameters = _value(types)
    kind = media_type(value)
    is_clear = not types or (len(types) == 1 and _TYPE.fullmatch(value.strip()) is not None)
    is_multipart, is_text = kind.startswith("multipart/"), kind.startswith("text/")
    if parameters is None or not is_clear:
        frame += [b"type:" + each for each in types]
        encoding = encoding if is_clear else ""
        return PartHeader(joined(frame), b"", encoding, "", is_text, is_multipart or not is_clear)
    boundary = parameters.pop("boundary", "") if is_multipart else ""
    charset = "" if is_multipart else parameters.pop("charset", "").lower()
    frame.append(_framed(b"type", kind, parameters))
    if is_multipart and (_BOUNDARY.fullmatch(boundary) is None or _BLANK_IN_BOUNDARY.search(types[0])):
        return PartHeader(joined([*frame, *types]), b"", encoding, charset, is_text, True)
    is_ambiguous = is_multipart and encoding not in _PLAIN_ENCODINGS
    return PartHeader(joined(frame), boundary.encode("ascii"), encoding, charset, is_text, is_ambiguous)


def _value(values: Sequence[bytes]) -> tuple[str, dict[str, str] | None]:
    """A field's value before its parameters, and these; None for them where programs may differ in reading them."""
    if not values:
        return "", {}
    text = values[0].decode("ascii", "surrogateescape")
    pairs = plain_parameters(text) if len(values) == 1 else None
    parameters = None if pairs is None else dict(pairs)
    is_clear = pairs is not None and parameters is not None and len(parameters) == len(pairs)
    return text.partition(";")[0], parameters if is_clear else None


def _framed(name: bytes, value: str, parameters: Mapping[str, str]) -> bytes:
    pieces = [value, *(f"{key}={parameters[key]}" for key in sorted(parameters) if parameters[key])]
    return name + b"=" + joined([each.encode("utf-8", "surrogateescape") for each in pieces])


def joined(pieces: Sequence[bytes]) -> bytes:
    """The pieces with their lengths, so that no others give the same bytes."""
    return b"".join([b"%d:" % len(each) + each for each in pieces])
