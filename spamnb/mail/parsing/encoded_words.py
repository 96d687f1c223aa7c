"""Turn header fields into text: undo folds, encoded words (RFC 2047), and raw bytes without a declared charset."""

from collections.abc import Callable, Iterator

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.limits import Work
from spamnb.mail.parsing.charsets import as_bytes, decode
from spamnb.mail.parsing.transfer import decode_transfer

_ENCODED_WORD = lazy_pattern(r"=\?([^?]{1,60})\?([bqBQ])\?")
_SPECIAL = lazy_pattern(r"[,;:<>@()\[\]]")
_UNITS_A_WORD = 200  # of work: 15 if its charset is right, 200 if the likeliest one must be found
_FOLD = lazy_pattern(r"[\r\n][\r\n]*[ \t]*")  # `re` finds a set faster than a repeated one
_ADDRESS_FIELDS = frozenset({"from", "to", "cc", "reply-to", "sender"})
_NOT_ENCODED = "authentication-results"  # RFC 8601, 2.2: an encoded word is a stranger's, and could hide a result
READ_OF_X = frozenset({"x-mailer", "x-mimeole", "x-msmail-priority", "x-originating-ip", "x-priority"})
"""The fields that begin with X- whose values somebody reads. Outlook writes 20 KB of encoded words into others."""


def decode_fields(
    fields: tuple[tuple[str, str], ...], spoken: Callable[[], str], work: Work
) -> tuple[tuple[str, str], ...]:
    """Decode all fields, until `work` is used up; the fields after that are left out.

    Values that nobody reads stay encoded. Most header blocks only have folds to undo. This is tested once for the whole
    block.
    """
    whole = "".join([value for _, value in fields])
    if _is_plain(whole) or _is_plain("".join([value for name, value in fields if _is_decoded(name)])):
        return tuple([(name, _FOLD.sub(" ", value) if "\n" in value else value) for name, value in fields])
    decoded = [
        (name, decode_field(value, spoken, name in _ADDRESS_FIELDS) if _is_decoded(name) else _FOLD.sub(" ", value))
        for name, value in fields
        if work.take(_UNITS_A_WORD * value.count("=?") + len(value) // 10)
    ]
    return tuple(decoded)


def _is_decoded(name: str) -> bool:
    return name in READ_OF_X if name.startswith("x-") else name != _NOT_ENCODED


def charsets_of(value: str) -> Iterator[str]:
    """Yield the charsets that the encoded words of a field declare."""
    return (word[1] for word in _ENCODED_WORD.finditer(value))


def _is_plain(value: str) -> bool:
    """Tell whether a field is plain ASCII: no encoded words, no raw bytes, no escapes of East Asian charsets."""
    return value.isascii() and "=?" not in value and "\x1b" not in value and "~{" not in value


def decode_field(value: str, spoken: Callable[[], str] | None = None, of_addresses: bool = False) -> str:
    """Return a field's value as text: unfolded, with encoded words (RFC 2047) and raw 8-bit bytes decoded.

    `spoken` gives the charset of raw bytes. In a field `of_addresses`, encoded text stays part of a name.

    >>> decode_field("=?utf-8?q?caf=C3=A9?= au\\r\\n lait")
    'café au lait'
    """
    if "\n" in value or "\r" in value:
        value = _FOLD.sub(" ", value)
    if _is_plain(value):
        return value
    texts: list[str] = []
    quotes = 0
    for raw, charset in _pieces(value):
        text = decode(raw, charset or "", spoken)[0]
        if charset is not None and of_addresses:
            text = _as_name(text, quotes % 2 == 1)
        elif not of_addresses and (shown := as_bytes(raw, charset or "")):
            text = f"{text} {decode(shown, '', spoken)[0]}"
        quotes += text.count('"')
        texts.append(text)
    return "".join(texts)


def _pieces(value: str) -> list[tuple[bytes, str | None]]:
    """Return a field's bytes with their charsets, None outside encoded words.

    QUIRK: neighbouring words of one charset are joined before they are decoded. RFC 2047 (5, 3) forbids splitting a
    character between two words, but programs that count bytes do so.
    """
    pieces: list[tuple[bytes, str | None]] = []
    position = 0
    for found in _ENCODED_WORD.finditer(value):
        if found.start() < position:
            continue
        end = value.find("?=", found.end())
        if end < 0:
            break
        between = value[position : found.start()]
        if between and not (pieces and between.isspace()):
            pieces.append((between.encode("utf-8", "surrogateescape"), None))
        charset = found[1].strip().lower()
        raw = value[found.end() : end].encode("utf-8", "surrogateescape")
        if found[2] in "bB":
            raw = decode_transfer(raw, "base64")[0]
        else:
            raw = decode_transfer(raw.replace(b"_", b" "), "quoted-printable")[0]
        if pieces and pieces[-1][1] == charset:
            raw = pieces.pop()[0] + raw
        pieces.append((raw, charset))
        position = end + 2
    if position < len(value):
        pieces.append((value[position:].encode("utf-8", "surrogateescape"), None))
    return pieces


def _as_name(text: str, quoted: bool) -> str:
    """Return the text of an encoded word as part of a name: its commas do not separate addresses."""
    text = text.replace('"', " ").replace("\\", " ")
    return f'"{text}"' if _SPECIAL.search(text) and not quoted else text
