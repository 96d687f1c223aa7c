"""The content of a page: its text, elements, links and pictures, and the links that show another site than theirs."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from spamnb.base.patterns import lazy_pattern

_DISGUISED = 10  # links
_HOST = lazy_pattern(r"\A\s*(?:[a-z][a-z0-9+.-]*:)?//([^/?#\s\\]{1,255})", re.IGNORECASE)
_SHOWN_HOST = lazy_pattern(
    r"\A\s*(?:https?://)?((?:[a-z0-9-]{1,63}\.){1,5}[a-z]{2,12})(?:[/?:]\S{0,200})?\s*\Z", re.IGNORECASE
)
_URL_CHARS = 2000
THIN = frozenset({"0", "1"})  # pixels of a picture


@dataclass(slots=True)
class HtmlText:
    """The content of the markup: text, `links` and `images` as written, elements, and peculiarities.

    `visible` is the text that some reader sees, `certain` the text that all readers see. `hidden` is the text that is
    not visible, or in doubt. `disguised`: the first links whose text is a host of another site, with the host that they
    lead to.
    """

    visible: str = ""
    certain: str = ""
    hidden: str = ""
    links: list[str] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    disguised: list[tuple[str, str]] = field(default_factory=list)
    elements: set[str] = field(default_factory=set)
    features: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def note(self, note: str) -> None:
        """Note once what was odd or left out."""
        if note not in self.notes:
            self.notes.append(note)


class Links:
    """Takes the links and pictures of a page as they come. most: of each, more are left out."""

    def __init__(self, read: HtmlText, most: int) -> None:
        self._read = read
        self._most = most
        self._open: tuple[str, int] | None = None

    def add(self, url: str) -> None:
        """Take the address of a link that has no text of its own."""
        self._add(self._read.links, url)

    def open(self, url: str, place: int) -> None:
        """Take the start of a link, and the place in the page where its text begins."""
        self._add(self._read.links, url)
        self._open = url, place

    def close(self, shown: Callable[[int], Sequence[str]]) -> None:
        """Take the end of a link. shown: gives the text from a place on, in pieces, as far as it surely is visible."""
        if self._open is None:
            return
        url, place = self._open
        self._open = None
        target = _HOST.match(url[:_URL_CHARS])
        named = target and _SHOWN_HOST.match("".join(shown(place))[:300])
        if target and named and not _same_site(target[1], named[1]):
            self._read.features.add("link-shows-another-host")
            if len(self._read.disguised) < _DISGUISED:
                self._read.disguised.append((named[1], _host_of(target[1])))

    def add_image(self, attrs: Mapping[str, str]) -> None:
        """Take a picture."""
        source = attrs.get("src", "")
        self._add(self._read.images, source)
        if source.lower().startswith("cid:"):
            self._read.features.add("image-attached")
        elif source.lower().startswith("data:"):
            self._read.features.add("image-inline")
        if attrs.get("width", "").strip() in THIN and attrs.get("height", "").strip() in THIN:
            self._read.features.add("image-invisible")

    def _add(self, found: list[str], url: str) -> None:
        if not url:
            return
        if len(found) >= self._most:
            self._read.note("limit:links")
            return
        found.append(url[:_URL_CHARS].strip())


def _same_site(target: str, shown: str) -> bool:
    """Tell whether two hosts share their last two labels: enough to distinguish a bank from a stranger."""
    return _host_of(target).split(".")[-2:] == shown.lower().rstrip(".").split(".")[-2:]


def _host_of(target: str) -> str:
    """Return the host in the part of a link that names it, after a user and before a port."""
    return unquote(target).rpartition("@")[2].partition(":")[0].lower().rstrip(".")
