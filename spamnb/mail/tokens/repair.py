"""Rewrite markup so that a libxml2 before 2.14 finds the tags, comments and texts that a browser finds.

From 2.14 on libxml2 takes markup apart by the rules of HTML 5. Debian 12 and 13 have 2.9.14. That version stops at an
end tag which closes nothing if it comes first, reads tags in a title, takes `</3 …>` for text, and knows only the names
of HTML 4.

Most markup is plain: `_PLAIN` takes all of it up to the next odd place in one match.
"""

import re
from functools import lru_cache
from html import escape, unescape
from html.entities import html5

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.tokens.raw_text import CODE, WITHOUT_REFERENCES, WITHOUT_TAGS, end_of_content

# QUIRK: only sets are possessive, as in nesting.py. Without ASCII, `s` is ſ, too.
_FLAGS = re.ASCII | re.IGNORECASE
_NAME_CHARS = 60  # libxml2 cuts a name at a hundred
_NAME = rf"[a-z][a-z0-9:_.-]{{0,{_NAME_CHARS}}}+"
_BLANK, _IN_VALUE, _END = r"[ \t\n\r]", r"[^ \t\n\r>]", r"(?=[ \t\n\r/>])"
_PLAIN_VALUE = rf""""[^"]*+"|'[^']*+'|(?!["']){_IN_VALUE}++"""
_PLAIN_ATTRIBUTE = rf"{_BLANK}++[a-z_:][a-z0-9:_.-]{{0,{_NAME_CHARS}}}+(?:{_BLANK}*+={_BLANK}*+(?:{_PLAIN_VALUE}))?"
# Every version reads it alike. 100,000 attributes in one match would take 70 MB.
_PLAIN_TAG = rf"<(?:/{_NAME}{_BLANK}*+>|{_NAME}(?:{_PLAIN_ATTRIBUTE}){{0,100}}{_BLANK}*+/?>)"
_NOT_CLOSED = frozenset({"html", "body", "head"})  # by no end tag: what follows is shown, too
_ODD_NAME = rf"(?:/(?:{'|'.join(sorted(_NOT_CLOSED))})|{'|'.join(sorted(WITHOUT_TAGS))}){_END}"
_PLAIN = lazy_pattern(rf"(?:[^<]++|(?!<{_ODD_NAME}){_PLAIN_TAG})*", _FLAGS)

# The head. If text comes behind it without a tag, libxml2 writes a paragraph around the text, unless it sees <body>.
_HEAD = lazy_pattern(rf"(?:{_BLANK}++|(?=<(?:html|head|meta|link|base){_END}){_PLAIN_TAG})*", _FLAGS)
_IN_HEAD = lazy_pattern(rf"<(?:[!?]|(?:title|style|script){_END}|/[a-z])", _FLAGS)
_BEGINS_BODY = lazy_pattern(r"<(?!frame|noframes)[a-z]", _FLAGS)
_ROOT = lazy_pattern(rf"(?:{_BLANK}|<!---->)*<html{_END}", _FLAGS)

_ODD = lazy_pattern(
    r"</?(?P<tag>[a-z][^ \t\n\r/>]*+)"
    r"|(?P<nothing></>|<!doctype[^>]*+>?)"
    r"|<!(?P<cdata>(?-i:\[CDATA\[)[^>]*+)>?"
    r"|(?P<comment><!--(?:-?>|[^-]*+(?:-(?!-!?>)[^-]*+)*(?:--!?>)?)|<(?:[!?]|/(?!\Z))[^>]*+>?)",
    _FLAGS,
)
# The name of an attribute, and its value; or blanks; or the end. The end of the markup may cut it.
_VALUE = rf"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|{_IN_VALUE}++|)"""
_PIECE_OF_TAG = lazy_pattern(
    rf">|[ \t\n\r/]++|(=[^ \t\n\r/>=]*+|[^ \t\n\r/>=]++)(?:{_BLANK}*+={_BLANK}*+({_VALUE}))?", _FLAGS
)
_PLAIN_NAME = lazy_pattern(_NAME, _FLAGS)
_ODD_LETTER = lazy_pattern(r"[^a-z0-9:_.-]", _FLAGS)

_LIKE_END_OF_CODE = {name: lazy_pattern(f"</(?={name})", _FLAGS) for name in CODE}

_NUMBER = "&#(?:x[0-9a-f]++|[0-9]++)?;?"
_REFERENCE_IN_TAG = lazy_pattern(rf"{_NUMBER}|&[a-z][a-z0-9]*+(?:;|(?!=))", _FLAGS)
_TAG_OR_REFERENCE = lazy_pattern(rf"{_PLAIN_TAG}|{_NUMBER}|&[a-z][a-z0-9]*+;?", _FLAGS)
_OLD_NAMES = frozenset(name for name in html5 if not name.endswith(";"))  # they need no semicolon
_LONGEST_OLD_NAME = max(map(len, _OLD_NAMES))
_OLD_NAME = "|".join(sorted(_OLD_NAMES))
_KNOWN_NUMBER = (  # some of them
    "#(?!1[2-5][0-9];|[12][0-9];|3[01];)[1-9][0-9]{1,3}|#[1-4][0-9]{4}|#12[7-9][0-9]{3}"
    "|#x(?:[2-7][0-9a-f]|20[0-9a-f]{2}|1f[3-9a][0-9a-f]{2})"
)
_KNOWN = f"(?-i:nbsp|amp|lt|gt|quot|copy|reg)|{_KNOWN_NUMBER}"
_ODD_REFERENCE = lazy_pattern(rf"&(?=[#a-z])(?!(?:{_KNOWN});)(?:#|[a-z][a-z0-9]*+;|(?-i:{_OLD_NAME}))", _FLAGS)
# Of repaired markup, where quotation marks in a tag are those of values.
_META = lazy_pattern(rf"""<meta(?={_BLANK}|/)(?:[^>"']++|"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))*(?:>|\Z)""", _FLAGS)
_CHARSET = lazy_pattern("charset", _FLAGS)
_ATTRIBUTES = 500  # names and values: libxml2 compares each with all before it; without any, no text is hidden
_NUMBER_CHARS = 8  # of a reference; Python refuses a number of thousands of digits
_LAST, _SURROGATES, _ODD_FROM = 0x10FFFF, range(0xD800, 0xE000), 0xFDD0  # of the numbers of characters


def repaired(markup: str) -> str:
    """Return markup that libxml2 before 2.14 reads as browsers read the given one.

    >>> repaired("</html>Cheap <p title='a>b'class=c>pills<!--><title>a<b")
    '<html><body>Cheap <p title="a>b" class="c">pills<!----><title>a&lt;b</title>'
    """
    markup = markup.replace("\f", " ")
    pieces: list[str] = []
    place, in_head = 0, True
    while place < len(markup):
        end = _end_of(_HEAD if in_head else _PLAIN, markup, place)
        pieces.append(_with_known_references(markup[place:end]))
        place = end
        if in_head and not _IN_HEAD.match(markup, place):
            in_head = False
            if not _BEGINS_BODY.match(markup, place):
                pieces.append("<body>")
        elif place < len(markup):
            piece, place = _rewritten(markup, place)
            pieces.append(piece)
    repaired_markup = "".join(pieces)
    return repaired_markup if _ROOT.match(repaired_markup) else "<html>" + repaired_markup


def without_charsets(repaired_markup: str) -> str:
    """Return the markup with no charset in <meta>: by that one, libxml2 would read each piece that it is fed later.

    >>> without_charsets("<meta charset=cp037><meta content='a; &#99;harset=b'>&#99;")
    "<meta char-set=cp037><meta content='a; &amp;#99;harset=b'>&#99;"
    """
    return _META.sub(lambda meta: _CHARSET.sub("char-set", meta[0].replace("&", "&amp;")), repaired_markup)


def _end_of(pattern: re.Pattern[str], markup: str, place: int) -> int:
    found = pattern.match(markup, place)
    return place if found is None else found.end()


def _rewritten(markup: str, place: int) -> tuple[str, int]:
    """Return what is written for the odd piece of markup at that place, and the place behind it."""
    odd = _ODD.match(markup, place)
    if odd is None:
        return "&lt;", place + 1
    if odd.lastgroup == "cdata":
        return f"<!--{odd['cdata'].replace('--', '- -')}-->", odd.end()
    if odd.lastgroup != "tag":
        return ("<!---->" if odd.lastgroup == "comment" else ""), odd.end()
    name = odd["tag"].lower()
    attributes, end = _plain_attributes(markup, odd.end())
    if not attributes:  # nothing ends it: browsers leave it out
        return "", len(markup)
    if markup[place + 1] == "/":
        return "" if name in _NOT_CLOSED else f"</{_plain_name(name)}>", end
    start = _with_known_references(f"<{_plain_name(name)}{attributes}")
    if name not in WITHOUT_TAGS:
        return start, end
    content_end = end_of_content(markup, end, name)
    behind = _plain_attributes(markup, content_end + 2 + len(name))[1]
    return f"{start}{_plain_content(markup[end:content_end], name)}</{name}>", behind


def _plain_attributes(markup: str, place: int) -> tuple[str, int]:
    """Return the rest of a tag, with each value in double quotation marks, and the place behind the tag.

    Nothing, and the end of the markup, if the tag does not end.
    """
    plain: list[str] = []
    is_closed = False
    for piece in _PIECE_OF_TAG.finditer(markup, place):
        name, value = piece.groups()
        if name is None:
            if piece[0] == ">":
                plain.append("/>" if is_closed else ">")
                return "".join(plain) if len(plain) <= _ATTRIBUTES else ">", piece.end()
            is_closed = piece[0].endswith("/")
            continue
        is_closed = False
        if len(plain) > _ATTRIBUTES:
            continue
        plain.append(" " + _plain_name(name))
        if value is not None:
            quotes = value[:1] if value[:1] in {'"', "'"} else ""
            plain.append('="' + value.removeprefix(quotes).removesuffix(quotes).replace('"', "&quot;") + '"')
    return "", len(markup)


def _plain_name(name: str) -> str:
    """Return a name that is like no other: libxml2 would take `script@` for `script`."""
    return name if _PLAIN_NAME.fullmatch(name) else "x-" + _ODD_LETTER.sub("-", name)[: _NAME_CHARS - 2]


def _plain_content(content: str, name: str) -> str:
    """Return the text of an element that has no tags in it as libxml2 takes it for text."""
    if name in CODE:
        return _LIKE_END_OF_CODE[name].sub("< /", content)
    if name in WITHOUT_REFERENCES:
        return escape(content, quote=False)
    return _with_known_references(content.replace("<", "&lt;"))


def _with_known_references(plain: str) -> str:
    """Replace references that only later versions know. The markup is plain."""
    if "&" in plain and _ODD_REFERENCE.search(plain):
        return _TAG_OR_REFERENCE.sub(_known, plain)
    return plain


def _known(found: re.Match[str]) -> str:
    """Return a tag with known references, or what a reference in text stands for."""
    if found[0].startswith("<"):
        return _REFERENCE_IN_TAG.sub(_known_in_tag, found[0])
    return _character(found[0])


def _known_in_tag(found: re.Match[str]) -> str:
    """Return what a reference in an attribute stands for: `?a&notes` is a part of an address.

    A control letter stays an odd letter: libxml2 drops it, and a value without it can have another meaning.
    """
    return (_character(found[0]) or "\ufffd") if found[0][1] == "#" or found[0][1:] in html5 else found[0]


def _character(reference: str) -> str:
    """Return what a reference stands for, as markup. A stranger's page may have 100,000 references."""
    if reference[1] != "#":
        return _of_name(reference[1:])
    digits = reference[2:].removesuffix(";")
    if not digits:
        return escape(reference)
    base = 16 if digits[0] in "xX" else 10
    digits = digits.lstrip("xX0")
    number = int(digits or "0", base) if len(digits) <= _NUMBER_CHARS else _LAST + 1
    if number > _LAST or number in _SURROGATES:
        return "\ufffd"
    is_plain = 0xA0 <= number < _ODD_FROM or (number >= 0x10000 and number & 0xFFFE < 0xFFFE)
    return chr(number) if is_plain else _of_number(number)


@lru_cache(maxsize=1024)
def _of_number(number: int) -> str:
    return escape(unescape(f"&#{number};"))


def _of_name(name: str) -> str:
    """Return what a name stands for, or one that is its beginning and needs no semicolon, as `unescape` does."""
    if name in html5:
        return escape(html5[name])
    for end in range(_LONGEST_OLD_NAME, 1, -1):
        if name[:end] in _OLD_NAMES:
            return escape(html5[name[:end]] + name[end:])
    return f"&amp;{name}"
