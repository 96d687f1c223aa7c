"""Which function answers which address: a list of methods, patterns and functions, looked through in order."""

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from spamnb.web.http import HttpError, Response, whole_number
from spamnb.web.visit import Visit

_PART = re.compile(r"\{(\w+)\}")


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    texts = _PART.split(pattern)  # what stands between the names, and the names
    texts[::2] = map(re.escape, texts[::2])
    texts[1::2] = (f"(?P<{name}>[0-9]+)" for name in texts[1::2])
    return re.compile("".join(texts))


@dataclass(frozen=True, slots=True)
class Route:
    """A method, a pattern, and the function that answers it.

    In the pattern `{name}` stands for a whole number. is_public: answered without a login. takes_message: its form
    holds a message (`upload`), which is only looked at: the ledger is opened to be read, as for a GET.
    """

    method: str
    pattern: str
    page: Callable[[Visit], Response]
    is_public: bool = False
    takes_message: bool = False

    def match(self, path: str) -> dict[str, int] | None:
        """The numbers of a path that has this pattern, by their names; else None."""
        match = _compiled(self.pattern).fullmatch(path)
        return None if match is None else {name: whole_number(text) for name, text in match.groupdict().items()}


class Router:
    """All routes. others: those that are looked through where the first ones have not the address; made only then."""

    def __init__(self, first: Iterable[Route], others: Callable[[], Iterable[Route]] = lambda: ()) -> None:
        self._first = tuple(first)
        self._others = functools.cache(lambda: tuple(others()))

    def find(self, method: str, path: str) -> tuple[Route, Mapping[str, int]]:
        """The route of a request, and the numbers in its path. HEAD is answered as GET. Raises HttpError."""
        wanted = "GET" if method == "HEAD" else method
        matching = self._matching(path)
        for route, numbers in matching:
            if route.method == wanted:
                return route, numbers
        if matching:
            allowed = ", ".join(sorted({route.method for route, _ in matching}))
            raise HttpError(405, "This address is not used like that.", "Use the links of the pages.", Allow=allowed)
        raise HttpError(404, "There is no such page.", "The first page leads to all others.")

    def has_page(self, page: str) -> bool:
        """Whether there is a page of that address, which a link may lead to."""
        return any(route.method == "GET" and not route.is_public for route, _ in self._matching(f"/{page}"))

    def _matching(self, path: str) -> list[tuple[Route, Mapping[str, int]]]:
        """The routes with that path, whatever their methods."""
        return _matching(self._first, path) or _matching(self._others(), path)


def _matching(routes: Iterable[Route], path: str) -> list[tuple[Route, Mapping[str, int]]]:
    return [(route, numbers) for route in routes if (numbers := route.match(path)) is not None]
