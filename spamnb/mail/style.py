"""How text in an HTML element looks: whether its sender meant a reader to see it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import NamedTuple

STYLING = frozenset({"style", "color", "text", "bgcolor", "background", "hidden"})  # the attributes that are looked at
_CSS_CHARS = 1000

_DISPLAY = re.compile(r"(?<![\w-])display\s*:\s*([a-z-]+)")
_VISIBILITY = re.compile(r"(?<![\w-])visibility\s*:\s*([a-z]+)")
# Whatever the elements inside say, their text is gone. Without a word on what overflows, a box of no size hides none.
_GONE = re.compile(
    r"mso-hide\s*:\s*all|(?<![\w-])opacity\s*:\s*0(?:\.0*)?\s*(?:[;!]|$)"
    r"|(?<![\w-])(?:text-indent|left|top|margin-left|margin-top)\s*:\s*-(?:999|\d{4})"
)
_NO_SIZE = re.compile(r"(?<![\w-])(?:max-)?(?:height|width)\s*:\s*0(?![\d.])")
_CUT = re.compile(r"(?<![\w-])overflow(?:-[xy])?\s*:\s*(?:hidden|clip)")
_FONT_SIZE = re.compile(
    r"(?<![\w-])font-size\s*:\s*(?:([\d.]{1,20})\s*([a-z]{1,4}|%)?|(xx?-small|small|medium|x{0,3}-?large|initial))"
)
_FONT = re.compile(r"(?<![\w-])font\s*:\s*(?:[\w-]{1,20}\s+){0,4}?([\d.]{1,20})(px|pt|r?em|%|(?=\s*/))")
_SMALLEST = {"": 2.0, "px": 2.0, "pt": 2.0, "em": 0.2, "rem": 0.2, "%": 15.0}  # of letters that can be read
_RELATIVE = frozenset({"em", "%"})
_COLOUR = re.compile(r"(?:^|;)\s*color\s*:\s*([#\w]{1,30}(?:\([\d\s.,%/]{1,40}\))?)")
_BACKGROUND = re.compile(r"(?<![\w-])background(?:-color|-image)?\s*:\s*([^;!]{1,200})")
_PICTURE = re.compile(r"url\s*\(|gradient\s*\(")
_GROUND = re.compile(r"#\w{1,8}|[a-z]{3,30}(?:-[a-z]{1,20})*(?:\([\d\s.,%/]{1,40}\))?")
_RGB = re.compile(r"rgba?\(\s*(\d{1,3})[\s,]+(\d{1,3})[\s,]+(\d{1,3})\s*(?:[,/]\s*([\d.]{1,10}))?")
_HEX = re.compile(r"#?(?:[0-9a-f]{3}|[0-9a-f]{6})")
# Those of HTML 3.2, and those that pass for white. Text in a colour that we do not know, or on one, is shown.
_NAMED_COLOURS = {
    name: f"#{channels}"
    for name, channels in (
        named.split(":")
        for named in """black:000000 silver:c0c0c0 gray:808080 white:ffffff maroon:800000 red:ff0000 purple:800080
        fuchsia:ff00ff green:008000 lime:00ff00 olive:808000 yellow:ffff00 navy:000080 blue:0000ff teal:008080
        aqua:00ffff snow:fffafa ivory:fffff0 ghostwhite:f8f8ff whitesmoke:f5f5f5 floralwhite:fffaf0 mintcream:f5fffa
        azure:f0ffff aliceblue:f0f8ff""".split()  # noqa: SIM905 - as a list it takes a page
    )
}
_TRANSPARENT = "transparent"
_INHERITED = frozenset({"inherit", "initial", "unset", "revert", "currentcolor", "windowtext"})
# What a background may say beside its colour.
_NO_GROUND = frozenset(
    """none transparent inherit initial unset revert repeat repeat-x repeat-y no-repeat space round scroll fixed local
    top bottom left right center cover contain auto border-box padding-box content-box""".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Style:
    """How text in an element looks; inherited by the elements in it.

    `unseen` text is shown by no reader (script, style, head), `hidden` text has been taken away by its sender.
    What is `invisible`, has letters of no size (`tiny`), or the colour of its ground (`same_colour`) is hidden until
    an element in it says otherwise. A colour or ground that is not known is "".
    """

    unseen: bool = False
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


class Declared(NamedTuple):
    """What declarations say; None where they are mute. Text that is `gone` is not brought back by others."""

    gone: bool = False
    undisplayed: bool | None = None
    invisible: bool | None = None
    tiny: bool | None = None
    colour: str | None = None
    background: str | None = None

    def then(self, other: "Declared") -> "Declared":
        """Both, of which the other stands over this one."""
        return Declared(
            self.gone or other.gone,
            self.undisplayed if other.undisplayed is None else other.undisplayed,
            self.invisible if other.invisible is None else other.invisible,
            self.tiny if other.tiny is None else other.tiny,
            self.colour if other.colour is None else other.colour,
            self.background if other.background is None else other.background,
        )


def styled(attrs: Mapping[str, str], style: Style, sheet: Iterable[Declared] = ()) -> Style:
    """The style of an element with these attributes, in an element of that style.

    `sheet`: what the page's style sheet says of the element, over which its own word stands.

    >>> styled({"style": "display: none"}, Style()).hidden, styled({"color": "#fffffe"}, Style()).same_colour
    (True, True)
    >>> tiny = styled({"style": "font-size:0"}, Style())
    >>> tiny.conceals, styled({"style": "font-size:13px"}, tiny).conceals
    (True, False)
    """
    says = declared(attrs.get("style", "")[:_CSS_CHARS])
    if sheet:
        says = reduce(Declared.then, [*sheet, says])
    colour, background = says.colour, says.background
    if colour is None:
        written = attrs.get("color") or attrs.get("text")
        colour = _colour(written[:60]) if written else style.colour
    if attrs.get("background"):
        background = ""
    elif background is None:
        written = attrs.get("bgcolor")
        background = _colour(written[:60]) if written else style.background
    hidden = style.hidden or says.gone or says.undisplayed is True or "hidden" in attrs
    same_colour = style.same_colour
    if (colour, background) != (style.colour, style.background):
        same_colour = not hidden and _alike(colour, background)
    invisible = style.invisible if says.invisible is None else says.invisible
    tiny = style.tiny if says.tiny is None else says.tiny
    return Style(style.unseen, hidden, invisible, tiny, same_colour, colour, background)


@lru_cache(maxsize=512)  # a page repeats its declarations: four of five are met again
def declared(css: str) -> Declared:
    """What declarations say; of those for one property the last holds."""
    if not css:
        return Declared()
    css = css.lower()
    display, visibility, colour = _last(_DISPLAY, css), _last(_VISIBILITY, css), _last(_COLOUR, css)
    return Declared(
        bool(_GONE.search(css) or (_NO_SIZE.search(css) and _CUT.search(css))),
        display == "none" if display else None,
        visibility in {"hidden", "collapse"} if visibility else None,
        _tiny(css),
        _colour(colour) if colour and colour not in _INHERITED else None,
        _ground(css),
    )


def _last(pattern: re.Pattern[str], text: str) -> str:
    found: list[str] = pattern.findall(text)
    return found[-1] if found else ""


def _tiny(css: str) -> bool | None:
    """Whether letters have a size that none can read; None where theirs is a share of that around them."""
    sizes = [*_FONT.finditer(css), *_FONT_SIZE.finditer(css)]
    if not sizes:
        return None
    last = max(sizes, key=re.Match.start)
    number, unit = last[1], last[2] or ""
    if number is None:
        return False
    try:
        tiny = float(number) < _SMALLEST.get(unit, 0.0)
    except ValueError:
        return None
    return None if unit in _RELATIVE and not tiny else tiny


def _ground(css: str) -> str | None:
    """The colour behind the text: "" where it is a picture or a colour that we do not know, None where none is said."""
    ground = None
    for written in _BACKGROUND.findall(css):
        if _PICTURE.search(written):
            return ""
        ground = next((_colour(word) for word in _GROUND.findall(written) if word not in _NO_GROUND), ground)
    return None if ground == _TRANSPARENT else ground


@lru_cache(maxsize=512)
def _colour(written: str) -> str:
    """A colour as `#rrggbb`, or `transparent`; "" where it is none that we know.

    >>> _colour("#FFF"), _colour("White"), _colour("rgb(255 255 255)"), _colour("rgba(0,0,0,0)"), _colour("tan")
    ('#ffffff', '#ffffff', '#ffffff', 'transparent', '')
    """
    colour = written.strip().lower()
    if channels := _RGB.match(colour):
        if channels[4] and not channels[4].strip("0."):
            return _TRANSPARENT
        return "#" + "".join(f"{min(int(channel), 255):02x}" for channel in channels.groups()[:3])
    if colour == _TRANSPARENT:
        return colour
    colour = _NAMED_COLOURS.get(colour, colour)
    if not _HEX.fullmatch(colour):
        return ""
    digits = colour.removeprefix("#")
    return f"#{digits}" if len(digits) == 6 else "#" + "".join(2 * digit for digit in digits)


def _alike(colour: str, background: str) -> bool:
    """Whether text in `colour` on `background` cannot be read: no channel differs by more than 16 of 255."""
    if colour == _TRANSPARENT:
        return True
    if not colour.startswith("#") or not background.startswith("#"):
        return False
    return all(abs(int(colour[i : i + 2], 16) - int(background[i : i + 2], 16)) <= 16 for i in (1, 3, 5))
