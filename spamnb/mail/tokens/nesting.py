"""Tell whether hidden elements are written so plainly that every parser sees each of them end at the same place.

libxml2 and browsers agree on well-formed markup alone. If an end tag is missing, or elements overlap, a browser may
end an element earlier than libxml2 does, and show the text behind it: `<table><tr><td><div hidden>a<td>b`,
`<li><div hidden>a</li>b`, `<b hidden><div></b>b`, `<p><span hidden><div>b`.
"""

import re
from collections.abc import Sequence

from spamnb.base.patterns import lazy_pattern

# QUIRK: Python 3.11.2 has a fault in possessive groups (`(?:…)*+`), so only sets are possessive here.
# Blanks and letters are those of HTML: `</div\xa0>` and `</bloc\u212aquote>`, with the sign for kelvin, end nothing.
_FLAGS = re.ASCII | re.IGNORECASE
_BLANKS = r" \t\n\r\f"
_BLANK = f"[{_BLANKS}]"
_ATTRIBUTES = (
    rf"""(?:{_BLANK}++[^{_BLANKS}"'<>/=]++"""
    rf"""(?:{_BLANK}*+={_BLANK}*+(?:"[^"<]*+"|'[^'<]*+'|[^{_BLANKS}"'<>=`]++))?)*{_BLANK}*+"""
)
_TAG = lazy_pattern(rf"<(/?)([a-z][a-z0-9:-]*+){_ATTRIBUTES}(/?)>", _FLAGS)
_STYLE = r"[^<]*+(?:<(?!/style)[^<]*+)*"
_COMMENT = "<!--(?!-?>)[^-]*+(?:-(?!-!?>)[^-]*+)*-->"
# Markup without anything on which parsers differ, outside of the nesting of its elements.
_PLAIN_PIECES = (
    r"[^<]++",
    rf"<(?!style|title|script)[a-z][a-z0-9:-]*+{_ATTRIBUTES}/?>",
    rf"</[a-z][a-z0-9:-]*+{_BLANK}*+>",
    _COMMENT,
    rf"<style{_ATTRIBUTES}>{_STYLE}</style{_BLANK}*+>",
    rf"<(?:title{_ATTRIBUTES}>[^<]*+</title|script{_ATTRIBUTES}>[^<]*+</script){_BLANK}*+>",
    r"<!(?:doctype|\[(?:if|endif))[^<>]*+>",
    r"<\?[^<>]*+>",
    r"<(?![a-z/!?])",
)
_PLAIN = lazy_pattern(f"(?:{'|'.join(_PLAIN_PIECES)})*", _FLAGS)
_UNSEEN = lazy_pattern(rf"<!--[^-]*+(?:-(?!->)[^-]*+)*(?:-->)?|<style\b{_STYLE}", _FLAGS)
_EMPTY = frozenset({"br", "hr", "img", "wbr"})
_INLINE = frozenset("a b big br code em font i img small span strike strong sub sup tt u wbr".split())  # noqa: SIM905
_LINK = "a"  # it would end a link around
# Elements, and the ones that they may be in. In others they could end elements around.
_PARENTS = {
    "li": frozenset({"ol", "ul"}),
    "dt": frozenset({"dl"}),
    "dd": frozenset({"dl"}),
    "tr": frozenset({"table", "tbody", "tfoot", "thead"}),
    **dict.fromkeys(("tbody", "tfoot", "thead"), frozenset({"table"})),
    **dict.fromkeys(("td", "th"), frozenset({"tr"})),
}
_BLOCKS = frozenset({"blockquote", "center", "div", "dl", "h1", "h2", "h3", "h4", "hr", "ol", "p", "table", "ul"})
_ENDING_P = frozenset({"div", "p"})
_ELEMENTS = 1000  # in all hidden elements, to look at
HIDING = _INLINE | {"map", "blockquote", "center", "div", "h1", "h2", "h3", "h4", "p"}  # that may hide text for certain
_HOLDING = frozenset({"blockquote", "center", "div"})  # of these, blocks may be in them


def surely_end(markup: str, hiding: Sequence[tuple[str, int]], names: Sequence[str]) -> bool:
    """Tell whether each of some elements ends at one place for every parser.

    An element is its name, and how many of that name the parser has seen up to this one. `names`: those of all elements
    that it has seen.

    >>> surely_end("<div>a<p>b</p></div>", [("div", 1)], ["div", "p"])
    True
    >>> surely_end("<td><div>a<td>b", [("div", 1)], ["td", "div", "td"])
    False
    """
    plain = _PLAIN.match(markup)
    if plain is None or plain.end() < len(markup):
        return False
    markup = _UNSEEN.sub("", markup)
    left = _ELEMENTS
    for name in dict.fromkeys(name for name, _ in hiding):
        starts = [found.start() for found in re.finditer(rf"<{name}(?={_BLANK}|[/>])", markup, _FLAGS)]
        if len(starts) != names.count(name):
            return False
        for each, number in hiding:
            if each == name:
                left = _left_after(markup, starts[number - 1], left)
                if left <= 0:
                    return False
    return True


def _left_after(markup: str, start: int, left: int) -> int:
    """Return how many elements may still be looked at after the one that starts there; 0 if its end is not sure."""
    stack: list[str] = []
    while left > 0:
        tag = _TAG.match(markup, start)
        if tag is None:
            return 0
        name = tag[2].lower()
        if tag[1]:
            if not stack or stack.pop() != name:
                return 0
        elif stack == ["p"] and name in _ENDING_P:
            return left
        elif name not in _EMPTY:
            if tag[3] or (stack and not _is_allowed(name, stack)):
                return 0
            stack.append(name)
        left -= 1
        if not stack:
            return left
        start = markup.find("<", tag.end())
        if start < 0:
            return left
    return 0


def _is_allowed(name: str, stack: Sequence[str]) -> bool:
    """Tell whether an element of that name ends none of the elements that are open, nor any around them."""
    if name in _PARENTS:
        return stack[-1] in _PARENTS[name]
    if stack[0] in _HOLDING:
        return name in _INLINE or (name in _BLOCKS and stack[-1] not in _INLINE and stack[-1] != "p")
    return name in _INLINE and name != _LINK
