"""How text in an HTML element looks, by its attributes and the page's style sheet: whether a reader can see it.

Only as much of CSS is read as hides text. A style sheet counts too, or a class would hide what a `style` attribute
cannot (`benchmarks/attacks.py`). Text that may be visible, as white text on a ground that is not known, is visible.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypedDict

from spamnb.base.patterns import lazy_pattern

STYLING = frozenset({"style", "color", "text", "bgcolor", "background", "hidden"})  # the attributes that are looked at
_CSS_CHARS = 1000  # of one element's declarations, or one rule's
_SHEET_CHARS, _RULES, _CLASSES = 100_000, 1000, 10

# The text is gone, whatever the elements inside declare.
_FAR_AWAY = lazy_pattern(r"-(?:999|\d{4})")
_GONE = {
    "mso-hide": lazy_pattern("all"),
    "opacity": lazy_pattern(r"(?:0+(?:\.0*)?|\.0+)\s*(?:!|\Z)"),
    **dict.fromkeys(("text-indent", "left", "top", "margin-left", "margin-top"), _FAR_AWAY),
}
# So it is in a block of no size; but only where what overflows is cut off.
_SIZES = frozenset({"height", "max-height", "width", "max-width"})
_NO_SIZE = lazy_pattern(r"0(?![\d.])")
_FONT_SIZE = lazy_pattern(
    r"(?<!\S)(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})\s?(px|pt|r?em|%)?(?![\w.])|(small|medium|large|initial)"
)
_SMALLEST = {"px": 2.0, "pt": 2.0, "em": 0.2, "rem": 0.2, "%": 15.0}  # of letters that can be read
_RELATIVE = frozenset({"em", "%"})
_INHERITED = ("inherit", "initial", "unset", "revert", "currentcolor", "windowtext")
_BACKGROUNDS = frozenset({"background", "background-color", "background-image"})
_NO_GROUND = ("none", "transparent", *_INHERITED)
_COLOURS = lazy_pattern(r"#[0-9a-f]{3,6}|rgba?\([\d\s.,%/]{1,40}\)|[a-z]{1,20}")
_RGB = lazy_pattern(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})\s*(?:[,/]\s*([\d.]{1,10}))?")
_HEX = lazy_pattern(r"#?(?:[0-9a-f]{3}|[0-9a-f]{6})")
_NAMED = dict.fromkeys(
    "white snow ivory ghostwhite whitesmoke floralwhite mintcream azure aliceblue".split(),  # noqa: SIM905
    "#ffffff",  # or so little less that no reader sees it on white
) | {"black": "#000000"}
_TRANSPARENT = "transparent"
_COMMENT = lazy_pattern(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
_SELECTOR = lazy_pattern(r"(?:[a-z][a-z0-9]{0,15})?([.#][\w-]{1,60})|([a-z][a-z0-9]{0,15})")


class Style(NamedTuple):
    """How text in an element looks; inherited by the elements in it.

    What is `hidden` stays so. What is `invisible`, has letters of no size (`tiny`), or the colour of its ground
    (`same_colour`) is hidden until an element in it sets another. A colour or ground that is not known is "".
    """

    hidden: bool = False
    invisible: bool = False
    tiny: bool = False
    same_colour: bool = False
    colour: str = "#000000"
    background: str = "#ffffff"

    @property
    def conceals(self) -> bool:
        """Whether text of this style is there but cannot be read."""
        return self.hidden or self.invisible or self.tiny or self.same_colour


class Declared(TypedDict, total=False):
    """What declarations set."""

    gone: bool
    undisplayed: bool
    invisible: bool
    tiny: bool
    colour: str
    background: str


NOTHING: Declared = {}


def styled(attrs: Mapping[str, str], style: Style, sheet: Declared = NOTHING) -> Style:
    """The style of an element with these attributes, in an element of that style.

    `sheet`: what the page's style sheet sets for the element, which its style attribute overrides.

    >>> styled({"style": "display: none"}, Style()).hidden, styled({"color": "#fffffe"}, Style()).same_colour
    (True, True)
    >>> tiny = styled({"style": "font-size:0"}, Style())
    >>> tiny.conceals, styled({"style": "font-size:13px"}, tiny).conceals
    (True, False)
    """
    found = sheet | declared(attrs.get("style", "")[:_CSS_CHARS])
    colour = found.get("colour", _colour((attrs.get("color") or attrs.get("text") or style.colour)[:60]))
    background = found.get("background", _colour((attrs.get("bgcolor") or style.background)[:60]))
    if attrs.get("background"):  # a picture
        background = ""
    hidden = style.hidden or "hidden" in attrs or found.get("gone", False) or found.get("undisplayed", False)
    same_colour = style.same_colour
    if (colour, background) != (style.colour, style.background):
        same_colour = not hidden and _alike(colour, background)
    invisible, tiny = found.get("invisible", style.invisible), found.get("tiny", style.tiny)
    return Style(hidden, invisible, tiny, same_colour, colour, background)


@lru_cache(maxsize=512)  # a page repeats its declarations
def declared(css: str) -> Declared:
    """What declarations set; of those for one property the last holds.

    >>> declared("Display:none; color:#FFF; background: url(x.png) #222; border: 0")
    {'undisplayed': True, 'colour': '#ffffff', 'background': ''}
    """
    found: Declared = {}
    is_small = is_cut = False
    for declaration in _COMMENT.sub("", css.lower()).split(";") if css else ():
        name, _, value = declaration.partition(":")
        name, value = name.strip(), value.strip()
        if name == "display":
            found["undisplayed"] = value.startswith("none")
        elif name == "visibility":
            found["invisible"] = value.startswith(("hidden", "collapse"))
        elif name in {"font-size", "font"}:
            if (tiny := _is_tiny(value)) is not None:
                found["tiny"] = tiny
        elif name == "color":
            if not value.startswith(_INHERITED):
                found["colour"] = _colour(value.partition("!")[0])
        elif name in _BACKGROUNDS:
            if not value.startswith(_NO_GROUND):
                found["background"] = _ground(value)
        elif name in _GONE and _GONE[name].match(value):
            found["gone"] = True
        is_small = is_small or (name in _SIZES and _NO_SIZE.match(value) is not None)
        is_cut = is_cut or (name.startswith("overflow") and value.startswith(("hidden", "clip")))
    if is_small and is_cut:
        found["gone"] = True
    return found


def _is_tiny(value: str) -> bool | None:
    """Whether letters have a size that none can read; None where theirs is a share of that around them."""
    sizes: list[tuple[str, str, str]] = _FONT_SIZE.findall(value)
    if not sizes:
        return None
    number, unit, word = sizes[-1]
    tiny = not word and float(number) < _SMALLEST[unit or "px"]
    return None if unit in _RELATIVE and not tiny else tiny


def _ground(value: str) -> str:
    """The colour behind the text; "" where it is a picture or a colour that is not known."""
    if "url" in value or "gradient" in value:
        return ""
    return next(filter(None, map(_colour, _COLOURS.findall(value))), "")


@lru_cache(maxsize=512)
def _colour(written: str) -> str:
    """A colour as `#rrggbb`, or `transparent`; "" where it is none that is known.

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
    return f"#{digits}" if len(digits) == 6 else "#" + "".join(2 * digit for digit in digits)


def _alike(colour: str, background: str) -> bool:
    """Whether text in `colour` on `background` cannot be read: no channel differs by more than 16 of 255."""
    if colour == _TRANSPARENT:
        return True
    if not colour.startswith("#") or not background.startswith("#"):
        return False
    return all(abs(int(colour[i : i + 2], 16) - int(background[i : i + 2], 16)) <= 16 for i in (1, 3, 5))


@dataclass(slots=True)
class Sheet:
    """The rules at the top of a style sheet whose selector is an element, a class or an id.

    Those for some screens only (@media) are left out. `certain`: no background is set by another kind of selector.
    """

    rules: dict[str, Declared] = field(default_factory=dict)
    certain: bool = True

    def add(self, css: str) -> None:
        """Read what a <style> element holds.

        >>> sheet = Sheet()
        >>> sheet.add("@media print { .a {display: block} } p.a, #b { Display: none; float: left }")
        >>> sheet.rules
        {'.a': {'undisplayed': True}, '#b': {'undisplayed': True}}
        """
        inside = False
        for rule in _COMMENT.sub("", css[:_SHEET_CHARS].lower()).split("}"):
            selectors, brace, declarations = rule.rpartition("{")
            if "{" in selectors:
                inside = True
                self.certain = self.certain and "background" not in declarations
            elif not brace:
                inside = False
            elif not inside:
                self._add(selectors.rpartition(";")[2], declared(declarations[:_CSS_CHARS]))

    def of(self, name: str, attrs: Mapping[str, str]) -> Declared:
        """All that is set for an element: for its kind first, for its id last."""
        keys = [name, *(f".{each}" for each in attrs.get("class", "")[:500].lower().split()[:_CLASSES])]
        found = NOTHING
        for key in [*keys, f"#{attrs.get('id', '')[:60].lower()}"]:
            if key in self.rules:
                found = found | self.rules[key]
        return found

    def _add(self, selectors: str, found: Declared) -> None:
        if not found:
            return
        for selector in selectors.split(",")[:_RULES]:
            simple = _SELECTOR.fullmatch(selector.strip())
            if simple is None:
                self.certain = self.certain and "background" not in found
            elif len(self.rules) < _RULES:
                key = simple[1] or simple[2]
                self.rules[key] = self.rules.get(key, NOTHING) | found
                if simple[2]:  # a whole page may be set in a colour that a cell without text has for its ground
                    self.rules[key].pop("colour", None)
