"""Split HTML into text that a reader sees, and text that the sender hides from the reader."""

import inspect
import re
from bisect import bisect_left
from collections.abc import Mapping
from html import unescape
from typing import NamedTuple

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.limits import Limits, Work
from spamnb.mail.tokens.css import BLANKS, DOUBTFUL, HIDDEN, SHEET_CHARS, STYLING, Sheet, Style, declared, styled
from spamnb.mail.tokens.elements import (
    BOXES,
    BREAKING,
    EMPTY,
    ENDING,
    FRAMES,
    MEANINGFUL,
    NOT_RAW_IN,
    OF_TABLE,
    PERHAPS_APART,
    PLAIN,
    RAW,
    SPECIAL,
    TELLING,
)
from spamnb.mail.tokens.generated import (
    SHOWING,
    counted,
    generated,
    generated_by,
    imported,
    page_in,
    shown_values,
    unescaped,
)
from spamnb.mail.tokens.links import THIN, HtmlText, Links
from spamnb.mail.tokens.markup import Events
from spamnb.mail.tokens.nesting import HIDING, surely_end

_NOTHING = ""
_BACKWARDS, _FORWARDS = "\u202e", "\u202c"  # the marks for letters that run backwards, and for their end
_RAW_ATTRS = frozenset({"language", "media", "src", "type"})  # with these alone raw text has no style of its own
_TAG = lazy_pattern(r"</?[a-z]", re.IGNORECASE)
_TAG_OF_RAW = lazy_pattern(
    r"</?(?:script|style|title|textarea|xmp|iframe|noembed|noframes|plaintext)[^<>]{0,2000}>?",
    re.ASCII | re.IGNORECASE,
)
_MOST_HIDING = 100  # elements that hide text for certain, if it is sure where each of them ends
_HARMLESS_HTTP = frozenset({"content-type", "content-language", "x-ua-compatible"})  # of <meta http-equiv>
_STYLE_ATTRS = frozenset({"class", "id", "lang", "media", "style", "type"})
# Characters that no honest page has: browsers read some as U+FFFD, and libxml2 drops some.
_CONTROL = lazy_pattern(
    r"[\x00-\x08\x0b\x0e-\x1f\x7f]|&#0*(?:[0-8]|1[14-9]|2\d|3[01]|127)(?!\d)|&#x0*(?:[0-8bef]|1[0-9a-f]|7f)(?![\da-f])",
    re.IGNORECASE,
)
_LOOKED_AT = (*sorted(STYLING), "class", "id")
_PIECES = 40  # of a link's text
_CDATA = "[CDATA["
_UNITS_STYLED = 15  # of work, to determine the look of an element
_UNITS_MARKUP, _UNITS_A_TAG = 15, 6  # of work, per hundred characters, and for each tag in them
_UNITS_A_PAGE = 400  # of work, for each page in the page
_UNITS_A_SHEET, _UNITS_SHEET = 20, 40  # of work, for each style sheet, and per hundred characters of it
_MARKS = "\"'/[\\@"  # of a sheet, half a unit each: at each of them a string or something like that may begin
_UNITS_NESTING = 2  # of work, per hundred characters, to see where elements end
_ELEMENT_CHARS, _ELEMENTS = 10, 64  # the longest name in HTML 4 that mail uses, and far more than one message does


def read_html(markup: str, limits: Limits, work: Work | None = None) -> HtmlText:
    """Read markup of any quality. Never raises for bad markup: it returns what could be read, with a note.

    If no `work` is left, elements look like those around them.
    """
    read = HtmlText()
    if len(markup) > limits.html_chars:
        read.notes.append("limit:html_chars")
        markup = markup[: limits.html_chars]
    reader = _Reader(read, limits, work or Work(limits.work))
    if not reader.feed_all(markup):
        read.notes.append("html-broken:")
    reader.finish()
    return read


class _Sink:
    """The place for text that is not visible, or in doubt: among all text, with a mark at its place."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts
        self.places: list[int] = []

    def append(self, text: str) -> None:
        """Write a piece of text down."""
        self.places.append(len(self._texts))
        self._texts.append(text)


_Text = list[str] | _Sink


class _Look(NamedTuple):
    """The style of an element, how surely its text cannot be seen, whether it breaks a word, and runs backwards."""

    style: Style
    level: int
    breaks: bool
    is_reversed: bool = False


class _Reader(Events):
    """Writes the text down as the parser's events come."""

    def __init__(self, read: HtmlText, limits: Limits, work: Work) -> None:
        super().__init__()
        self._texts: list[str] = [""]  # in order, visible or not
        self._in_doubt, self._hidden, self._of_some = _Sink(self._texts), _Sink(self._texts), _Sink(self._texts)
        self._by_level: tuple[_Text, ...] = (self._texts, self._in_doubt, self._hidden)
        self._read = read
        self._work = work
        self._for_text = work.left // 2  # what the style sheets must leave
        self._limits = limits
        self._links = Links(read, limits.links)
        self._depth = limits.html_depth
        self._raw_attrs: Mapping[str, str] = {}
        self._raw_markup: list[str] = []
        self._pages: list[str] = []  # in frames
        self._shows_attributes = False  # the sheet does
        self._around: dict[str, tuple[Style, _Text]] = {}
        self._sheet = Sheet()
        self._is_styled = False  # by the sheet
        self._looks: dict[tuple[object, ...], _Look] = {}
        # For each open element: the style, None if no reader shows its text; where its text is written; whether it
        # breaks words; and what ends its text.
        self._open: list[tuple[Style | None, _Text, bool, str]] = [(Style(), self._texts, True, _NOTHING)]
        self._names: list[str] = []  # of all elements so far
        self._met: set[str] = set()  # each of these names
        self._hiding: list[tuple[str, int]] = []  # elements that hide text for certain: name, and number of that name
        self._markup = ""
        self._tables = 0  # that are open

    def start(self, name: str, attrs: Mapping[str, str]) -> None:
        """Note the effect of an element on the text in it."""
        self._names.append(name)
        if name not in self._met:
            self._meet(name)
        style, text, _, _ = self._open[-1]
        breaks, is_reversed = name in BREAKING, False
        if len(self._open) > self._depth and name not in RAW:
            self._read.note("limit:html_depth")
        elif name in SPECIAL:
            style, text = self._special(name, attrs, style)
        elif self._is_styled or name == "bdo" or (attrs and not STYLING.isdisjoint(attrs)):
            look = self._styled(name, attrs, style)
            if look is not None:
                if look.level == HIDDEN:
                    self._hide(name, style)
                style, text = look.style, self._by_level[look.level]
                breaks, is_reversed = look.breaks, look.is_reversed
        if name == "table":
            self._tables += 1
        elif breaks and name in PERHAPS_APART:
            breaks = self._is_apart(name, attrs)
        if breaks and self._texts[-1] != "\n":
            self._texts.append("\n")
        at_end = _NOTHING
        if is_reversed or text is not self._texts:
            at_end = self._open_oddly(name, text, breaks, is_reversed)
        self._open.append((style, text, breaks, at_end))
        if name in TELLING:
            self._read_attributes(name, attrs)

    def end(self, name: str) -> None:
        """Close an element; lxml closes each one that it opened, in order."""
        if name == "a":
            self._links.close(self._visible_pieces)
        elif name == "table":
            self._tables -= 1
        if len(self._open) > 1:
            _, text, breaks, at_end = self._open.pop()
            if at_end:
                text.append(at_end)
            if breaks and self._texts[-1] != "\n":
                self._texts.append("\n")
            if name in RAW and isinstance(text, list):
                self._take_raw(name, "".join(text))

    def _is_apart(self, name: str, attrs: Mapping[str, str]) -> bool:
        """Tell whether a part of a table is in one, or whether a box is to be seen."""
        if name in OF_TABLE:
            return self._tables > 0
        return attrs.get("width", "").strip() not in THIN and attrs.get("type", "").lower() != "hidden"

    def _open_oddly(self, name: str, text: _Text, breaks: bool, is_reversed: bool) -> str:
        """Begin the text of an element that may be hidden or runs backwards. Return what ends it."""
        if is_reversed:
            text.append(_BACKWARDS)
            return _FORWARDS
        if text is self._in_doubt and not breaks and name in BREAKING:  # it breaks a word if it is seen
            text.append("\n")
            return "\n"
        return _NOTHING

    def data(self, text: str) -> None:
        """Write text to the place for visible or for hidden text."""
        self._open[-1][1].append(text)

    def comment(self, text: str) -> None:
        """Note that there are comments. In <svg> and <math> one form of them is text for a browser."""
        self._read.features.add("comment")
        if text.startswith(_CDATA):
            self._of_some.append(f"\n{text.removeprefix(_CDATA).removesuffix(']]')}\n")

    def finish(self) -> None:
        """Determine which text is visible."""
        while self._pages or self._raw_markup:
            if self._pages:
                self._read_again(self._pages.pop())
            else:
                raw, self._raw_markup = "\n".join(self._raw_markup), []
                self._read_again(_TAG_OF_RAW.sub("\n", raw))
        self._show_by_sheet()
        hidden, in_doubt = self._hidden.places, self._in_doubt.places
        is_doubted = self._sheet.in_doubt or self._work.is_spent
        if is_doubted or (hidden and not self._surely_end()):  # hidden text may be visible after all
            hidden, in_doubt = [], [*in_doubt, *hidden]
        if hidden or in_doubt:
            self._read.hidden = " ".join([self._texts[place] for place in (*hidden, *in_doubt)])
        self._read.visible = self._without(hidden)
        unsure = [*in_doubt, *self._of_some.places]
        self._read.certain = self._without([*hidden, *unsure]) if unsure else self._read.visible

    def _hide(self, name: str, above: Style | None) -> None:
        """Note an element that hides text for certain, if it is sure where it ends."""
        if len(self._hiding) <= _MOST_HIDING and above is not None and above.conceals < HIDDEN:
            self._hiding.append((name, self._names.count(name)))

    def _surely_end(self) -> bool:
        """Tell whether it is sure where the elements end that hide text."""
        hiding = self._hiding
        if not any(self._texts[place].strip() for place in self._hidden.places):
            return True
        return (
            len(hiding) <= _MOST_HIDING
            and all(name in PLAIN or ":" in name for name in self._met)
            and not _CONTROL.search(self._markup)
            and self._work.take(len(self._markup) * _UNITS_NESTING // 100)
            and surely_end(self._markup, hiding, self._names)
        )

    def feed_all(self, markup: str) -> bool:
        """Read markup of any quality. Returns whether it was read to its end."""
        self._markup = markup
        is_read = super().feed_all(markup)
        if not self.is_followed:
            self._read.note("limit:html_open")
            self._sheet.in_doubt = True
        return is_read

    def _without(self, places: list[int]) -> str:
        if not places:
            return "".join(self._texts)
        texts = self._texts.copy()
        for place in places:
            texts[place] = ""
        return "".join(texts)

    def _special(self, name: str, attrs: Mapping[str, str], above: Style | None) -> tuple[Style | None, _Text]:
        """Return the style of an element that not all programs show, and where its text is written."""
        if name in RAW:
            self._raw_attrs = attrs or {}
            return None, []
        if above is None or name in EMPTY:
            return above, self._open[-1][1]
        if name in ENDING:
            style, text = self._plainest(name, above, self._open[-1][1])
            look = self._styled(name, attrs, style)
            return (style, text) if look is None else (look.style, self._by_level[look.level])
        style = above._replace(hidden=max(above.hidden, DOUBTFUL))
        return style, self._by_level[style.conceals]

    def _plainest(self, name: str, style: Style, text: _Text) -> tuple[Style, _Text]:
        """Return the style around this element, or around one of its name before if that conceals less."""
        style, text = min((style, text), self._around.get(name, (style, text)), key=lambda each: each[0].conceals)
        self._around[name] = style, text
        return style, text

    def _take_raw(self, name: str, raw: str) -> None:
        """Take the content of an element that is raw text, at its end."""
        is_sure = NOT_RAW_IN.isdisjoint(self._met)
        if not is_sure and "<" in raw and _TAG.search(raw):
            self._raw_markup.append(raw)
        attrs, sheet = self._raw_attrs, self._sheet
        if name == "style":
            self._take_sheet(raw, is_sure and _is_for_all(attrs))
        if (
            "style" in attrs
            or sheet.shows_raw
            or (sheet.vague and not _RAW_ATTRS.issuperset(attrs))
            or sheet.of(name, attrs)
        ):
            self._in_doubt.append(f"\n{raw}\n")

    def _take_sheet(self, css: str, is_for_all: bool) -> None:
        """Read a style sheet, and those that it holds."""
        sheet = self._sheet
        units = _UNITS_A_SHEET + min(len(css), SHEET_CHARS) * _UNITS_SHEET // 100 + sum(map(css.count, _MARKS)) // 2
        if not self._work.take(units, leave=self._for_text):
            return
        sheet.add(css, is_for_all)
        plain = unescaped(css)
        self._show(f"{generated(css)} {counted(plain)}".strip())
        self._shows_attributes = self._shows_attributes or "attr(" in plain.lower()
        for each in imported(plain):
            self._take_sheet(each, False)
        sheet.in_doubt = sheet.in_doubt or bool((sheet.rules or sheet.vague) and self._hidden.places)
        self._is_styled = bool(sheet.rules)
        self._looks.clear()

    def _show_by_sheet(self) -> None:
        """Write down what the style sheet shows of the page in another form."""
        if self._shows_attributes and self._work.take(len(self._markup) * _UNITS_MARKUP // 100):
            self._show(unescape(self._markup))
        if self._sheet.turns:  # any of the text may run backwards
            self._show(f"{_BACKWARDS}{''.join(self._texts)}{_FORWARDS}")

    def _read_again(self, markup: str) -> None:
        """Read raw text, or a page in a frame. All of it is in doubt: only some programs see elements in it."""
        if not self._work.take(_UNITS_A_PAGE + len(markup) * _UNITS_MARKUP // 100 + markup.count("<") * _UNITS_A_TAG):
            self._in_doubt.append(markup)
            return
        again = _Reader(self._read, self._limits, self._work)
        again.feed_all(markup)
        again._show_by_sheet()
        self._pages += again._pages
        self._raw_markup += again._raw_markup
        self._in_doubt.append("\n" + "".join(again._texts))

    def _meet(self, name: str) -> None:
        """Note an element of a new kind."""
        self._met.add(name)
        if name in MEANINGFUL:
            self._read.features.add(name)
        if len(name) <= _ELEMENT_CHARS and len(self._read.elements) < _ELEMENTS:
            self._read.elements.add(name)

    def _styled(self, name: str, attrs: Mapping[str, str], above: Style | None) -> _Look | None:
        if not self._work.take(_UNITS_STYLED) or above is None:
            return None
        attrs = attrs or {}  # testing lxml's empty mapping is slow
        like = (name, above, *map(attrs.get, _LOOKED_AT))  # a page has few kinds of element, and many of each
        if like not in self._looks:
            self._looks[like] = self._find_look(name, attrs, above)
        return self._looks[like]

    def _find_look(self, name: str, attrs: Mapping[str, str], above: Style) -> _Look:
        breaks = name in BREAKING
        sheet = self._sheet.of(name, attrs)
        if not sheet and STYLING.isdisjoint(attrs) and name != "bdo":
            return _Look(above, above.conceals, breaks)
        written = attrs.get("style", "")
        self._show(generated_by(written))
        found = sheet | declared(written)
        style = styled(attrs, above, found)
        level = style.conceals
        if level == HIDDEN and name not in HIDING:
            style = style.doubted(above)
            level = style.conceals
        if style.same_colour and not self._sheet.certain:
            style = style._replace(same_colour=False)
            level = style.conceals
        if style.same_colour and not above.same_colour:
            self._read.features.add("same-colour")
        breaks = found.get("breaks", breaks and not found.get("undisplayed", "hidden" in attrs))
        breaks = breaks and not (name in BOXES and found.get("is_thin", False))
        return _Look(style, level, breaks, style.is_rtl and found.get("is_override", name == "bdo"))

    def _show(self, text: str) -> None:
        """Write down text that some programs show in the place of an element, or beside it."""
        if text:
            self._of_some.append(f"\n{text}\n")

    def _read_attributes(self, name: str, attrs: Mapping[str, str]) -> None:
        if name == "a":
            self._links.open(attrs.get("href", ""), len(self._texts))
        elif name == "area":
            self._links.add(attrs.get("href", ""))
        elif name in {"img", "image"}:
            self._links.add_image(attrs)
            if alt := attrs.get("alt", ""):
                write = self.data if self._open[-1][2] else self._of_some.append  # a picture that is seen breaks a word
                write(f" {alt} ")
        elif name in FRAMES:
            pages = page_in(attrs.get("src", "")), page_in(attrs.get("data", ""))
            self._pages += filter(None, (attrs.get("srcdoc", ""), *pages))
            self._show(" ".join(pages).strip())  # its type may be that of plain text
        elif name == "link":
            if css := page_in(attrs.get("href", "")):
                self._take_sheet(css, False)
        elif name == "meta":  # a policy may forbid the page's styles
            http = attrs.get("http-equiv")
            self._sheet.in_doubt = self._sheet.in_doubt or not (http is None or http.lower() in _HARMLESS_HTTP)
        elif name in SHOWING:
            self._show(shown_values(name, attrs))
        else:
            self._links.add(attrs.get("action", ""))

    def _visible_pieces(self, start: int) -> list[str]:
        """Return the text that is surely visible, in pieces, from one of them on; as much as a host takes."""
        pieces = self._texts[start : start + _PIECES]
        unseen: set[int] = set()
        for places in (self._hidden.places, self._in_doubt.places):
            if places and places[-1] >= start:
                first = bisect_left(places, start)
                unseen.update(places[first : first + _PIECES])
        return [piece for place, piece in enumerate(pieces, start) if place not in unseen] if unseen else pieces


# lxml asks for it at each message, and `inspect` takes as long to find it as lxml takes to read a short text.
_Reader.start.__signature__ = inspect.signature(_Reader.start)  # type: ignore[attr-defined]


def _is_for_all(attrs: Mapping[str, str]) -> bool:
    """Tell whether a <style> holds for every reader. Its title may name one of several that a reader chooses from."""
    media = attrs.get("media", "all").strip(BLANKS).lower()
    is_css = attrs.get("type", "").lower() in {"", "text/css"}
    return is_css and media in {"", "all", "screen"} and _STYLE_ATTRS.issuperset(attrs)
