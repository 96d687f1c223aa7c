"""HTML to what a reader sees, and to what the sender hides from the reader.

BeautifulSoup reads the markup with the lxml builder, but the tree is not built: the builder's events go to
`_Reader`, which writes the text down as it comes. A tree of the same page is made at about 1 MB/s, the events
pass at 5 MB/s, and a filter that reads each new message has no use for a tree.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from bs4 import BeautifulSoup
from bs4.builder import ParserRejectedMarkup
from bs4.builder._lxml import LXMLTreeBuilder
from bs4.element import Comment, NavigableString

from spamnb.mail.limits import Limits

# Elements that do not break a word: `V<b></b>iagra` is one word, `a<br>b` and `a<td>b` are two.
_INLINE = frozenset(
    """a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd label mark nobr q s samp small span strike
    strong sub sup tt u var wbr""".split()  # noqa: SIM905 - a list of names is read more easily without quotes
)
_UNSEEN = frozenset({"script", "style", "head", "title", "template", "noframes", "object", "applet"})
_MEANINGFUL = frozenset(
    "form input iframe script object embed applet map meta button select textarea video svg".split()  # noqa: SIM905
)
_XML_DECLARATION = re.compile(r"\A\s*<\?xml[^>]{0,200}\?>")
_ZERO_SIZE = re.compile(r"font-size\s*:\s*[01](?:\.\d*)?\s*(?:p[tx]|em|%|;|!|$)|(?:max-)?(?:height|width)\s*:\s*0")
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all|opacity\s*:\s*0(?:\.0*)?\s*(?:;|$)"
)
_COLOUR = re.compile(r"(?:^|;)\s*color\s*:\s*([#\w]{1,30})")
_BACKGROUND = re.compile(r"background(?:-color)?\s*:\s*([#\w]{1,30})")
_NAMED_COLOURS = {"white": "#ffffff", "black": "#000000", "red": "#ff0000", "yellow": "#ffff00", "blue": "#0000ff"}
_HOST = re.compile(r"\A\s*(?:[a-z][a-z0-9+.-]*:)?//([^/?#\s\\]{1,255})", re.IGNORECASE)
_SHOWN_HOST = re.compile(
    r"\A\s*(?:https?://)?((?:[a-z0-9-]{1,63}\.){1,5}[a-z]{2,12})(?:[/?:]\S{0,200})?\s*\Z", re.IGNORECASE
)


@dataclass(slots=True)
class HtmlText:
    """What was read: `visible` and `hidden` text, `links` and `images` as written, and what stood out."""

    visible: str = ""
    hidden: str = ""
    title: str = ""
    links: list[str] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    features: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


def read_html(markup: str, limits: Limits) -> HtmlText:
    """Read markup of any quality. Never raises for bad markup: what could be read is returned, with a note."""
    read = HtmlText()
    if len(markup) > limits.html_chars:
        read.notes.append("limit:html_chars")
        markup = markup[: limits.html_chars]
    markup = _XML_DECLARATION.sub("", markup).replace("\0", "")
    if "<" not in markup:  # nothing to parse, and BeautifulSoup warns of such "markup"
        read.visible = markup
        return read
    reader = _Reader(read, limits)
    try:
        reader.read(markup)
    except (ParserRejectedMarkup, AssertionError, ValueError, RecursionError):
        read.notes.append("html-broken")
    reader.finish()
    return read


@dataclass(frozen=True, slots=True)
class _Style:
    """How text in an element looks; inherited by the elements in it."""

    unseen: bool = False  # never shown by any reader: script, style, head
    hidden: bool = False
    colour: str = "#000000"
    background: str = "#ffffff"


class _Reader(BeautifulSoup):
    """A BeautifulSoup that takes the builder's events and builds nothing."""

    def __init__(self, read: HtmlText, limits: Limits) -> None:
        self._read = read
        self._limits = limits
        self._visible: list[str] = []
        self._hidden: list[str] = []
        self._title: list[str] | None = None
        self._styles: list[tuple[str, _Style]] = [("", _Style())]
        self._link: tuple[str, int] | None = None

    def read(self, markup: str) -> None:
        """Parse: the superclass's constructor is what runs the builder."""
        super().__init__(markup, builder=LXMLTreeBuilder())

    def finish(self) -> None:
        """Put the pieces together; also after a fault in the midst."""
        self._read.visible = "".join(self._visible)
        self._read.hidden = "".join(self._hidden)

    # The builder's events. Their signatures are BeautifulSoup's.

    def handle_starttag(self, name: str, namespace: Any, nsprefix: Any, attrs: Any, *rest: Any, **more: Any) -> None:
        """Note what an element means for the text in it."""
        if name not in _INLINE:
            self._break()
        self._read.features.update((name,) if name in _MEANINGFUL else ())
        style = self._styles[-1][1]
        if len(self._styles) > self._limits.html_depth:
            self._note("limit:html_depth")
        if name in _UNSEEN:
            style = _Style(True, style.hidden, style.colour, style.background)
            if name == "title":
                self._title = []
        elif attrs:
            style = self._styled(attrs, style)
        self._styles.append((name, style))
        if name == "a":
            self._open_link(attrs)
        elif name == "area":
            self._add(self._read.links, attrs.get("href", ""))
        elif name == "img":
            self._image(attrs)
        elif name == "form":
            self._add(self._read.links, attrs.get("action", ""))

    def handle_endtag(self, name: str, nsprefix: Any = None) -> None:
        """Close an element; lxml closes each one that it opened, in order."""
        if name not in _INLINE:
            self._break()
        if name == "a":
            self._close_link()
        elif name == "title" and self._title is not None:
            self._read.title = "".join(self._title)[:500]
            self._title = None
        if len(self._styles) > 1:
            self._styles.pop()

    def handle_data(self, data: str) -> None:
        """Write text down where a reader would, or would not, see it."""
        style = self._styles[-1][1]
        if style.unseen:
            if self._title is not None:
                self._title.append(data)
        elif style.hidden:
            self._hidden.append(data)
        else:
            self._visible.append(data)

    def endData(self, containerClass: type[NavigableString] | None = None) -> None:  # noqa: N802, N803 - BeautifulSoup's names
        """Take back a comment, declaration or instruction: the builder hands them over as text first."""
        if containerClass is None:
            return
        text = self._hidden if self._styles[-1][1].hidden else self._visible
        if not self._styles[-1][1].unseen and text:
            text.pop()
        if containerClass is Comment:
            self._read.features.add("comment")

    def object_was_parsed(self, *_: Any, **__: Any) -> None:
        """Nothing is kept."""

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

    def _styled(self, attrs: Mapping[str, str], style: _Style) -> _Style:
        css = attrs.get("style", "")[:1000].lower()
        colour = _colour(attrs.get("color") or attrs.get("text") or _first(_COLOUR, css)) or style.colour
        background = _colour(attrs.get("bgcolor") or _first(_BACKGROUND, css)) or style.background
        hidden = style.hidden or "hidden" in attrs
        if css:
            hidden = hidden or bool(_HIDDEN.search(css) or _ZERO_SIZE.search(css))
        if not hidden and (colour, background) != (style.colour, style.background):
            hidden = _alike(colour, background)
            if hidden:
                self._read.features.add("same-colour")
        return _Style(style.unseen, hidden, colour, background)

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


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text) if text else None
    return found[1] if found else ""


def _colour(written: str) -> str:
    """A colour as `#rrggbb`; "" where it is none that we know.

    >>> _colour("#FFF"), _colour("White"), _colour("ffffff")
    ('#ffffff', '#ffffff', '#ffffff')
    """
    colour = written.strip().lower()
    colour = _NAMED_COLOURS.get(colour, colour)
    digits = colour.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(2 * digit for digit in digits)
    return f"#{digits}" if re.fullmatch(r"[0-9a-f]{6}", digits) else ""


def _alike(colour: str, background: str) -> bool:
    """Whether text in `colour` on `background` cannot be read: no channel differs by more than 16 of 255."""
    return all(abs(int(colour[i : i + 2], 16) - int(background[i : i + 2], 16)) <= 16 for i in (1, 3, 5))


def _same_site(target: str, shown: str) -> bool:
    """Whether two hosts share their last two labels; enough to tell a bank from a stranger."""
    host = unquote(target).rpartition("@")[2].partition(":")[0].lower().rstrip(".")
    return host.split(".")[-2:] == shown.lower().rstrip(".").split(".")[-2:]
