"""The table of methods, patterns and functions; the first that matches a request answers it."""

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from spamnb.web.http import HttpError, Response, whole_number
from spamnb.web.visit import Visit

_PART = re.compile(r"\{(\w+)\}")


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    texts = _PART.split(pattern)  # the texts between the names, and the names
    texts[::2] = map(re.escape, texts[::2])
    texts[1::2] = (f"(?P<{name}>[0-9]+)" for name in texts[1::2])
    return re.compile("".join(texts))


@dataclass(frozen=True, slots=True)
class Route:
    """A method, a pattern, and the function that answers it.

    In the pattern `{name}` stands for a whole number. is_public: it needs no login. takes_message: its form holds a
    message (`upload`), which is only judged: the ledger is opened to read, as for a GET.
    """

    method: str
    pattern: str
    page: Callable[[Visit], Response]
    is_public: bool = False
    takes_message: bool = False

    def match(self, path: str) -> dict[str, int] | None:
        """Return the numbers of a path with this pattern, by their names, or None if it does not match."""
        match = _compiled(self.pattern).fullmatch(path)
        return None if match is None else {name: whole_number(text) for name, text in match.groupdict().items()}


class Router:
    """All routes. others: makes further routes, at the first address that the first ones do not have."""

    def __init__(self, first: Iterable[Route], others: Callable[[], Iterable[Route]] = lambda: ()) -> None:
        self._first = tuple(first)
        self._others = functools.cache(lambda: tuple(others()))

    def find(self, method: str, path: str) -> tuple[Route, Mapping[str, int]]:
        """Return the route of a request, and the numbers in its path. HEAD has the route of GET. Raises HttpError."""
        wanted = "GET" if method == "HEAD" else method
        matching = self._matching(path)
        for route, numbers in matching:
            if route.method == wanted:
                return route, numbers
        if matching:
            allowed = ", ".join(sorted({route.method for route, _ in matching}))
            raise HttpError(405, "This address does not take such a request.", "Use the links here.", Allow=allowed)
        raise HttpError(404, "There is no such page.", "The first page leads to all others.")

    def has_page(self, page: str) -> bool:
        """Return whether there is a page at this address that a link may lead to."""
        return any(route.method == "GET" and not route.is_public for route, _ in self._matching(f"/{page}"))

    def _matching(self, path: str) -> list[tuple[Route, Mapping[str, int]]]:
        """Return the routes with this path, of any method."""
        return _matching(self._first, path) or _matching(self._others(), path)


def _matching(routes: Iterable[Route], path: str) -> list[tuple[Route, Mapping[str, int]]]:
    return [(route, numbers) for route in routes if (numbers := route.match(path)) is not None]
