"""Tell whether a reader can see text in an HTML element, by its attributes and the page's style sheet.

Only the part of CSS that hides text is read. A style sheet counts too: otherwise a class could hide what a `style`
attribute cannot (`benchmarks/attacks.py`). White text on an unknown ground is visible.

Only a browser follows all of CSS. So text is hidden for certain only by `display: none`, which nothing inside the
element takes back, and only if a small, plain grammar proves it: `_PLAIN_BLOCK`, `_PLAIN_SHEET`, `_PLAIN_SELECTOR`.
Whatever else may hide text puts it in doubt.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypedDict

from spamnb.base.patterns import lazy_pattern

STYLING = frozenset({"style", "color", "text", "bgcolor", "background", "hidden", "dir"})  # the attributes to look at
_CSS_CHARS = 1000  # of one element's declarations, or one rule's
SHEET_CHARS, _RULES, _CLASSES = 100_000, 1000, 10

# How surely text cannot be seen. Text that some readers see and others do not, or may not, is DOUBTFUL.
SHOWN, DOUBTFUL, HIDDEN = range(3)
_ZERO = r"(?:0+(?:\.0+)?|\.0+)"
_FAR_AWAY = lazy_pattern(r"-(?:999|\d{4})")
# Doubtful: an element around it may reverse the effect, and some hold only for some elements, or for some programs.
_GONE = {
    "opacity": lazy_pattern(rf"{_ZERO}(?![.\d])"),
    "mso-hide": lazy_pattern("all"),
    "clip": lazy_pattern(r"rect"),
    "clip-path": lazy_pattern(r"(?!none)"),
    "transform": lazy_pattern(r"scale[xyz3d]{0,2}\(\s?0(?![.\d])"),
    **dict.fromkeys(("text-indent", "left", "top", "margin-left", "margin-top"), _FAR_AWAY),
}
# Such text is in a block of no size; but only if overflowing text is cut off.
_SIZES = frozenset({"height", "max-height", "width", "max-width"})
_NO_SIZE = lazy_pattern(rf"{_ZERO}(?![\d.])")
_NO_FONT_SIZE = lazy_pattern(rf"{_ZERO}(?:px|pt|r?em|%|in|cm|mm|pc|ex|ch|q|vw|vh)?")
_FONT_SIZE = lazy_pattern(
    r"(?<!\S)(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})\s?(px|pt|r?em|%)?(?![\w.])|(small|medium|large|initial)"
)
_SMALLEST = {"px": 2.0, "pt": 2.0, "em": 0.2, "rem": 0.2, "%": 15.0}  # of readable letters
_RELATIVE = frozenset({"em", "%"})
_INHERITED = ("inherit", "initial", "unset", "revert", "currentcolor", "windowtext")
_BACKGROUNDS = frozenset({"background", "background-color", "background-image"})
_NO_GROUND = ("none", "transparent", *_INHERITED)
_OVERFLOW = "overflow"
# The properties that `declared` looks at, beside those of overflow. Most declarations are of edges and of typefaces.
_READ = frozenset({"all", "color", "direction", "display", "font", "font-size", "unicode-bidi", "visibility"}).union(
    _BACKGROUNDS, _SIZES, _GONE
)
_COLOURS = lazy_pattern(r"#[0-9a-f]{3,8}|rgba?\([\d\s.,%/]{1,40}\)|[a-z]{1,20}")
_RGB = lazy_pattern(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})\s*(?:[,/]\s*([\d.]{1,10}))?")
_HEX = lazy_pattern(r"#?(?:[0-9a-f]{3}|[0-9a-f]{6})|#(?:[0-9a-f]{4}|[0-9a-f]{8})")
_NAMED = dict.fromkeys(
    "white snow ivory ghostwhite whitesmoke floralwhite mintcream azure aliceblue".split(),  # noqa: SIM905
    "#ffffff",  # or nearly that, so that no reader sees it on white
) | {"black": "#000000"}
_TRANSPARENT = "transparent"
BLANKS = " \t\n\r\f"  # of CSS and HTML; a blank of another kind is a letter
_GAP = "\x01"  # in the place of a comment
_SPACE = BLANKS + _GAP
_CONTROLS = r"\x00-\x08\x0b\x0e-\x1f\x7f"
_COMMENT = lazy_pattern(r"/\*.*?(?:\*/|\Z)", re.DOTALL)

# The plain grammar. Every browser reads it alike; each piece begins with another character, so that no match goes back.
COMMENT = r"/\*[^*]*+\*++(?:[^/*][^*]*+\*++)*/"
_STRING = rf"\"[^\"\\\n\r\f*{{}}{_CONTROLS}]*+\"|'[^'\\\n\r\f*{{}}{_CONTROLS}]*+'"
_FLAT = rf"\((?:[^()\[\]{{}}\"'\\/{_CONTROLS}]++|/(?!\*)|{_STRING})*\)"
_IN_BRACKETS = rf"\((?:[^()\[\]{{}}\"'\\/{_CONTROLS}]++|/(?!\*)|{_STRING}|{_FLAT})*\)"
# Names of properties that never change whether an element is displayed, and `display`, which `declared` looks at.
_PROPERTY = (
    r"(?:(?:-(?:webkit|moz|ms|o)-)?(?:align|appearance|backface|background|border|box|caption|clip|columns?|fill|filter"
    "|flex|font|gap|grid|hyphens|image|interpolation|justify|line|margin|mask|object|opacity|order|outline|overflow"
    "|padding|perspective|resize|size|stroke|tab|table|tap|text|transform|user|word|writing)"
    "|bottom|clear|color|counter|cursor|direction|display|empty|float|height|left|letter|list|max|min|mso|orphans|page"
    "|panose|pointer|position|right|speak|src|top|unicode|vertical|visibility|white|widows|width|z|zoom)"
    "(?:-[a-z0-9-]++)?"
)
_VALUE = rf"(?:[^;()\[\]{{}}\"'\\/&<@{_CONTROLS}]++|/(?!\*)|{COMMENT}|{_STRING}|{_IN_BRACKETS})*"
_BETWEEN = rf"(?:[{BLANKS};]++|{COMMENT})*"
_BLOCK = rf"{_BETWEEN}(?:{_PROPERTY}[{BLANKS}]*+:{_VALUE}(?:;{_BETWEEN}|(?=\}}|\Z)))*"
_PLAIN_BLOCK = lazy_pattern(_BLOCK, re.ASCII | re.IGNORECASE)
_PRELUDE = (
    rf"[^;()\[\]{{}}\"'\\/&<@{_CONTROLS}{BLANKS}](?:[^;()\[\]{{}}\"'\\/&<@{_CONTROLS}]++|{COMMENT}"
    rf"|\[[^()\[\]{{}}\"'\\/;<@{_CONTROLS}]*+(?:(?:{_STRING})[^()\[\]{{}}\"'\\/;<@{_CONTROLS}]*+)?\]"
    rf"|\([^()\[\]{{}}\"'\\/;<@{_CONTROLS}]*+\))*"
)
_RULE = rf"(?!-->){_PRELUDE}\{{{_BLOCK}\}}"
_MEDIA = rf"@media(?=[{BLANKS}(])[a-z0-9,:.()/{BLANKS}-]*+\{{(?:[{BLANKS}]++|{COMMENT}|{_RULE})*\}}"
_OTHER_RULE = rf"@(?:font-face|page|(?:-ms-|-o-|-webkit-)?viewport)[a-z0-9:{BLANKS}]*+\{{{_BLOCK}\}}"
_PLAIN_SHEET = lazy_pattern(
    rf"(?:[{BLANKS}]++|{COMMENT}|<!--|-->|{_RULE}|{_MEDIA}|{_OTHER_RULE}|@charset \"[a-z0-9-]*+\";)*",
    re.ASCII | re.IGNORECASE,
)
_NAME = r"-?[a-z_][a-z0-9_-]{0,59}"
_SELECTOR = lazy_pattern(rf"([a-z][a-z0-9]{{0,15}})?([.#]{_NAME})?", re.ASCII | re.IGNORECASE)
# Elements, classes and ids, and these in others: every browser knows them. One that it does not know drops its rule.
_COMPOUND = rf"(?=[a-z.#])(?:[a-z][a-z0-9]{{0,15}})?(?:[.#]{_NAME})*"
_PLAIN_SELECTOR = lazy_pattern(rf"{_COMPOUND}(?:[{BLANKS}]++{_COMPOUND})*", re.ASCII | re.IGNORECASE)
# A selector that holds for <style>, <script> or <title> without a class.
_RAW = lazy_pattern(
    r"(?<![\w)\].#*-])(?:\*(?![\[.#])|:|\*?\[(?:language|media|src|type))|\b(?:head|script|style|title)\b|\\",
    re.IGNORECASE,
)
_MARKS = lazy_pattern(rf"\A(?:[{_SPACE}]++|<!--|-->|@charset [^;]*+;)*")  # in front of a rule; CSS ignores these
_CLASS = lazy_pattern(f"[^{BLANKS}]+")
_PLAIN_NAMES = lazy_pattern(f"[a-z0-9_{BLANKS}-]*")
_FLOWS = ("block", "contents", "flex", "flow-root", "grid", "inline", "list-item", "none", "table")  # of `display`


class Style(NamedTuple):
    """The look of text in an element; the elements in it inherit it.

    Text that is `hidden` stays hidden. Three kinds are in doubt until an element in them sets a different value: text
    that is `invisible`, has letters of no size (`tiny`), or has the colour of its ground (`same_colour`). An unknown
    colour or ground is "". `is_rtl`: text runs from right to left.
    """

    hidden: int = SHOWN
    invisible: bool = False
    tiny: bool = False
    same_colour: bool = False
    colour: str = "#000000"
    background: str = "#ffffff"
    is_rtl: bool = False

    @property
    def conceals(self) -> int:
        """How surely text of this style exists but cannot be read. Its colour never proves it: it may have another
        ground under it, or a shadow behind it. Nor does its size: programs have a least size of letters.
        """
        return max(self.hidden, DOUBTFUL if self.invisible or self.tiny or self.same_colour else SHOWN)

    def doubted(self, above: "Style") -> "Style":
        """Return this style in an element of that one, if the element's own declarations may not hold."""
        return self._replace(hidden=max(above.hidden, min(self.hidden, DOUBTFUL)))


class Declared(TypedDict, total=False):
    """The values that declarations set. in_doubt: they are not plain, so that browsers may see others.

    breaks: whether the element stands apart from the words around it. is_thin: a picture of this size is not seen.
    is_override: its letters run in its direction.
    """

    gone: int
    undisplayed: int
    invisible: bool
    tiny: bool
    colour: str
    background: str
    breaks: bool
    is_thin: bool
    direction: str
    is_override: bool
    in_doubt: bool


NOTHING: Declared = {}


def styled(attrs: Mapping[str, str], style: Style, found: Declared) -> Style:
    """Return the style of an element with these attributes, in an element of that style.

    found: the values for the element, of the page's style sheet and of its own style attribute.

    >>> styled({}, Style(), declared("display: none")).conceals, styled({"color": "#fffffe"}, Style(), {}).conceals
    (2, 1)
    >>> tiny = styled({}, Style(), declared("font-size:0"))
    >>> tiny.conceals, styled({}, tiny, declared("font-size:13px")).conceals
    (1, 0)
    """
    colour = found.get("colour", _colour((attrs.get("color") or attrs.get("text") or style.colour)[:60]))
    background = found.get("background", _colour((attrs.get("bgcolor") or style.background)[:60]))
    if attrs.get("background"):  # a picture
        background = ""
    own = max(found.get("gone", SHOWN), found.get("undisplayed", DOUBTFUL if "hidden" in attrs else SHOWN))
    hidden = max(style.hidden, own)
    same_colour = style.same_colour
    if (colour, background) != (style.colour, style.background):
        same_colour = not hidden and _alike(colour, background)
    invisible, tiny = found.get("invisible", style.invisible), found.get("tiny", style.tiny)
    direction = found.get("direction", attrs.get("dir", "").lower())
    is_rtl = direction == "rtl" or (style.is_rtl and direction != "ltr")
    looks = Style(hidden, invisible, tiny, same_colour, colour, background, is_rtl)
    return looks.doubted(style) if found.get("in_doubt") else looks


def declared(css: str) -> Declared:
    """Return the values that declarations set; for one property the last value holds. Nobody may change them.

    >>> declared("Display:none; color:#FFF; background: url(x.png) #222; border: 0")
    {'undisplayed': 2, 'breaks': False, 'colour': '#ffffff', 'background': ''}
    >>> declared("display:block !important; display:none")
    {'undisplayed': 2, 'breaks': False, 'in_doubt': True}
    """
    return _declared(css) if len(css) <= _CSS_CHARS else _declared(css[:_CSS_CHARS]) | {"in_doubt": True}


@lru_cache(maxsize=512)  # a page repeats its declarations
def _declared(css: str) -> Declared:
    found: Declared = {}
    gone: dict[str, bool] = {}
    is_small = is_cut = False
    in_doubt = not _PLAIN_BLOCK.fullmatch(css)
    for declaration in _COMMENT.sub(_GAP, css.lower()).split(";") if css else ():
        name, _, value = declaration.partition(":")
        name = name.strip(_SPACE)
        if name not in _READ and not name.startswith(_OVERFLOW):
            continue
        value, mark, weight = value.partition("!")
        value = value.strip(_SPACE)
        if name == "display":
            is_none = value == "none"
            found["undisplayed"] = HIDDEN if is_none else DOUBTFUL if value.startswith("none") else SHOWN
            in_doubt = in_doubt or (mark != "" and not (is_none and weight.strip(_SPACE) == "important"))
            if value.startswith(_FLOWS) and value != "table-cell":
                found["breaks"] = not value.startswith(("inline", "contents", "none"))
        elif name == "all":
            found["undisplayed"] = SHOWN
        elif name == "visibility":
            found["invisible"] = value.startswith(("hidden", "collapse"))
        elif name in {"font-size", "font"}:
            if (is_tiny := _tininess(value)) is not None:
                found["tiny"] = is_tiny
        elif name == "color":
            if not value.startswith(_INHERITED):
                found["colour"] = _colour(value)
        elif name in _BACKGROUNDS:
            if not value.startswith(_NO_GROUND):
                found["background"] = _ground(value)
        elif name in _GONE:
            gone[name] = _GONE[name].match(value) is not None
        elif name == "direction":
            found["direction"] = value
        elif name == "unicode-bidi":
            found["is_override"] = value.endswith("-override")
        if name in _SIZES and _NO_SIZE.match(value):
            is_small = found["is_thin"] = True
        is_cut = is_cut or (name.startswith(_OVERFLOW) and value.startswith(("hidden", "clip")))
    if any(gone.values()) or (is_small and is_cut):
        found["gone"] = DOUBTFUL
    elif "opacity" in gone:
        found["gone"] = SHOWN
    if in_doubt:
        found["in_doubt"] = True
    return found


def _tininess(value: str) -> bool | None:
    """Tell whether letters are too small to read; None if that is unknown, or relative to the text around them."""
    if _NO_FONT_SIZE.fullmatch(value):
        return True
    sizes: list[tuple[str, str, str]] = _FONT_SIZE.findall(value)
    if not sizes:
        return None
    number, unit, word = sizes[-1]
    is_tiny = not word and float(number) < _SMALLEST[unit or "px"]
    return None if unit in _RELATIVE and not is_tiny else is_tiny


def _ground(value: str) -> str:
    """Return the colour behind the text; "" for a picture or an unknown colour."""
    if "url" in value or "gradient" in value:
        return ""
    return next(filter(None, map(_colour, _COLOURS.findall(value))), "")


@lru_cache(maxsize=512)
def _colour(written: str) -> str:
    """Return a colour as `#rrggbb`, or `transparent`; "" if it is unknown.

    >>> _colour("#FFF"), _colour("White"), _colour("rgb(255 255 255)"), _colour("rgba(0,0,0,0)"), _colour("tan")
    ('#ffffff', '#ffffff', '#ffffff', 'transparent', '')
    """
    colour = written.strip().lower()
    if channels := _RGB.match(colour):
        if channels[4] and not channels[4].strip("0."):
            return _TRANSPARENT
        return "#" + "".join(f"{min(int(channel), 255):02x}" for channel in channels.groups()[:3])
    colour = _NAMED.get(colour, colour)
    if colour == _TRANSPARENT or not _HEX.fullmatch(colour):
        return colour if colour == _TRANSPARENT else ""
    digits = colour.removeprefix("#")
    if len(digits) in {3, 4}:
        digits = "".join(2 * digit for digit in digits)
    return f"#{digits[:6]}" if digits[6:] != "00" else _TRANSPARENT


def _alike(colour: str, background: str) -> bool:
    """Tell whether text in `colour` on `background` cannot be read: no channel differs by more than 16 of 255."""
    if colour == _TRANSPARENT:
        return True
    if not colour.startswith("#") or not background.startswith("#"):
        return False
    return all(abs(int(colour[i : i + 2], 16) - int(background[i : i + 2], 16)) <= 16 for i in (1, 3, 5))


@dataclass(slots=True)
class Sheet:
    """The rules at the top of a style sheet whose selector is an element, a class or an id, or an element with these.

    All other rules, such as those for some screens only (@media), may hold for any element. If such a rule shows text,
    the text hidden by other rules is `vague`. If the sheet is not plain, all hidden text is `in_doubt`. `certain`: they
    set no background. `shows_raw`: a rule may show what is in <style>, <script> or <title>. `turns`: it may turn
    letters round.
    """

    rules: dict[str, Declared] = field(default_factory=dict)
    certain: bool = True
    vague: bool = False
    shows_raw: bool = False
    in_doubt: bool = False
    turns: bool = False

    def add(self, css: str, for_all: bool = True) -> None:
        """Read the content of a <style> element. Without `for_all`, all of it is for some screens only.

        >>> sheet = Sheet()
        >>> sheet.add("@media print { .a {display: block} } p.a, #b { Display: none; float: left }")
        >>> sheet.rules, sheet.vague, sheet.in_doubt
        ({'p.a': {'undisplayed': 2, 'breaks': False}, '#b': {'undisplayed': 2, 'breaks': False}}, True, False)
        """
        self.in_doubt = self.in_doubt or len(css) > SHEET_CHARS or not _PLAIN_SHEET.fullmatch(css)
        depth = 0  # of open braces
        for piece in _COMMENT.sub(_GAP, css[:SHEET_CHARS]).split("}"):
            prelude, brace, block = piece.rpartition("{")
            depth += piece.count("{")
            if brace and block:
                found = declared(block)
                if depth == 1 and for_all:
                    self._add(_MARKS.sub("", prelude), found)
                else:
                    self._add_for_some(found)
                self.in_doubt = self.in_doubt or len(block) > _CSS_CHARS
                if found.get("undisplayed") == SHOWN:
                    self.shows_raw = self.shows_raw or _RAW.search(prelude) is not None
            depth = max(0, depth - 1)

    def of(self, name: str, attrs: Mapping[str, str]) -> Declared:
        """Return all values for an element: for its kind first, for its id last."""
        if not self.rules:
            return NOTHING
        found = self.rules.get(name, NOTHING)
        written = attrs.get("class", "")
        classes = _CLASS.findall(written[:500].lower())
        # If there are several classes, the order in the sheet decides. Capitals and small letters differ.
        is_plain = _PLAIN_NAMES.fullmatch(written) is not None and len(written) <= 500 and len(classes) <= _CLASSES
        in_doubt = self.vague or not is_plain
        of_classes = NOTHING
        for each in classes[:_CLASSES]:
            for key in (f".{each}", f"{name}.{each}"):
                if key in self.rules:
                    in_doubt = in_doubt or bool(of_classes)
                    of_classes = of_classes | self.rules[key]
        found = found | of_classes
        if identifier := attrs.get("id", ""):
            in_doubt = in_doubt or not _PLAIN_NAMES.fullmatch(identifier)
            for key in (f"#{identifier.lower()}", f"{name}#{identifier.lower()}"):
                found = found | self.rules.get(key, NOTHING)
        return found | {"in_doubt": True} if found and in_doubt else found

    def _add_for_some(self, found: Declared) -> None:
        self.certain = self.certain and "background" not in found
        self.turns = self.turns or found.get("is_override", False)
        self.in_doubt = self.in_doubt or found.get("in_doubt", False)
        self.vague = self.vague or found.get("undisplayed", HIDDEN) != HIDDEN

    def _add(self, selectors: str, found: Declared) -> None:
        if not found:
            return
        each = [selector.strip(_SPACE) for selector in selectors.split(",")]
        is_plain = len(selectors) <= _CSS_CHARS and all(map(_PLAIN_SELECTOR.fullmatch, each))
        own = found if is_plain else found | {"in_doubt": True}
        for selector in each:
            simple = _SELECTOR.fullmatch(selector)
            if simple is None or len(self.rules) >= _RULES:
                self._add_for_some(found)
                continue
            element, name = (simple[1] or "").lower(), simple[2] or ""
            key = element + name.lower()
            self.rules[key] = self.rules.get(key, NOTHING) | own
            if name != name.lower():  # a page may distinguish capitals from small letters
                self.rules[key]["in_doubt"] = True
            if not name:  # a whole page may have a colour that is also the ground of a cell without text
                self.rules[key].pop("colour", None)
