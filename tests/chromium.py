"""Debian's Chromium without a screen, as Playwright drives it, and what a person sees of pages in it.

Chromium lays out a page without scripts and without a network, and reports each box of letters with its style. Letters
are seen if none of these is true:

- they have no box (`display: none`, a closed <details>), or are hidden (`visibility`);
- their box is less than two pixels high, or less than one pixel wide;
- the opacity of all elements around them is under a tenth in all;
- the box is left of the page or above it, so that nobody can scroll there;
- elements around them cut the box off (`overflow`, `clip`), or have a `clip-path`;
- they have the colour of the nearest ground around them, to 16 of 255, and no shadow.

What other elements cover counts as seen. So does what a person must scroll to.
"""

import contextlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from tests.patience import PATIENCE

_PROGRAM = Path("/usr/bin/chromium")
_OPTIONS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking")
_AT_ONCE = 40  # pages
_ROOM = "<!doctype html><style>iframe{position:absolute;top:0;left:0;width:800px;height:600px;border:0}</style>"
_STYLE_NAMES = (
    *("visibility", "opacity", "-webkit-text-fill-color", "text-shadow", "background-color"),
    *("background-image", "position", "overflow-x", "overflow-y", "clip", "clip-path", "transform"),
    *("direction", "unicode-bidi"),
)
_STYLES = {name: number for number, name in enumerate(_STYLE_NAMES)}
_NONE = frozenset({"none", "auto", ""})
_TINY = 2.0  # pixels
_FAINT = 0.1  # of opacity
_ALIKE = 16  # of 255, in each channel
_WHITE = (255.0, 255.0, 255.0, 1.0)
_RAW = frozenset({"SCRIPT", "STYLE", "TITLE"})
_TYPED = frozenset({"", "text", "search", "tel", "url", "email", "number", "submit", "button", "reset"})


def missing() -> str:
    """Return what the browser needs and does not find, or ""."""
    if not _PROGRAM.exists():
        return "Chromium is not installed (Debian: apt install chromium)"
    return "" if find_spec("playwright") else "playwright is not installed (the extra `browser`)"


@contextlib.contextmanager
def launched() -> Iterator[Any]:
    """Start the browser; nothing must be `missing`."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(_PROGRAM), timeout=1000 * PATIENCE, args=[*_OPTIONS])
        try:
            yield browser
        finally:
            browser.close()


class Piece(NamedTuple):
    """A run of letters.

    kind: `text`; `raw`, in a style sheet, a script or the title; `generated` by a style sheet; `value` of a form; `alt`
    of a picture; `frame` for all of these in a frame. cause: why a person does not see it, or "". joins: it continues
    the word of the piece before it.
    """

    text: str
    kind: str
    cause: str
    joins: bool = False


class Page(NamedTuple):
    """All runs of letters of a page, in the order of its tree, and then all of its frames."""

    pieces: tuple[Piece, ...]

    @property
    def shown(self) -> str:
        """What a person sees."""
        return joined([piece for piece in self.pieces if not piece.cause])


def joined(pieces: Sequence[Piece]) -> str:
    """Return the text of some pieces."""
    return "".join(piece.text if piece.joins else f" {piece.text}" for piece in pieces).strip()


class Eye:
    """A window in which pages are looked at.

    Each page is in a frame, as a navigation costs ten times as much. The frames lie on one another: a browser does not
    lay out a frame that is out of sight.
    """

    def __init__(self, browser: Any) -> None:
        self._context = browser.new_context(java_script_enabled=False, offline=True)
        self._page = self._context.new_page()
        self._session = self._context.new_cdp_session(self._page)

    def look(self, pages: Sequence[str]) -> Iterator[Page]:
        """Yield what Chromium shows of each page."""
        for at in range(0, len(pages), _AT_ONCE):
            with tempfile.TemporaryDirectory() as directory:
                yield from self._look(pages[at : at + _AT_ONCE], Path(directory))

    def _look(self, pages: Sequence[str], directory: Path) -> Iterator[Page]:
        frames = ""
        for number, markup in enumerate(pages):
            # A mark of the byte order overrules what the markup says of its charset.
            (directory / f"{number}.html").write_bytes(b"\xef\xbb\xbf" + markup.encode("utf-8", "replace"))
            frames += f"<iframe src={number}.html></iframe>"
        room = directory / "room.html"
        room.write_text(_ROOM + frames, "utf-8")
        self._page.goto(room.as_uri(), timeout=1000 * PATIENCE)
        found = self._session.send("DOMSnapshot.captureSnapshot", {"computedStyles": [*_STYLES]})
        self._page.goto("about:blank")
        documents = [_Document(each, found["strings"]) for each in found["documents"]]
        for number in documents[0].frames():
            yield Page(tuple(_pieces(documents, number)))

    def close(self) -> None:
        """Close the window."""
        self._context.close()


def _pieces(documents: "Sequence[_Document]", number: int) -> Iterator[Piece]:
    """Yield the pieces of a document, and of those in its frames."""
    yield from documents[number].pieces()
    for inner in documents[number].frames():
        for piece in _pieces(documents, inner):
            yield piece._replace(kind="frame")


class _Box(NamedTuple):
    """A box on the page, in pixels from its top and left."""

    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def of(cls, bounds: Sequence[float]) -> "_Box":
        left, top, width, height = bounds
        return cls(left, top, left + width, top + height)

    @property
    def breadth(self) -> float:
        return min(self.right - self.left, self.bottom - self.top)

    def within(self, other: "_Box", across: bool = True, along: bool = True) -> "_Box":
        """Return the part that another box leaves of it."""
        left, right = (max(self.left, other.left), min(self.right, other.right)) if across else (self[0], self[2])
        top, bottom = (max(self.top, other.top), min(self.bottom, other.bottom)) if along else (self[1], self[3])
        return _Box(left, top, right, bottom)

    def touches(self, other: "_Box") -> bool:
        """Tell whether the letters of both stand side by side on a line."""
        shared = min(self.bottom, other.bottom) - max(self.top, other.top)
        is_one_line = shared > 0.3 * min(self.bottom - self.top, other.bottom - other.top)
        return is_one_line and min(abs(self.right - other.left), abs(other.right - self.left)) < 1


class _Document:
    """A document of a snapshot (https://chromedevtools.github.io/devtools-protocol/tot/DOMSnapshot)."""

    def __init__(self, document: dict[str, Any], strings: list[str]) -> None:
        self._strings = strings
        self._nodes = document["nodes"]
        self._layout = document["layout"]
        self._text_boxes = document["textBoxes"]
        self._parents: list[int] = self._nodes["parentIndex"]
        self._names = [strings[name] for name in self._nodes["nodeName"]]
        self._places: dict[int, int] = {}  # node: its first place in the layout
        for place, node in enumerate(self._layout["nodeIndex"]):
            self._places.setdefault(node, place)

    def frames(self) -> Iterator[int]:
        """Yield the numbers of the documents in frames that a person sees."""
        found = self._nodes["contentDocumentIndex"]
        for node, number in zip(found["index"], found["value"], strict=True):
            if node in self._places and not self._hindrance(node, self._box(node)):
                yield number

    def pieces(self) -> Iterator[Piece]:
        """Yield the runs of letters in the order of the tree."""
        runs = sorted([*self._runs(), *self._written(), *self._not_displayed()], key=lambda run: run[0])
        last: _Box | None = None
        for node, text, kind, box in runs:
            if box is None:
                yield Piece(text, kind, kind if kind == "raw" else "not displayed")
                continue
            is_run = kind in {"text", "generated"}
            joins = is_run and last is not None and last.touches(box)
            last = box if is_run else None
            seen = text[::-1] if self._runs_backwards(node) else text
            yield Piece(seen, kind, self._cause(node, box), joins)

    def _runs(self) -> Iterator[tuple[int, str, str, _Box | None]]:
        boxes = self._text_boxes
        for place, bounds, start, length in zip(
            boxes["layoutIndex"], boxes["bounds"], boxes["start"], boxes["length"], strict=True
        ):
            node = self._layout["nodeIndex"][place]
            # QUIRK: the numbers count UTF-16.
            text = self._strings[self._layout["text"][place]].encode("utf-16-le", "surrogatepass")
            name = self._names[node]
            kind = "generated" if name.startswith("::") and name != "::first-letter" else "text"
            yield node, text[2 * start : 2 * (start + length)].decode("utf-16-le", "replace"), kind, _Box.of(bounds)

    def _written(self) -> Iterator[tuple[int, str, str, _Box | None]]:
        """Yield what the boxes of forms say, and the boxes of pictures: no picture is loaded."""
        typed = self._rare("inputValue") | self._rare("textValue")
        chosen = set(self._nodes["optionSelected"]["index"])
        for node, name in enumerate(self._names):
            text, kind, boxed = "", "value", node
            if name in {"INPUT", "TEXTAREA", "IMG"}:
                attributes = self._attributes(node)
                form = attributes.get("type", "").lower()
                if name == "IMG" or form == "image":
                    text, kind = attributes.get("alt", ""), "alt"
                elif name == "TEXTAREA" or form in _TYPED:
                    text = typed.get(node) or attributes.get("value") or attributes.get("placeholder", "")
            elif name == "OPTION" and node in chosen:
                boxed = next((each for each in self._around(node) if self._names[each] == "SELECT"), node)
                text = self._attributes(node).get("label") or self._text_in(node)
            if text:
                yield node, text, kind, self._box(boxed) if boxed in self._places else None

    def _not_displayed(self) -> Iterator[tuple[int, str, str, _Box | None]]:
        displayed = {self._layout["nodeIndex"][place] for place in self._text_boxes["layoutIndex"]}
        for node, name in enumerate(self._names):
            if name == "#text" and node not in displayed:
                text = self._value(node)
                if not text.isspace():
                    yield node, text, "raw" if self._names[self._parents[node]] in _RAW else "text", None

    def _cause(self, node: int, box: _Box) -> str:
        """Return why a person does not see the letters of this node in that box, or ""."""
        if box.bottom - box.top < _TINY:
            return "size"
        return self._hindrance(node, box) or ("colour" if self._has_colour_of_ground(node) else "")

    def _hindrance(self, node: int, box: _Box) -> str:
        if self._style(node, "visibility") != "visible":
            return "visibility"
        if box.breadth < _TINY / 2:
            return "size"
        opacity = 1.0
        for each in self._around(node):
            if each in self._places and self._names[each] != "#text":
                opacity *= float(self._style(each, "opacity") or 1)
        if opacity < _FAINT:
            return "opacity"
        if box.right <= 0 or box.bottom <= 0:
            return "off the page"
        return self._cut(node, box)

    def _cut(self, node: int, box: _Box) -> str:
        """Return how elements around it cut a box off, or "" (CSS 2.2, 11.1; CSS Masking 1)."""
        out_of = ""  # the position that takes it out of elements around
        for each in self._around(node):
            if each not in self._places or self._names[each] in {"#text", "#document", "HTML", "BODY"}:
                continue
            if self._style(each, "clip-path") not in _NONE:
                return "clip-path"
            position, edges = self._style(each, "position"), self._box(each)
            if position in {"absolute", "fixed"}:
                box = _clipped(box, edges, self._style(each, "clip"))
            if (out_of == "absolute" and position != "static") or self._style(each, "transform") not in _NONE:
                out_of = ""
            if not out_of:
                across, along = (self._style(each, f"overflow-{axis}") != "visible" for axis in "xy")
                box = box.within(edges, across, along)
            if position in {"absolute", "fixed"}:
                out_of = position
            if box.breadth < _TINY / 2:
                return "clipped"
        return ""

    def _has_colour_of_ground(self, node: int) -> bool:
        """Tell whether letters have the colour of what is behind them, as far as elements around them have drawn it."""
        colour = _colour(self._style(node, "-webkit-text-fill-color"))
        if self._style(node, "text-shadow") not in _NONE:
            return False
        if colour[3] < _FAINT:
            return True
        ground = _WHITE
        for each in self._around(node):
            if self._names[each] in {"#text", "#document"} or each not in self._places:
                continue
            if self._style(each, "background-image") not in _NONE:
                return False
            own = _colour(self._style(each, "background-color"))
            if own[3] > _FAINT:
                ground = own
                break
        return all(abs(one - other) <= _ALIKE for one, other in zip(colour[:3], ground[:3], strict=True))

    def _runs_backwards(self, node: int) -> bool:
        for each in self._around(node):
            if self._style(each, "unicode-bidi").endswith("override"):
                return self._style(each, "direction") == "rtl"
        return False

    def _around(self, node: int) -> Iterator[int]:
        """Yield the node, and all that it is in."""
        while node >= 0:
            yield node
            node = self._parents[node]

    def _text_in(self, node: int) -> str:
        inside, texts = {node}, []
        for each in range(node + 1, len(self._parents)):
            if self._parents[each] in inside:
                inside.add(each)
                texts.append(self._value(each))
        return "".join(texts)

    def _value(self, node: int) -> str:
        return self._string(self._nodes["nodeValue"][node])

    def _attributes(self, node: int) -> dict[str, str]:
        written = [self._string(each) for each in self._nodes["attributes"][node]]
        return dict(zip(written[::2], written[1::2], strict=True))

    def _rare(self, name: str) -> dict[int, str]:
        pairs = zip(self._nodes[name]["index"], self._nodes[name]["value"], strict=True)
        return {node: self._string(value) for node, value in pairs}

    def _string(self, number: int) -> str:
        return self._strings[number] if number >= 0 else ""

    def _style(self, node: int, name: str) -> str:
        """Return a computed value of a node, or of the nearest one around it that has a box."""
        while node not in self._places:
            node = self._parents[node]
            if node < 0:
                return ""
        styles = self._layout["styles"][self._places[node]]
        return self._strings[styles[_STYLES[name]]] if styles else ""

    def _box(self, node: int) -> _Box:
        return _Box.of(self._layout["bounds"][self._places[node]])


def _clipped(box: _Box, edges: _Box, clip: str) -> _Box:
    """Return what `clip: rect(top, right, bottom, left)` of an element with these edges leaves of a box."""
    found = re.fullmatch(r"rect\((.*)\)", clip)
    if not found:
        return box
    sides = [None if side == "auto" else _number(side) for side in found[1].split(", ")]
    top, right, bottom, left = (
        least if side is None else start + side
        for side, start, least in zip(
            sides, (edges.top, edges.left) * 2, (edges.top, edges.right, edges.bottom, edges.left), strict=True
        )
    )
    return box.within(_Box(left, top, right, bottom))


def _number(length: str) -> float:
    found = re.match(r"-?[\d.]+(?:e-?\d+)?", length)
    return float(found[0]) if found else 0.0


def _colour(written: str) -> tuple[float, ...]:
    """Return red, green, blue, and how opaque it is; a grey for colours of another space."""
    found = [float(each) for each in re.findall(r"[\d.]+", written)] if written.startswith("rgb") else [127.0] * 3
    return (*found, 1.0)[:4]
