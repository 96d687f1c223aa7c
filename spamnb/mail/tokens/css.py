"""Tell whether a reader can see text in an HTML element, by its attributes and the page's style sheet.

Only the part of CSS that hides text is read. A style sheet counts too: otherwise a class could hide what a `style`
attribute cannot (`benchmarks/attacks.py`). Only a browser follows all of CSS, so some text is hidden in doubt. White
text on an unknown ground is visible.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypedDict

from spamnb.base.patterns import lazy_pattern

STYLING = frozenset({"style", "color", "text", "bgcolor", "background", "hidden", "dir"})  # the attributes to look at
_CSS_CHARS = 1000  # of one element's declarations, or one rule's
_SHEET_CHARS, _RULES, _CLASSES = 100_000, 1000, 10

# How surely text cannot be seen. Text that some readers see and others do not, or may not, is DOUBTFUL.
SHOWN, DOUBTFUL, HIDDEN = range(3)
_UNKNOWN = -1  # a value that this module does not understand
_FAR_AWAY = lazy_pattern(r"-(?:999|\d{4})")
# Doubtful: an element around it may reverse the effect, and some hold only for some elements, or for some programs.
_GONE = {
    "mso-hide": lazy_pattern("all"),
    "clip": lazy_pattern(r"rect"),
    "clip-path": lazy_pattern(r"(?!none)"),
    "transform": lazy_pattern(r"scale[xyz3d]{0,2}\(\s?0(?![.\d])"),
    **dict.fromkeys(("text-indent", "left", "top", "margin-left", "margin-top"), _FAR_AWAY),
}
_ZERO = r"(?:0+(?:\.0+)?|\.0+)"
_CLEAR = lazy_pattern(rf"{_ZERO}%?(?![.\d])")
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
_COLOURS = lazy_pattern(r"#[0-9a-f]{3,8}|rgba?\([\d\s.,%/]{1,40}\)|[a-z]{1,20}")
_RGB = lazy_pattern(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})\s*(?:[,/]\s*([\d.]{1,10}))?")
_HEX = lazy_pattern(r"#?(?:[0-9a-f]{3}|[0-9a-f]{6})|#(?:[0-9a-f]{4}|[0-9a-f]{8})")
_NAMED = dict.fromkeys(
    "white snow ivory ghostwhite whitesmoke floralwhite mintcream azure aliceblue".split(),  # noqa: SIM905
    "#ffffff",  # or nearly that, so that no reader sees it on white
) | {"black": "#000000"}
_TRANSPARENT = "transparent"
_COMMENT = lazy_pattern(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_GAP = "\x01"  # in the place of a comment
_STRING = lazy_pattern(rf"\"[^\"\\\n{_GAP}]*\"|'[^'\\\n{_GAP}]*'")
_IN_BRACKETS = lazy_pattern(rf"\([^(){_GAP}]*\)|\[[^\[\]{_GAP}]*\]")
_OPENING = lazy_pattern(r"[\"'(\[{}\\]")
_BRACKETS = 5  # of them inside one another
_SHEET_MARKS = lazy_pattern(r"\A\s{0,99}<!--|-->\s{0,99}\Z")  # of comments in HTML; CSS ignores these two
_NAME = r"-?[a-z_][\w-]{0,59}"
_SELECTOR = lazy_pattern(rf"([a-z][a-z0-9]{{0,15}})?([.#]{_NAME})?", re.IGNORECASE)
# If one selector of a list is not valid, browsers drop the whole rule. These are valid.
_COMPOUND = (
    rf"(?:[a-z][a-z0-9-]{{0,30}}|\*)?(?:[.#]{_NAME}|\[[a-z-]{{1,40}}(?:[~|^$*]?=(?:{_NAME}|\"[^\"\\\n]{{0,99}}\"))?\]"
    "|:(?:link|visited|hover|active|focus|(?:first|last)-child)|::?(?:before|after))*"
)
_VALID_SELECTOR = lazy_pattern(rf"(?=\S){_COMPOUND}(?:(?:[ \n]*[>+~][ \n]*|[ \n]+)(?=\S){_COMPOUND})*", re.IGNORECASE)
# A selector that holds for <style>, <script> or <title> without a class.
_RAW = lazy_pattern(
    r"(?<![\w)\].#*-])(?:\*(?![\[.#])|:|\*?\[(?:language|media|src|type))|\b(?:head|script|style|title)\b",
    re.IGNORECASE,
)
_BLANKS = " \t\n\r\f"  # of CSS and HTML; a blank of another kind is a letter
_CLASS = lazy_pattern(f"[^{_BLANKS}]+")
_FLOWS = ("block", "contents", "flex", "flow-root", "grid", "inline", "list-item", "none", "table")  # of `display`
# They give other declarations another value later.
_MOVING = ("animation", "transition", "-webkit-animation", "-moz-animation")


class Style(NamedTuple):
    """The look of text in an element; the elements in it inherit it.

    Text that is `hidden` stays hidden. Three kinds are hidden until an element in them sets a different value: text
    that is `invisible`, has letters of no size (`tiny`), or has the colour of its ground (`same_colour`). An unknown
    colour or ground is "". `is_rtl`: text runs from right to left.
    """

    hidden: int = SHOWN
    invisible: int = SHOWN
    tiny: int = SHOWN
    same_colour: bool = False
    colour: str = "#000000"
    background: str = "#ffffff"
    is_rtl: bool = False

    @property
    def conceals(self) -> int:
        """How surely text of this style exists but cannot be read. Its colour never proves it: it may have another
        ground under it, or a shadow behind it.
        """
        return max(self.hidden, self.invisible, self.tiny, DOUBTFUL if self.same_colour else SHOWN)

    def doubted(self, above: "Style") -> "Style":
        """Return this style in an element of that one, if the element's own declarations may not hold."""
        hidden, invisible, tiny = (min(own, DOUBTFUL) for own in (self.hidden, self.invisible, self.tiny))
        return self._replace(hidden=max(above.hidden, hidden), invisible=invisible, tiny=tiny)

    def with_letters_in_doubt(self) -> "Style":
        """Return this style if a rule may set other letters."""
        return self._replace(invisible=min(self.invisible, DOUBTFUL), tiny=min(self.tiny, DOUBTFUL))

    def hides_in_doubt(self, above: "Style") -> "Style":
        """Return this style in an element of that one, if the element may be none, or end earlier, for a browser."""
        hidden, invisible, tiny = (
            min(own, max(outer, DOUBTFUL))
            for own, outer in ((self.hidden, above.hidden), (self.invisible, above.invisible), (self.tiny, above.tiny))
        )
        return self._replace(hidden=hidden, invisible=invisible, tiny=tiny)


class Declared(TypedDict, total=False):
    """The values that declarations set. in_doubt: a part of them is not followed, and may overrule the rest.

    breaks: whether the element stands apart from the words around it. is_thin: a picture of this size is not seen.
    is_override: its letters run in its direction.
    """

    gone: int
    undisplayed: int
    invisible: int
    tiny: int
    colour: str
    background: str
    breaks: bool
    is_thin: bool
    direction: str
    is_override: bool
    in_doubt: bool


NOTHING: Declared = {}


def styled(attrs: Mapping[str, str], style: Style, sheet: Declared = NOTHING) -> Style:
    """Return the style of an element with these attributes, in an element of that style.

    `sheet`: the values of the page's style sheet for the element, which its style attribute overrides.

    >>> styled({"style": "display: none"}, Style()).conceals, styled({"color": "#fffffe"}, Style()).conceals
    (2, 1)
    >>> tiny = styled({"style": "font-size:0"}, Style())
    >>> tiny.conceals, styled({"style": "font-size:13px"}, tiny).conceals
    (2, 0)
    """
    written = attrs.get("style", "")
    found = sheet | declared(written[:_CSS_CHARS])
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
    if tiny == _UNKNOWN:
        tiny = min(style.tiny, DOUBTFUL)
    if invisible == _UNKNOWN:
        invisible = min(style.invisible, DOUBTFUL)
    direction = found.get("direction", attrs.get("dir", "").lower())
    is_rtl = direction == "rtl" or (style.is_rtl and direction != "ltr")
    looks = Style(hidden, invisible, tiny, same_colour, colour, background, is_rtl)
    return looks.doubted(style) if found.get("in_doubt") or len(written) > _CSS_CHARS else looks


class Flow(NamedTuple):
    """How an element stands in the text around it: whether it breaks a word, and whether its letters run backwards.

    A `breaks` of None is for its name to decide.
    """

    breaks: bool | None = None
    is_undisplayed: bool = False
    is_thin: bool = False
    is_reversed: bool = False


def flow(name: str, attrs: Mapping[str, str], style: Style, sheet: Declared = NOTHING) -> Flow:
    """Return how an element of that name, with these attributes and that style, stands in the text around it.

    >>> flow("div", {"style": "display:inline"}, Style()).breaks, flow("bdo", {}, Style(is_rtl=True)).is_reversed
    (False, True)
    """
    found = sheet | declared(attrs.get("style", "")[:_CSS_CHARS])
    is_undisplayed = bool(found.get("undisplayed", "hidden" in attrs))
    is_reversed = style.is_rtl and found.get("is_override", name == "bdo")
    return Flow(found.get("breaks"), is_undisplayed, found.get("is_thin", False), is_reversed)


@lru_cache(maxsize=512)  # a page repeats its declarations
def declared(css: str) -> Declared:
    """Return the values that declarations set; for one property the last value holds.

    >>> declared("Display:none; color:#FFF; background: url(x.png) #222; border: 0")
    {'undisplayed': 2, 'breaks': False, 'colour': '#ffffff', 'background': ''}
    >>> declared("display:block !important; display:none")
    {'undisplayed': 2, 'breaks': False, 'in_doubt': True}
    """
    found: Declared = {}
    gone: dict[str, int] = {}
    is_small = is_cut = in_doubt = False
    for declaration in _COMMENT.sub(_GAP, css.lower()).split(";") if css else ():
        name, _, value = declaration.replace(_GAP, " ").partition(":")
        value, mark, weight = value.partition("!")
        name, value = name.strip(_BLANKS), value.strip(_BLANKS)
        level: int | None = HIDDEN
        if name == "display":
            level = found["undisplayed"] = _level(value == "none", value.startswith("none"))
            if value.startswith(_FLOWS) and value != "table-cell":
                found["breaks"] = not value.startswith(("inline", "contents", "none"))
            in_doubt = in_doubt or "contents" in value  # then other declarations do not hold for it
        elif name == "visibility":
            level = found["invisible"] = _level(value in {"hidden", "collapse"}, value.startswith("hidden"))
        elif name in {"font-size", "font"}:
            if (level := _tininess(value, name == "font")) is not None:
                found["tiny"] = level
        elif name == "color":
            if not value.startswith(_INHERITED):
                found["colour"] = _colour(value)
        elif name in _BACKGROUNDS:
            if not value.startswith(_NO_GROUND):
                found["background"] = _ground(value)
        elif name == "opacity":
            level = gone[name] = _level(_CLEAR.fullmatch(value), _CLEAR.match(value))
        elif name in _GONE:
            level = gone[name] = _level(False, _GONE[name].match(value))
        elif name == "all":  # every other value is that of the page, or of the element around
            found["tiny"] = found["invisible"] = _UNKNOWN
            in_doubt = True
        elif name.startswith(_MOVING):
            in_doubt = True
        elif name == "direction":
            found["direction"] = value
        elif name == "unicode-bidi":
            found["is_override"] = value.endswith("-override")
        if name in _SIZES and _NO_SIZE.match(value):
            is_small = found["is_thin"] = True
        is_cut = is_cut or (name.startswith("overflow") and value.startswith(("hidden", "clip")))
        is_odd = bool(mark) and (level != HIDDEN or weight.strip() != "important")
        in_doubt = in_doubt or is_odd or is_open(declaration)
    if is_small and is_cut:
        gone["size"] = DOUBTFUL
    if (most := max(gone.values(), default=SHOWN)) or "opacity" in gone:
        found["gone"] = most
    if in_doubt:
        found["in_doubt"] = True
    return found


def _level(is_hidden: object, is_doubtful: object) -> int:
    return HIDDEN if is_hidden else DOUBTFUL if is_doubtful else SHOWN


def is_open(css: str) -> bool:
    """Tell whether a piece of CSS continues after its end, in quotation marks or brackets, or has escapes.

    >>> is_open("x: url('a.png')"), is_open("x: )("), is_open("x: \\"'\\"'")
    (False, True, True)
    """
    if css.isalnum():
        return False
    if '"' in css or "'" in css:
        css = _STRING.sub("", css)
    for _ in range(_BRACKETS):
        if "(" not in css and "[" not in css:
            break
        css = _IN_BRACKETS.sub("", css)
    return _OPENING.search(css) is not None


def _tininess(value: str, is_shorthand: bool) -> int | None:
    """Return how surely letters are too small to read; None if their size is relative to the text around them."""
    if _NO_FONT_SIZE.fullmatch(value):
        return DOUBTFUL if is_shorthand else HIDDEN
    sizes: list[tuple[str, str, str]] = _FONT_SIZE.findall(value)
    if not sizes:
        return _UNKNOWN
    number, unit, word = sizes[-1]
    tiny = not word and float(number) < _SMALLEST[unit or "px"]
    return None if unit in _RELATIVE and not tiny else _level(False, tiny)


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
    the text hidden by other rules is `vague`. If it overrules style attributes, all hidden text is `in_doubt`.
    `certain`: they set no background. `shows_raw`: a rule may show what is in <style>, <script> or <title>;
    `shows_letters`: an element in one whose letters are hidden.
    """

    rules: dict[str, Declared] = field(default_factory=dict)
    certain: bool = True
    vague: bool = False
    shows_raw: bool = False
    shows_letters: bool = False
    in_doubt: bool = False

    def add(self, css: str, for_all: bool = True) -> None:
        """Read the content of a <style> element. Without `for_all`, all of it is for some screens only.

        >>> sheet = Sheet()
        >>> sheet.add("@media print { .a {display: block} } p.a, #b { Display: none; float: left }")
        >>> sheet.rules, sheet.vague
        ({'p.a': {'undisplayed': 2, 'breaks': False}, '#b': {'undisplayed': 2, 'breaks': False}}, True)
        """
        self.in_doubt = self.in_doubt or len(css) > _SHEET_CHARS or "@import" in css.lower()
        depth, is_stray = 0, False  # open braces; whether a closing one too many makes the next rule invalid
        *rules, rest = _SHEET_MARKS.sub("", _COMMENT.sub(_GAP, css[:_SHEET_CHARS])).split("}")
        for rule in [*rules, rest] if "{" in rest else rules:
            around, brace, declarations = rule.rpartition("{")
            outer, _, inner = around.rpartition("{")
            unread = inner if outer else ""  # declarations beside a rule in a rule
            if depth:
                unread = around if brace else rule
            depth += rule.count("{")
            if brace:
                found = declared(declarations[:_CSS_CHARS].strip(_BLANKS))
                if depth == 1 and for_all and not is_stray:
                    self._add(_behind_statements(around.replace(_GAP, " ")), found)
                else:
                    self._add_for_some(found)
                if found.get("undisplayed") == SHOWN:
                    self.shows_raw = self.shows_raw or _RAW.search(around) is not None
            self.in_doubt = (
                self.in_doubt
                or len(declarations) > _CSS_CHARS
                or is_open(declarations)
                or is_open(around.replace("{", " "))
                or (";" in unread if brace else not unread.isspace() and unread != "")
            )
            is_stray = depth == 0
            depth = max(0, depth - 1)

    def of(self, name: str, attrs: Mapping[str, str]) -> Declared:
        """Return all values for an element: for its kind first, for its id last."""
        found = self.rules.get(name, NOTHING)
        written = attrs.get("class", "")
        classes = _CLASS.findall(written[:500].lower())
        # If there are several classes, the order in the sheet decides. Capitals and small letters differ.
        in_doubt = self.vague or written != written.lower() or len(written) > 500 or len(classes) > _CLASSES
        of_classes = NOTHING
        for each in classes[:_CLASSES]:
            for key in (f".{each}", f"{name}.{each}"):
                if key in self.rules:
                    in_doubt = in_doubt or bool(of_classes)
                    of_classes = of_classes | self.rules[key]
        found = found | of_classes
        if identifier := attrs.get("id", "")[:60]:
            in_doubt = in_doubt or identifier != identifier.lower()
            for key in (f"#{identifier.lower()}", f"{name}#{identifier.lower()}"):
                found = found | self.rules.get(key, NOTHING)
        return found | {"in_doubt": True} if found and in_doubt else found

    def _add_for_some(self, found: Declared) -> None:
        self.certain = self.certain and "background" not in found
        self.in_doubt = self.in_doubt or found.get("in_doubt", False)
        looks = [found.get("gone"), found.get("undisplayed"), found.get("invisible"), found.get("tiny")]
        self.vague = self.vague or any(level not in {None, HIDDEN} for level in looks)
        self.shows_letters = self.shows_letters or any(level not in {None, HIDDEN} for level in looks[2:])

    def _add(self, selectors: str, found: Declared) -> None:
        if not found:
            return
        each = [selector.strip(_BLANKS) for selector in selectors.split(",")]
        is_valid = len(selectors) <= _CSS_CHARS and all(map(_VALID_SELECTOR.fullmatch, each))
        own = found if is_valid else found | {"in_doubt": True}
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


def _behind_statements(prelude: str) -> str:
    """Return what follows the statements in front of a rule, such as `@charset "x";`."""
    while ";" in prelude and prelude.lstrip(_BLANKS).startswith("@"):
        prelude = prelude.partition(";")[2]
    return prelude
