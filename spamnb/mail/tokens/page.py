"""Turn an attached page (HTML, or SVG, which browsers open too) into what it does; its words are not read.

Such a page is often a whole attack: a form that asks for a password, or a program that writes such a form.
"""

from collections.abc import Iterator, Mapping

from spamnb.base.patterns import lazy_pattern
from spamnb.mail.limits import Limits
from spamnb.mail.tokens.markup import Events
from spamnb.mail.tokens.urls import urls

_ELEMENTS = frozenset({"script", "form", "iframe"})
_LINKING = frozenset({"href", "src", "action", "formaction", "data"})
_PICTURES = frozenset({"img", "image", "source", "link"})  # ordinary pages embed these
# The parts of programs that unpack another page, or lead to one.
_CALLS = lazy_pattern(r"\b(?:atob|unescape|decodeuricomponent|fromcharcode|eval|location|document\.write)\b")
_URL = lazy_pattern(r"https?://[^\s\"'`<>()\\]{3,2000}")
_MOST = 2000  # characters in a link


def page_tokens(markup: str, limits: Limits) -> Iterator[str]:
    """Yield what an attached page does, and the hosts of its links, forms and programs. Never raises for bad markup."""
    reader = _Reader()
    reader.feed_all(markup)
    program = "".join(reader.programs).lower().replace("\\/", "/")
    features = reader.features.union(call.replace(".", "-") for call in _CALLS.findall(program))
    yield from (f"attached-html:{feature}" for feature in sorted(features))
    links = list(dict.fromkeys([*reader.links, *_URL.findall(program)]))
    if len(links) > limits.links:
        yield "limit:links"
    yield from (f"attached-{token}" for token in urls(links[: limits.links]) if token.startswith("url:"))


class _Reader(Events):
    """Records what the elements of a page do, and its programs."""

    def __init__(self) -> None:
        super().__init__()
        self.features: set[str] = set()
        self.links: list[str] = []
        self.programs: list[str] = []
        self._in_program = False

    def start(self, name: str, attrs: Mapping[str, str]) -> None:
        """Record what an element and its attributes do."""
        name = name.rpartition(":")[2]
        self._in_program = name == "script"
        self.programs.append("\n")
        if name in _ELEMENTS:
            self.features.add(name)
        for attribute, value in attrs.items():
            own_name = attribute.rpartition(":")[2]
            if own_name in _LINKING:
                self._link(name, value[:_MOST].strip())
            elif own_name.startswith("on"):
                self._program(value)
        if name == "input" and attrs.get("type", "").strip().lower() == "password":
            self.features.add("password")
        elif name == "meta" and attrs.get("http-equiv", "").strip().lower() == "refresh":
            self.features.add("meta-refresh")
            self._link(name, attrs.get("content", "")[:_MOST].partition("=")[2].strip(" \"'"))

    def end(self, name: str) -> None:
        """End a program with its element."""
        self._in_program = False

    def data(self, text: str) -> None:
        """Keep programs, and drop words."""
        if self._in_program:
            self.programs.append(text)

    def _link(self, name: str, url: str) -> None:
        scheme = url[:20].lower().partition(":")[0]
        if scheme == "data" and name not in _PICTURES:
            self.features.add("data-url")
        elif scheme == "javascript":
            self._program(url)
        else:
            self.links.append(url)

    def _program(self, text: str) -> None:
        self.features.add("script")
        self.programs += ("\n", text, "\n")
