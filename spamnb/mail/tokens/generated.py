"""Text of a page that is not between its tags: what styles generate, attributes show, and addresses of data hold."""

import re
from binascii import a2b_base64
from collections.abc import Iterator, Mapping
from html import unescape
from urllib.parse import unquote_to_bytes

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.tokens.css import BLANKS, Declared

# Text that a style generates, and attributes whose values it shows.
_QUOTED = lazy_pattern(r"\"[^\"]*\"|'[^']*'")
_GENERATING = lazy_pattern(
    r"(?<![\w-])(?:content|quotes|list-style(?:-type)?|(?:additive-)?symbols|prefix|suffix|negative|pad|--[\w-]+)"
    rf"[{BLANKS}\x01]*:((?:[^;{{}}\"']++|\"[^\"]*\"|'[^']*')*)",
    re.IGNORECASE,
)
_ESCAPE = lazy_pattern(rf"\\(?:([0-9a-f]{{1,6}})[{BLANKS}]?|([^\n]))", re.IGNORECASE)
_SHOWN = {"input": ("value", "placeholder", "alt"), "option": ("label",), "textarea": ("placeholder",)}
SHOWING = frozenset(_SHOWN)
"""The elements that show values of their attributes."""
_SHOWN_CHARS = 500


def generated(css: str) -> str:
    """Return the text that declarations generate, such as the `content` of a pseudo-element.

    >>> generated(".a::before {content: 'Cheap' '\\\\70 ills'; font-family: 'Segoe UI'}")
    'Cheap pills'
    """
    if '"' not in css and "'" not in css:
        return ""
    if "\\" in css:
        css = _ESCAPE.sub(lambda found: found[2] or unescape(f"&#x{found[1]};"), css)
    texts = [string[1:-1] for value in _GENERATING.findall(css) for string in _QUOTED.findall(value)]
    return " ".join(filter(None, texts))


def generated_by(css: str, declared: Declared) -> str:
    """Return the text that an element's own declarations generate. If they are plain, only `list-style` does."""
    return generated(css) if declared.get("in_doubt") or "list-style" in css.lower() else ""


def shown_values(name: str, attrs: Mapping[str, str]) -> str:
    """Return the values of attributes that such an element shows."""
    values = [attrs.get(each, "")[:_SHOWN_CHARS] for each in _SHOWN[name]]
    return " ".join(values) if any(values) and attrs.get("type", "").lower() != "hidden" else ""


def page_in(url: str) -> str:
    """Return the text or the page that a data URL (RFC 2397) holds; "" if it holds none."""
    head, _, content = url.partition(",")
    head = head.strip().lower()
    if not head.startswith("data:") or head[5:].partition("/")[0] not in {"", "text", "application"}:
        return ""
    text = unquote_to_bytes(content)
    try:
        return (a2b_base64(text) if head.endswith(";base64") else text).decode(errors="replace")
    except ValueError:
        return ""


def values_of(name: str, markup: str) -> Iterator[str]:
    """Yield the values of an attribute of any element."""
    for value in re.findall(rf"""\b{re.escape(name)}\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""", markup, re.IGNORECASE):
        yield unescape(value.strip("\"'"))
