"""Templates: their environment, which escapes everything, and addresses that are relative to the page.

Behind a proxy the pages are below a prefix that they do not know, so no link begins with "/".
"""

import functools
import hashlib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from spamnb.base import wording
from spamnb.base.label import counts_as
from spamnb.web import action_ids
from spamnb.web.http import MAX_BODY
from spamnb.web.outcome import FIELD

_HERE = os.path.dirname(__file__)
_LONGEST = 300  # characters of one text from mail
_NO_BREAK = "\u00a0"
_OF_FIRST = ("base.html", "macros.html", "charts.html", "banner.html", "keys.html", "overview.html")
_STATIC = {
    "spamnb.css": "text/css; charset=utf-8",
    "spamnb.js": "text/javascript; charset=utf-8",
    "favicon.svg": "image/svg+xml",
}


class NavigationEntry(NamedTuple):
    """A page in the navigation: its address, its name, and the key after `g` that goes there."""

    page: str
    name: str
    key: str


NAVIGATION = (
    NavigationEntry("", "Overview", "o"),
    NavigationEntry("history", "History", "h"),
    NavigationEntry("review", "Not sure", "r"),
    NavigationEntry("tune", "How strict", "t"),
    NavigationEntry("audit", "Wrong folder?", "a"),
    NavigationEntry("words", "Words", "w"),
    NavigationEntry("try", "Try", "y"),
    NavigationEntry("senders", "Senders", "s"),
    NavigationEntry("health", "Health", "d"),
)


class Static(NamedTuple):
    """A file for the pages: its content, its type, and a mark that changes with the content."""

    content: bytes
    content_type: str
    mark: str


class Pages:
    """Renders templates. has_page: whether there is a page at an address. navigation: the links on each page."""

    def __init__(self, has_page: Callable[[str], bool], navigation: Sequence[NavigationEntry] = NAVIGATION) -> None:
        self._has_page = has_page
        self.static = {name: _static(name, kind) for name, kind in _STATIC.items()}
        self._everywhere: Mapping[str, object] = {
            "navigation": navigation,
            "static": {name: f"static/{name}?v={file.mark}" for name, file in self.static.items()},
        }
        for name in _OF_FIRST:  # compiled at the start; otherwise the first request takes twice as long
            _environment().get_template(name)

    def render(self, template: str, values: Mapping[str, object]) -> str:
        """Return a template as HTML."""
        return _environment().get_template(template).render({**self._everywhere, **values})

    def known_address(self, sent: str) -> tuple[str, dict[str, object]]:
        """Return the page and the query of an address that a form has sent back; the overview for anything else.

        The outcome of the last act is left out of the query, since the next page shows the next act.
        """
        parts = urlsplit(sent)
        if parts.scheme or parts.netloc or not self._has_page(parts.path):
            return "", {}
        query = parse_qs(parts.query, max_num_fields=30)
        return parts.path, {name: values[0] for name, values in query.items() if name not in ("did", FIELD)}


@functools.cache  # so that a process compiles each template once
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(os.path.join(_HERE, "templates"), encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        optimized=False,  # the templates have no constants; a search for them takes a tenth of the compilation
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_final,
    )
    made.globals["plural"] = wording.plural
    made.globals["counts_as"] = counts_as
    for function in (
        printable,
        with_code,
        percent,
        certainty,
        clock,
        shortly,
        iso,
        day,
        wording.megabytes,
        wording.size_of,
    ):
        made.filters[function.__name__] = function
    made.filters["runs"] = lambda ids: action_ids.written(ids, MAX_BODY // 2)[0]
    return made


def _static(name: str, content_type: str) -> Static:
    with open(os.path.join(_HERE, "static", name), "rb") as file:
        content = file.read()
    return Static(content, content_type, hashlib.sha256(content).hexdigest()[:12])


def relative(here: str, page: str, query: Mapping[str, object] | None = None) -> str:
    """Return the address of a page relative to another page, with a query of the values that are not None or "".

    >>> relative("/m/12", "history", {"before": 7, "q": ""}), relative("/", ""), relative("/history", "m/12/teach")
    ('../history?before=7', './', 'm/12/teach')
    """
    sent = {name: value for name, value in (query or {}).items() if value is not None and value != ""}
    address = ("../" * (here.count("/") - 1) + page) or "./"
    return f"{address}?{urlencode(sent)}" if sent else address


def _final(value: object) -> object:
    """Return a template's value with escapes for unprintable characters, even if the template has no filter for it."""
    return wording.escaped(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def printable(text: str, most: int = _LONGEST) -> str:
    """Return text from mail for one line of a page: cut, and with escapes for unprintable characters."""
    shown = wording.escaped(text[: most + 1])
    return shown if len(text) <= most else f"{shown[:most]}…"


def with_code(text: str) -> Markup:
    """Return one of our sentences for a page, with its code between backticks as code.

    >>> with_code("write `kept: <no>`")
    Markup('write <code>kept: &lt;no&gt;</code>')
    """
    parts = escape(text).split("`")
    return Markup("").join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))


def percent(probability: float) -> str:
    """Return a probability in percent. It is 0 or 100 only if it is exactly that; its blanks do not break.

    >>> [percent(chance).replace("\u00a0", " ") for chance in (0.9984, 0.99999, 0.5, 0.0002, 0.0)]
    ['99.8 %', '> 99.9 %', '50 %', '< 0.1 %', '0 %']
    """
    shown = round(100 * probability, 1)
    if shown >= 100 > 100 * probability:
        text = "> 99.9 %"
    elif shown <= 0 < probability:
        text = "< 0.1 %"
    else:
        text = f"{shown:g} %"
    return text.replace(" ", _NO_BREAK)


def certainty(probability: float, verdict: str) -> str:
    """Return how sure a verdict is, rounded down; if its side is not the more probable one, the probability of spam.

    >>> judged = ((0.99999, "spam"), (0.021, "ham"), (0.62, "unsure"), (0.99, "ham"))
    >>> [certainty(*one).replace("\u00a0", " ") for one in judged]
    ['99.9 % sure', '97.9 % sure', '62 % spam', '99 % spam']
    """
    sure = {"spam": probability, "ham": 1 - probability}.get(verdict, 0.0)
    if sure < 0.5:
        return f"{percent(probability)}{_NO_BREAK}spam"
    return f"{math.floor(round(1000 * sure, 6)) / 10:g} % sure".replace(" ", _NO_BREAK)


def clock(at: float) -> str:
    """Return the local time of day."""
    return datetime.fromtimestamp(at).strftime("%H:%M")


def shortly(at: float, now: float) -> str:
    """Return the time of day if it is today, otherwise the day."""
    then, today = datetime.fromtimestamp(at), datetime.fromtimestamp(now)
    if then.date() == today.date():
        return clock(at)
    return then.strftime("%-d %b" if then.year == today.year else "%b %Y")


def iso(at: float) -> str:
    """Return a time with its zone, for a program."""
    return datetime.fromtimestamp(at).astimezone().isoformat(timespec="seconds")


def day(at: float, now: float) -> str:
    """Return a day in words, as a person says it at the time `now`.

    >>> day(86_400.0 * 365 + 43_200, 86_400.0 * 365 + 43_201)
    'today'
    """
    then, today = datetime.fromtimestamp(at).date(), datetime.fromtimestamp(now).date()
    ago = (today - then).days
    if ago in (0, 1):
        return ("today", "yesterday")[ago]
    if 1 < ago < 7:
        return then.strftime("%A")
    return then.strftime("%-d %B" if then.year == today.year else "%-d %B %Y")
