"""Text of a page that is not between its tags: what styles generate, attributes show, and addresses of data hold."""

import re
from binascii import a2b_base64
from collections.abc import Iterator, Mapping
from html import unescape
from urllib.parse import unquote_to_bytes

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.tokens.css import BLANKS, COMMENT

_STRING = r"\"(?:[^\"\\\n]++|\\[\s\S])*(?:\"|\Z)|'(?:[^'\\\n]++|\\[\s\S])*(?:'|\Z)"
_VALUE = rf"(?:[^;{{}}\"'\\/]++|/(?!\*)|{COMMENT}|{_STRING}|\\[\s\S])*"
_LETTERS = {"u": "[57]5", "r": "[57]2", "l": "[46]c"}  # and the numbers by which an escape writes them
_URL = "".join([rf"(?:\\?{letter}|\\0{{0,4}}{code}[{BLANKS}]?)" for letter, code in _LETTERS.items()])
# A style shows strings in ways that grow with each browser: `content`, a list's marker, a variable, a function. It
# never shows those of typefaces, addresses, filters and selectors.
_QUIET = rf"(?:-[a-z]++-)?(?:filter|font|grid|mso|progid|src|voice)\b[\w-]*+[{BLANKS}]*+:"
_STRINGS = lazy_pattern(
    rf"(?:[^\w\"'/\\@\[-]++|(?!{_URL}\(|{_QUIET})[\w-]++){{1,1000}}|({_STRING})|{COMMENT}|/\*[\s\S]*|{_QUIET}{_VALUE}"
    rf"|{_URL}\([{BLANKS}]*+(?:{_STRING}|(?![\"'])(?:[^)\\]++|\\[\s\S])*)|\[[^\[\]\"'/\\]*+(?:{_STRING})[^\[\]\"'/\\]*+\]"
    rf"|@(?:charset|import|namespace)[{BLANKS}]++(?:{_STRING})|\\[\s\S]|[\s\S]",
    re.IGNORECASE,
)
_OWN = lazy_pattern(r"list-style|quotes|--|\\", re.IGNORECASE)
_COUNTERS = lazy_pattern(
    rf"(?<![\w-])(?:(?:additive-)?symbols|prefix|suffix|negative|pad)[{BLANKS}]*+:([^;}}]*+)", re.IGNORECASE
)
_IMPORTED = lazy_pattern(
    rf"\"[{BLANKS}]*+(data:[^\"]*+)|'[{BLANKS}]*+(data:[^']*+)|\([{BLANKS}]*+(data:[^)]*+)", re.IGNORECASE
)
_ESCAPE = lazy_pattern(rf"\\(?:([0-9a-f]{{1,6}})[{BLANKS}]?|([^\n]))", re.IGNORECASE)
_SHOWN = {"input": ("value", "placeholder", "alt"), "option": ("label",), "textarea": ("placeholder",)}
SHOWING = frozenset(_SHOWN)
"""The elements that show values of their attributes."""
_IN_URL = str.maketrans("", "", "\t\n\r")  # what browsers leave out of an address
_AROUND_URL = "".join(map(chr, range(0x21))) + "\ufffd"
_NO_TEXT = ("audio/", "font/", "video/", "image/")


def unescaped(css: str) -> str:
    """Return CSS without its escapes."""
    return _ESCAPE.sub(lambda found: found[2] or unescape(f"&#x{found[1]};"), css) if "\\" in css else css


def generated(css: str) -> str:
    """Return the text that declarations generate, such as the `content` of a pseudo-element.

    >>> generated(".a::before {content: 'Cheap' '\\\\70 ills'; font-family: 'Segoe UI'}")
    'Cheap pills'
    """
    if '"' not in css and "'" not in css:
        return ""
    strings = filter(None, _STRINGS.findall(css))
    return " ".join(filter(None, [unescaped(string[1:].removesuffix(string[0])) for string in strings]))


def counted(plain: str) -> str:
    """Return the words and strings by which the styles of counters in a sheet without escapes count."""
    return " ".join(_COUNTERS.findall(plain)) if "@counter-style" in plain.lower() else ""


def imported(plain: str) -> Iterator[str]:
    """Yield the style sheets that a sheet without escapes imports from data URLs."""
    if "@import" in plain.lower():
        yield from (page_in("".join(urls)) for urls in _IMPORTED.findall(plain))


def generated_by(css: str) -> str:
    """Return the text that an element's own declarations generate: by a list, by quotes, or by a variable."""
    return generated(css) if _OWN.search(css) else ""


def shown_values(name: str, attrs: Mapping[str, str]) -> str:
    """Return the values of attributes that such an element shows."""
    values = [attrs.get(each, "") for each in _SHOWN[name]]
    return " ".join(values) if any(values) and attrs.get("type", "").lower() != "hidden" else ""


def page_in(url: str) -> str:
    """Return the text or the page that a data URL (RFC 2397) holds, as a browser reads the URL; "" if it holds none.

    >>> page_in(" da\\nta:text/html; base64,Q2hlYXA"), page_in("data:image/png,x"), page_in("data:image/svg+xml,%3Csvg")
    ('Cheap', '', '<svg')
    """
    head, _, content = url.partition(",")
    if ":" not in head:
        return ""
    head, content = head.strip(_AROUND_URL).translate(_IN_URL), content.translate(_IN_URL)
    kind, *parameters = (piece.strip().lower() for piece in head.split(";"))
    if not kind.startswith("data:") or (kind[5:].startswith(_NO_TEXT) and not kind.endswith("svg+xml")):
        return ""
    text = unquote_to_bytes(content)
    try:
        return (a2b_base64(text + b"==") if parameters[-1:] == ["base64"] else text).decode(errors="replace")
    except ValueError:
        return ""
