"""Read the parameters and addresses of a header field (RFC 5322, RFC 2045, RFC 2231).

Plain forms are read here. The standard library reads any other form (continuations, charsets, escapes, comments). It is
imported only then: the import takes a good part of the time for scoring one file.
"""

import re
from collections.abc import Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.limits import Work
from spamnb.mail.parsing.charsets import decode
from spamnb.mail.parsing.encoded_words import decode_field

_BYTE = lazy_pattern("[\udc80-\udcff]")  # a byte outside ASCII, as `surrogateescape` writes it
_PLAIN_PARAMETER = lazy_pattern(r";\s*([A-Za-z-]+)=(?:([^\s\"'\\*%()<>;=]+)|\"([^\"\\;]*)\")\s*(?=;|\Z)")
_MARKS = lazy_pattern(r'(\\.|[()";])', re.DOTALL)
_MEANT = lazy_pattern(
    r"(boundary|charset|name|filename|format|delsp)\s*+(\*[\d*]{0,9})?\s*+=.*", re.DOTALL | re.IGNORECASE
)
_RANKS = {"boundary": 0, "charset": 1}  # then the other parameters, and last the pieces of a split one (RFC 2231, 3)
_COMMENT_MARKS = lazy_pattern(r"(\\.|[()])", re.DOTALL)
_ENCODINGS = ("base64", "quoted-printable")
_NO_PARAMETERS: Mapping[str, str] = MappingProxyType({})
_ATOM = r"[^\s()<>@,:;\\\"\[\].]+"
_DOTTED = rf"{_ATOM}(?:\.{_ATOM})*"
_PHRASE = r"[^()<>@,:;\\\"\[\]\t\r\n]*"
# `name <a@b>`, `"name" <a@b>` and `a@b`: nearly all addresses in real mail.
# Blanks around are removed first: a pattern that may begin with blanks tries each division of them.
_PLAIN_ADDRESS = lazy_pattern(rf'(?:"([^"\\\r\n]*)" *|({_PHRASE}))<({_DOTTED}@{_DOTTED})>|({_DOTTED}@{_DOTTED})')
_UNITS_SHORTENED = 40  # of work, per hundred characters
_TYPE_CHARS = 500  # of the text before the parameters, without comments
_DEEPEST = 20  # comments and groups of addresses; the standard parser recurses into each


def media_type(value: str) -> str:
    """Return the media type that a Content-Type names (RFC 2045, 5.2); text/plain if it names none.

    >>> media_type('Text/HTML; charset="x"'), media_type("text"), media_type("(a;b) text / html")
    ('text/html', 'text/plain', 'text/html')
    """
    named = _BYTE.sub("\ufffd", _plainly(value).partition(";")[0]).strip().lower()
    kind = "/".join([piece.strip() for piece in named.split("/")])
    return kind if kind.count("/") == 1 and len(kind) <= 80 else "text/plain"


def first_word(value: str) -> str:
    """Return a field's value before any parameter or comment, in lower case.

    >>> first_word("Base64 (why not)"), first_word("(why (not)) base64")
    ('base64', 'base64')
    """
    if not value:
        return ""
    return re.split(r"[;\s]", _plainly(value).lstrip()[:200].rstrip().lower(), maxsplit=1)[0].strip("'\"")


def _plainly(value: str) -> str:
    """Return a value without comments (RFC 5322, 3.2.2). QUIRK: Python and GMime also decode encoded words in it."""
    if "=?" in value.partition(";")[0]:
        value = decode_field(value)
    return _without_comments(value)


def _without_comments(value: str) -> str:
    if "(" not in value:
        return value
    depth, kept = 0, []
    for piece in _COMMENT_MARKS.split(value):
        if piece == "(":
            depth += 1
            kept.append(" ")
        elif piece == ")":
            depth = max(0, depth - 1)
        elif depth == 0:
            kept.append(piece)
    return "".join(kept)


def transfer_encoding(value: str) -> str:
    """Return the encoding that a Content-Transfer-Encoding names (RFC 2045, 6.1), in lower case.

    QUIRK: mutt takes a longer name that begins like an encoding for that encoding.

    >>> transfer_encoding("Base64 (why not)"), transfer_encoding("base64x"), transfer_encoding("8bit")
    ('base64', 'base64', '8bit')
    """
    word = first_word(value)
    return next((name for name in _ENCODINGS if word.startswith(name)), word)


def parameters(value: str, work: Work | None = None) -> Mapping[str, str]:
    """Return the parameters of a field, decoded; names in lower case. If two have one name, the first counts.

    In other forms than the plain one, only parameters with a meaning are read. The standard library takes the square of
    a value's length for quotes and semicolons. If `work` does not suffice, only the parameters at the beginning count.

    >>> dict(parameters('text/plain; charset="utf-8"; format=flowed'))
    {'charset': 'utf-8', 'format': 'flowed'}
    """
    if ";" not in value:
        return _NO_PARAMETERS
    found, is_all = _plain_parameters(value)
    if not is_all:
        value = shortened(value, work)
        found, is_all = _plain_parameters(value)
    if is_all or (work is not None and not work.take(20 + len(value) ** 2 // 1000)):
        return found
    return _any_parameters(value)


def shortened(value: str, work: Work | None = None) -> str:
    """Return a field's value with only the parameters that the reader looks at, the boundary first.

    A stranger can write any number of others, and comments, before them. If no `work` is left, the value is unchanged.

    >>> shortened("text/plain (a;b); x=1; name=c(d); (e) charset=utf-8 (f)")
    'text/plain; charset=utf-8; name=c(d)'
    """
    if work is not None and not work.take(len(value) * _UNITS_SHORTENED // 100):
        return value
    first, *pieces = _pieces(value)
    met: set[str] = set()
    ranked: list[tuple[int, str]] = []
    for written, bare in pieces:
        meant = _MEANT.fullmatch(bare)
        if meant and (meant[2] or meant[1].lower() not in met):
            met.add(meant[1].lower())
            rank = _RANKS.get(meant[1].lower(), 3 if meant[2] else 2)
            ranked.append((rank, bare if rank < 2 or not _MEANT.fullmatch(written) else written))
    ranked.sort(key=itemgetter(0))
    return "; ".join([first[1][:_TYPE_CHARS], *(text for _, text in ranked)])


def _pieces(value: str, with_comments: bool = True) -> list[tuple[str, str]]:
    """Return the pieces between semicolons that are neither in quotation marks nor in comments (RFC 5322, 3.2.2).

    Each piece comes twice: as written, and without comments. If a comment is not closed, there are no pieces.
    """
    found: list[tuple[str, str]] = []
    written: list[str] = []
    bare: list[str] = []
    depth, is_quoted = 0, False
    for piece in _MARKS.split(value):
        if piece == ";" and not depth and not is_quoted:
            found.append(("".join(written).strip(), "".join(bare).strip()))
            written, bare = [], []
            continue
        written.append(piece)
        if depth or (with_comments and piece == "(" and not is_quoted):
            depth += (piece == "(") - (piece == ")")
            bare.append(" " if depth == 0 else "")
        else:
            is_quoted = is_quoted != (piece == '"')
            bare.append(piece)
    if depth:
        return _pieces(value, with_comments=False)
    return [*found, ("".join(written).strip(), "".join(bare).strip())]


def _plain_parameters(value: str) -> tuple[dict[str, str], bool]:
    """Return the plain parameters at the beginning of a field, and whether these are all.

    >>> _plain_parameters('text/plain; charset="utf-8"'), _plain_parameters("text/plain; name*0=a")
    (({'charset': 'utf-8'}, True), ({}, False))
    """
    found: dict[str, str] = {}
    position = max(value.find(";"), 0)
    while plain := _PLAIN_PARAMETER.match(value, position):
        found.setdefault(plain[1].lower(), (plain[2] or plain[3] or "").strip())
        position = plain.end()
    return found, ";" not in value or not value[position:].strip("; \t\n")


def _any_parameters(value: str) -> Mapping[str, str]:
    from email.message import Message  # noqa: PLC0415 - see above

    message = Message()
    found: dict[str, str] = {}
    try:
        message["Content-Type"] = _BYTE.sub("\ufffd", value)
        pairs: list[tuple[str, Any]] = message.get_params([])[1:]
        for name, written in pairs:
            if isinstance(written, tuple):  # RFC 2231: charset, language, bytes
                text = decode(written[2].encode("latin-1", "replace"), written[0] or "")[0]
            else:
                text = str(written).strip()
            found.setdefault(name.lower(), text)
    except Exception:  # no fault of the standard parser in a stranger's field may stop us
        return found
    return found


def addresses(values: Sequence[str]) -> list[tuple[str, str]]:
    """Return the (name, address) pairs of fields of one name; plain ones by a pattern, all others by `email.utils`.

    They are for tokens. Whose address it is, a stranger must not choose: `shown_addresses` says that.

    >>> addresses(['"A. B" <a@b.example>, c@d.example'])
    [('A. B', 'a@b.example'), ('', 'c@d.example')]
    """
    text = ", ".join(values)
    plain = [_PLAIN_ADDRESS.fullmatch(piece.strip(" ")) for piece in text.split(",")]
    if all(plain):
        return [(found[1] or " ".join((found[2] or "").split()), found[3] or found[4]) for found in plain if found]
    from email.utils import getaddresses  # noqa: PLC0415 - see above

    if text.count("(") > _DEEPEST or text.count(":") > _DEEPEST:
        text = text.translate({ord(c): " " for c in "():"})
    try:
        return getaddresses([text])
    except Exception:  # no fault of the standard parser in a stranger's field may stop us
        return [("", text)]


def address(value: str) -> tuple[str, str]:
    """Return the first (name, address) pair of a field; a pair of empty texts if it has none."""
    return next(iter(addresses([value])), ("", ""))
