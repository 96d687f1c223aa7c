"""Turn markup into the events of its parser.

BeautifulSoup reads the markup with the lxml builder, but no tree is built: this builder takes the parser's events as
they come. That is several times faster than a tree, and the filter needs none.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bs4 import BeautifulSoup
from bs4.builder import LXMLTreeBuilder, ParserRejectedMarkup  # type: ignore[attr-defined]  # bs4 sets the first late
from lxml.etree import LIBXML_VERSION, ParserError  # type: ignore[import-untyped]  # lxml has no types

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.tokens import open_elements, repair
from spamnb.mail.tokens.elements import BREAKING

_READS_HTML_5 = LIBXML_VERSION >= (2, 14)
# Browsers take </br>, and </p> without a <p>, for a break (HTML 5, 13.2.6.4.7). libxml2 drops them. Only a text right
# behind </p>, or behind elements that break no word, could be one word with the text before.
_BLANK = r"[ \t\n\r\f]"
_BREAKING = rf"/?(?:{'|'.join(sorted(BREAKING))})[ \t\n\r\f/>]"
_BREAK = lazy_pattern(
    rf"</(?=br[ \t\n\r\f/>]|p{_BLANK}*+>(?:<(?!{_BREAKING})[^<>]{{0,500}}>){{0,20}}[^\s<])", re.ASCII | re.IGNORECASE
)
_XML_DECLARATION = lazy_pattern(r"\A\s*<\?xml[^>]{0,200}\?>")


class Events(LXMLTreeBuilder):  # type: ignore[misc]  # see the import
    """A builder that builds nothing. Its methods have lxml's signatures.

    `is_followed`: each element was open up to its end; otherwise there were too many.
    """

    is_followed = True

    def feed_all(self, markup: str) -> bool:
        """Read markup of any quality. Returns whether it was read to its end."""
        markup = _XML_DECLARATION.sub("", markup).replace("\0", "").removeprefix("\ufeff")
        markup = _BREAK.sub("\n</", markup)
        if not _READS_HTML_5:
            markup = repair.repaired(markup)
        if "<" not in markup:  # BeautifulSoup warns of "markup" that might be a file's name
            markup = "<p>" + markup
        try:
            BeautifulSoup(markup, builder=self)
        except (ParserRejectedMarkup, AssertionError, ValueError, RecursionError):
            return False
        return True

    def feed(self, markup: str) -> None:
        """Give the markup to a parser, as BeautifulSoup wants it."""
        if not open_elements.may_be_slow(markup):
            super().feed(markup)
            return
        if not _READS_HTML_5:
            markup = repair.without_charsets(markup)
        try:
            self.is_followed = open_elements.feed(markup, self)
        except (UnicodeDecodeError, LookupError, ParserError) as error:
            raise ParserRejectedMarkup(error) from error

    def prepare_markup(self, markup: str, *_: Any, **__: Any) -> Iterator[tuple[str, None, None, bool]]:
        """Yield one reading: text needs no second try in another encoding."""
        yield markup, None, None, False

    def start(self, name: str, attrs: Mapping[str, str]) -> None:
        """Take the start of an element."""

    def end(self, name: str) -> None:
        """Take the end of an element; lxml closes each one that it opened, in order."""

    def data(self, text: str) -> None:
        """Take a piece of text."""

    def comment(self, text: str) -> None:
        """Take a comment."""

    def pi(self, target: str, data: str) -> None:
        """Ignore an instruction."""

    def doctype(self, name: str, pubid: str, system: str) -> None:
        """Ignore a declaration."""
