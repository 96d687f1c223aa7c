"""How text in an HTML element looks: whether its sender meant a reader to see it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

STYLING = frozenset({"style", "color", "text", "bgcolor", "hidden"})  # the attributes that are looked at
_CSS_CHARS = 1000

# A border, a line or a least width of nothing hides no text, and 1em is the ordinary size of letters.
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all"
    r"|(?<![\w-])opacity\s*:\s*0(?:\.0*)?\s*(?:[;!]|$)"
    r"|font-size\s*:\s*(?:[01](?:\.\d*)?\s*(?:p[tx]|%|[;!]|$)|0(?:\.\d*)?\s*r?em)"
    r"|(?<![\w-])(?:max-)?(?:height|width)\s*:\s*0(?![\d.])"
)
_CSS_COLOUR = r"([#\w]{1,30}(?:\([\d\s.,%]{1,40}\))?)"
_COLOUR = re.compile(r"(?:^|;)\s*color\s*:\s*" + _CSS_COLOUR)
_BACKGROUND = re.compile(r"background(?:-color)?\s*:\s*" + _CSS_COLOUR)
_RGB = re.compile(r"rgba?\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})")
_HEX = re.compile(r"#?(?:[0-9a-f]{3}|[0-9a-f]{6})")
_NAMED_COLOURS = {"white": "#ffffff", "black": "#000000", "red": "#ff0000", "yellow": "#ffff00", "blue": "#0000ff"}


@dataclass(frozen=True, slots=True)
class Style:
    """How text in an element looks; inherited by the elements in it.

    `unseen` text is shown by no reader (script, style, head), `hidden` text has been taken away by its sender,
    text of the same colour as its ground is hidden until an element in it has other colours.
    """

    unseen: bool = False
    hidden: bool = False
    same_colour: bool = False
    colour: str = "#000000"
    background: str = "#ffffff"


def styled(attrs: Mapping[str, str], style: Style) -> Style:
    """The style of an element with these attributes, in an element of that style.

    >>> styled({"style": "display: none"}, Style()).hidden, styled({"color": "#fffffe"}, Style()).same_colour
    (True, True)
    """
    css_hidden, css_colour, css_background = _declared(attrs.get("style", "")[:_CSS_CHARS])
    colour = _colour((attrs.get("color") or attrs.get("text") or css_colour)[:60]) or style.colour
    background = _colour((attrs.get("bgcolor") or css_background)[:60]) or style.background
    hidden = style.hidden or css_hidden or "hidden" in attrs
    same_colour = style.same_colour
    if (colour, background) != (style.colour, style.background):
        same_colour = not hidden and _alike(colour, background)
    return Style(style.unseen, hidden, same_colour, colour, background)


@lru_cache(maxsize=512)  # a page repeats its declarations: four of five are met again
def _declared(css: str) -> tuple[bool, str, str]:
    """What a style attribute says: whether text is hidden, its colour, and its ground's."""
    if not css:
        return False, "", ""
    css = css.lower()
    return bool(_HIDDEN.search(css)), _first(_COLOUR, css), _first(_BACKGROUND, css)


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1] if found else ""


@lru_cache(maxsize=512)
def _colour(written: str) -> str:
    """A colour as `#rrggbb`; "" where it is none that we know.

    >>> _colour("#FFF"), _colour("White"), _colour("rgb(255, 255, 255)")
    ('#ffffff', '#ffffff', '#ffffff')
    """
    colour = written.strip().lower()
    if channels := _RGB.match(colour):
        return "#" + "".join(f"{min(int(channel), 255):02x}" for channel in channels.groups())
    colour = _NAMED_COLOURS.get(colour, colour)
    if not _HEX.fullmatch(colour):
        return ""
    digits = colour.removeprefix("#")
    return f"#{digits}" if len(digits) == 6 else "#" + "".join(2 * digit for digit in digits)


def _alike(colour: str, background: str) -> bool:
    """Whether text in `colour` on `background` cannot be read: no channel differs by more than 16 of 255."""
    return all(abs(int(colour[i : i + 2], 16) - int(background[i : i + 2], 16)) <= 16 for i in (1, 3, 5))
