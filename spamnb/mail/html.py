"""HTML to what a reader sees, and to what the sender hides from the reader.

BeautifulSoup reads the markup with the lxml builder, but the tree is not built: the builder's events go to
`_Reader`, which writes the text down as it comes. A tree of the same page is made at about 1 MB/s, the events
pass at 5 MB/s, and a filter that reads each new message has no use for a tree.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

from bs4 import BeautifulSoup
from bs4.builder import ParserRejectedMarkup
from bs4.builder._lxml import LXMLTreeBuilder

from spamnb.mail.limits import Limits
from spamnb.mail.sheet import Sheet
from spamnb.mail.style import STYLING, Style, styled
from spamnb.mail.work import Work

# Elements that do not break a word: `V<b></b>iagra` is one word, `a<br>b` and `a<td>b` are two.
_INLINE = frozenset(
    """a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd label mark nobr q s samp small span strike
    strong sub sup tt u var wbr""".split()  # noqa: SIM905 - a list of names is read more easily without quotes
)
_UNSEEN = frozenset({"script", "style", "head", "title", "template", "noframes", "object", "applet"})
_MEANINGFUL = frozenset(
    "form input iframe script object embed applet map meta button select textarea video svg".split()  # noqa: SIM905
)
_UNITS_STYLED = 15  # of work, to find out how an element looks
_ELEMENT_CHARS, _ELEMENTS = 10, 64  # the longest name in HTML 4 that mail uses, and far more than one message does
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]{0,200}\?>")
_HOST = re.compile(r"\A\s*(?:[a-z][a-z0-9+.-]*:)?//([^/?#\s\\]{1,255})", re.IGNORECASE)
_SHOWN_HOST = re.compile(
    r"\A\s*(?:https?://)?((?:[a-z0-9-]{1,63}\.){1,5}[a-z]{2,12})(?:[/?:]\S{0,200})?\s*\Z", re.IGNORECASE
)


@dataclass(slots=True)
class HtmlText:
    """What was read: `visible` and `hidden` text, `links` and `images` as written, elements, and what stood out."""

    visible: str = ""
    hidden: str = ""
    title: str = ""
    links: list[str] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    elements: set[str] = field(default_factory=set)
    features: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


def read_html(markup: str, limits: Limits, work: Work | None = None) -> HtmlText:
    """Read markup of any quality. Never raises for bad markup: what could be read is returned, with a note.

    Where no `work` is left, elements look like those around them.
    """
    read = HtmlText()
    if len(markup) > limits.html_chars:
        read.notes.append("limit:html_chars")
        markup = markup[: limits.html_chars]
    markup = _XML_DECLARATION.sub("", markup).replace("\0", "")
    if "<" not in markup:  # BeautifulSoup warns of "markup" that might be a file's name
        markup = "<p>" + markup
    reader = _Reader(read, limits, work or Work(limits.work))
    try:
        reader.read(markup)
    except (ParserRejectedMarkup, AssertionError, ValueError, RecursionError):
        read.notes.append("html-broken")
    reader.finish()
    return read


class _Builder(LXMLTreeBuilder):
    """The lxml builder, handing the parser's events straight on.

    The superclass makes two copies of each element's attributes and looks for XML namespaces, which HTML does
    not have: 30 of the 55 microseconds that an element took.
    """

    soup: "_Reader"

    def prepare_markup(self, markup: Any, *_: Any, **__: Any) -> Iterator[tuple[Any, None, None, bool]]:
        """One reading: text needs no second try in another encoding."""
        yield markup.removeprefix("\ufeff"), None, None, False

    def start(self, tag: Any, attrib: Any) -> None:  # type: ignore[override]  # without nsmap, lxml makes none
        """An element opens."""
        self.soup.handle_starttag(tag, None, None, attrib)

    def end(self, tag: Any) -> None:
        """An element closes; lxml closes each one that it opened, in order."""
        self.soup.handle_endtag(tag)

    def data(self, data: Any) -> None:
        """Text."""
        self.soup.handle_data(data)

    def comment(self, _: Any) -> None:
        """A comment: that there is one is all that is kept."""
        self.soup.handle_comment()

    def pi(self, target: str, data: str) -> None:
        """Nothing is kept of an instruction."""

    def doctype(self, name: str, pubid: str, system: str) -> None:
        """Nothing is kept of a declaration."""


class _Reader(BeautifulSoup):
    """A BeautifulSoup that takes the builder's events and builds nothing."""

    def __init__(self, read: HtmlText, limits: Limits, work: Work) -> None:
        self._read = read
        self._work = work
        self._limits = limits
        self._visible: list[str] = []
        self._hidden: list[str] = []
        self._title: list[str] | None = None
        self._css: list[str] | None = None
        self._sheet = Sheet()
        self._styles: list[Style] = [Style()]
        self._link: tuple[str, int] | None = None

    def read(self, markup: str) -> None:
        """Parse: the superclass's constructor is what runs the builder."""
        super().__init__(markup, builder=_Builder())

    def finish(self) -> None:
        """Put the pieces together; also after a fault in the midst."""
        self._read.visible = "".join(self._visible)
        self._read.hidden = "".join(self._hidden)

    # The builder's events. Their signatures are BeautifulSoup's.

    def handle_starttag(self, name: str, namespace: Any, nsprefix: Any, attrs: Any, *rest: Any, **more: Any) -> None:
        """Note what an element means for the text in it."""
        if name not in _INLINE:
            self._break()
        if name in _MEANINGFUL:
            self._read.features.add(name)
        if len(name) <= _ELEMENT_CHARS and len(self._read.elements) < _ELEMENTS:
            self._read.elements.add(name)
        style = self._styles[-1]
        if len(self._styles) > self._limits.html_depth:
            self._note("limit:html_depth")
            style = _unseen(style)
        if name in _UNSEEN:
            style = _unseen(style)
            if name == "title":
                self._title = []
            elif name == "style" and _is_for_all(attrs):
                self._css = []
        elif self._sheet.rules or (attrs and not STYLING.isdisjoint(attrs)):
            style = self._styled(name, attrs, style)
        self._styles.append(style)
        if name == "a":
            self._open_link(attrs)
        elif name == "area":
            self._add(self._read.links, attrs.get("href", ""))
        elif name == "img":
            self._image(attrs)
        elif name == "form":
            self._add(self._read.links, attrs.get("action", ""))

    def handle_endtag(self, name: str, nsprefix: Any = None) -> None:
        """Close an element."""
        if name not in _INLINE:
            self._break()
        if name == "a":
            self._close_link()
        elif name == "title" and self._title is not None:
            self._read.title = "".join(self._title)[:500]
            self._title = None
        elif name == "style" and self._css is not None:
            self._sheet.add("".join(self._css))
            self._css = None
        if len(self._styles) > 1:
            self._styles.pop()

    def handle_data(self, data: str) -> None:
        """Write text down where a reader would, or would not, see it."""
        style = self._styles[-1]
        if style.unseen:
            if self._title is not None:
                self._title.append(data)
            elif self._css is not None:
                self._css.append(data)
        elif style.conceals:
            self._hidden.append(data)
        else:
            self._visible.append(data)

    def handle_comment(self) -> None:
        """Note that there are comments."""
        self._read.features.add("comment")

    # What the events mean.

    def _break(self) -> None:
        for text in (self._visible, self._hidden):
            if text and text[-1] != "\n":
                text.append("\n")

    def _note(self, note: str) -> None:
        if note not in self._read.notes:
            self._read.notes.append(note)

    def _add(self, found: list[str], url: str) -> None:
        if not url:
            return
        if len(found) >= self._limits.links:
            self._note("limit:links")
            return
        found.append(url[:2000].strip())

    def _styled(self, name: str, attrs: Mapping[str, str], above: Style) -> Style:
        if not self._work.take(_UNITS_STYLED):
            return above
        sheet = self._sheet.of(name, attrs) if self._sheet.rules else []
        if not sheet and STYLING.isdisjoint(attrs):
            return above
        style = styled(attrs, above, sheet)
        if style.same_colour and not self._sheet.certain:
            style = replace(style, same_colour=False)
        if style.same_colour and not above.same_colour:
            self._read.features.add("same-colour")
        return style

    def _open_link(self, attrs: Mapping[str, str]) -> None:
        href = attrs.get("href", "")
        self._add(self._read.links, href)
        self._link = (href, len(self._visible))

    def _close_link(self) -> None:
        if self._link is None:
            return
        href, start = self._link
        self._link = None
        target = _HOST.match(href[:2000])
        shown = _SHOWN_HOST.match("".join(self._visible[start : start + 20])[:300])
        if target and shown and not _same_site(target[1], shown[1]):
            self._read.features.add("link-shows-another-host")

    def _image(self, attrs: Mapping[str, str]) -> None:
        source = attrs.get("src", "")
        self._add(self._read.images, source)
        if source.lower().startswith("cid:"):
            self._read.features.add("image-attached")
        elif source.lower().startswith("data:"):
            self._read.features.add("image-inline")
        if attrs.get("width", "").strip() in {"0", "1"} and attrs.get("height", "").strip() in {"0", "1"}:
            self._read.features.add("image-invisible")
        if alt := attrs.get("alt", "")[:500]:
            self.handle_data(f" {alt} ")


def _unseen(style: Style) -> Style:
    return style if style.unseen else replace(style, unseen=True)


def _is_for_all(attrs: Mapping[str, str]) -> bool:
    """Whether a <style> holds on every screen; what AMP hides before its own program runs is shown after all."""
    media = attrs.get("media", "all").strip().lower()
    return media in {"", "all", "screen"} and not any("boilerplate" in name for name in attrs)


def _same_site(target: str, shown: str) -> bool:
    """Whether two hosts share their last two labels; enough to tell a bank from a stranger."""
    host = unquote(target).rpartition("@")[2].partition(":")[0].lower().rstrip(".")
    return host.split(".")[-2:] == shown.lower().rstrip(".").split(".")[-2:]
