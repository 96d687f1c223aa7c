"""Feed markup to libxml2 so that many open elements cost little.

libxml2 compares each end tag, and each <body>, with the open elements until one has that name. 126 KB took it twelve
seconds: `<b><div>`, 18,000 `<x>`, and as many `</b>`, which may not end the <b>. So markup of very many tags comes in
pieces, and the most comparisons that a piece can take are counted. Once they are too many, each further piece is read
as if no element were open.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from lxml.etree import HTMLParser  # type: ignore[import-untyped]  # lxml has no types

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.tokens.raw_text import WITHOUT_TAGS, end_of_content

_COMPARISONS = 3_000_000  # each takes at most 0.03 µs
_COMPARISONS_LATER = 20_000  # until the open elements are forgotten again
_CHARS = 16  # of a name, which take as long again
_TAGS = 128  # in a piece
_FLAGS = re.ASCII | re.IGNORECASE
_BLANK = r"[ \t\n\r\f]"
# A piece begins outside of tags, comments and raw text. What nothing ends reaches to the end of the markup.
_VALUE = rf"""={_BLANK}*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|(?!["']))"""
_REST_OF_TAG = rf"""(?:[^>"'=]++|["']|{_VALUE})*(?:>|\Z)"""
_NAME_OF_RAW = rf"(?:{'|'.join(sorted(WITHOUT_TAGS))})(?={_BLANK}|[/>])"
_SHORT_RAW = (  # in a comment a script may hold another
    rf"<(script|style|textarea|title)(?={_BLANK}|[/>]){_REST_OF_TAG}[^<]*+(?:<(?!/\1|script)[^<]*+){{0,20}}</\1>"
)
_COMMENT = r"<!--(?:-?>|[^-]*+(?:-(?!-!?>)[^-]*+)*(?:--!?>)?)"
_MARK = rf"{_SHORT_RAW}|{_COMMENT}|<(?!{_NAME_OF_RAW})(?:/?[a-z]{_REST_OF_TAG})?"
_PIECE = lazy_pattern(rf"(?:[^<]*+(?:{_MARK})){{1,{_TAGS}}}", _FLAGS)
_RAW_TAG = lazy_pattern(rf"[^<]*+<({_NAME_OF_RAW}){_REST_OF_TAG}", _FLAGS)
_PART_OF_RAW = lazy_pattern(rf"[^<]++|(?:<[^<]*+){{1,{_TAGS}}}")
_COMPARED = lazy_pattern(rf"{_COMMENT}|</([a-z][^\s/>]*+)|<body", _FLAGS)
_ROOT = "<html><body>"
_OF_ROOT = frozenset({"html", "body"})


class Target(Protocol):
    """What takes the events of a parser."""

    def start(self, name: str, attrs: Mapping[str, str]) -> None:
        """Take the start of an element."""

    def end(self, name: str) -> None:
        """Take the end of an element."""

    def data(self, text: str) -> None:
        """Take a piece of text."""

    def comment(self, text: str) -> None:
        """Take a comment."""


def may_be_slow(markup: str) -> bool:
    """Tell whether open elements and end tags can be too many; they are most if each are half of all tags."""
    tags = markup.count("<")
    return tags * tags > 4 * _COMPARISONS


def feed(markup: str, target: Target) -> bool:
    """Give a parser's events for some markup to a target. Returns whether all elements were followed to their ends."""
    counting = _Counting(target)
    parser = HTMLParser(target=counting, recover=True)
    left, is_followed = _COMPARISONS, True
    for piece, is_raw in _pieces(markup):
        comparisons = _comparisons(piece)
        starts = piece.count("<") - piece.count("</")
        left -= comparisons * (len(counting.open) + starts)
        is_followed = is_followed and left >= 0
        if left >= 0:
            parser.feed(piece)
        elif is_raw:  # libxml2 takes what follows <title/> for markup
            parser.feed(piece.replace("<", " "))
        else:
            with counting.forgetting():
                parser.close()
            parser.feed(_ROOT + piece)
            left = _COMPARISONS_LATER - comparisons * starts
    parser.close()
    counting.close_forgotten()
    return is_followed


def _pieces(markup: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces in order, and whether each is inside an element whose text has no tags in it."""
    place = 0
    while place < len(markup):
        found = _PIECE.match(markup, place)
        if found is not None:
            yield found[0], False
            place = found.end()
            continue
        tag = _RAW_TAG.match(markup, place)
        if tag is None:
            yield markup[place:], False
            return
        yield tag[0], False
        place = tag.end()
        end = end_of_content(markup, place, tag[1].lower())
        for part in _PART_OF_RAW.findall(markup, place, end):
            yield part, True
        place = end


def _comparisons(piece: str) -> int:
    """Return how often names of the piece are compared with that of each open element; a long name counts more.

    >>> _comparisons("<b></b><!--</b>--></i><BODY><body></an-element-of-35-letters-and-no-dot>")
    7
    """
    return sum([1 + len(found[1] or "") // _CHARS for found in _COMPARED.finditer(piece) if found[0][:4] != "<!--"])


class _Counting:
    """Hands on what a parser finds, and knows the open elements.

    Those that the parser forgets stay open for the target, so that they neither part a word nor lose their style.
    """

    def __init__(self, target: Target) -> None:
        self.open: list[str] = []
        self._forgotten: list[str] = []
        self._is_forgetting = False
        self._has_root = False
        self._target = target
        self.data, self.comment = target.data, target.comment

    def start(self, name: str, attrs: Mapping[str, str]) -> None:
        """Take the start of an element."""
        self.open.append(name)
        if not (self._has_root and name in _OF_ROOT):
            self._target.start(name, attrs)

    def end(self, name: str) -> None:
        """Take the end of an element."""
        self.open.pop()
        if not (self._is_forgetting or (self._has_root and name in _OF_ROOT)):
            self._target.end(name)

    def close(self) -> None:
        """Take the end of the markup."""

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """Have the parser end its elements without ending them for the target, unless one of them has raw text."""
        self._is_forgetting = WITHOUT_TAGS.isdisjoint(self.open)
        if self._is_forgetting:
            self._forgotten += [name for name in self.open if not (self._has_root and name in _OF_ROOT)]
        yield
        self._is_forgetting, self._has_root = False, True

    def close_forgotten(self) -> None:
        """End for the target what the parser has forgotten."""
        for name in reversed(self._forgotten):
            self._target.end(name)
