"""A request and a response as values, and the faults of a request."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import BinaryIO
from urllib.parse import parse_qs

from spamnb.base.label import Label

MAX_BODY = 65_536  # bytes
_MAX_FIELDS = 1000
_FORM = "application/x-www-form-urlencoded"
_EMPTY: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class HttpError(Exception):
    """A request that cannot be answered: a status, the fault, and the next step."""

    def __init__(self, status: int, what: str, step: str = "", **headers: str) -> None:
        super().__init__(what)
        self.status = status
        self.what = what
        self.step = step
        self.headers = tuple((name.replace("_", "-"), value) for name, value in headers.items())


class Values:
    """The values of a query or a form, by their names. If a name comes twice, the first value counts."""

    def __init__(self, values: Mapping[str, tuple[str, ...]] = _EMPTY) -> None:
        self._values = values

    def pairs(self) -> list[tuple[str, str]]:
        """Return all names with their values, in the order sent."""
        return [(name, value) for name, values in self._values.items() for value in values]

    def text(self, name: str, most: int = 300) -> str:
        """Return a value without blanks around it, or ""."""
        return next(iter(self._values.get(name, ())), "").strip()[:most]

    def all(self, name: str) -> tuple[str, ...]:
        """Return all values of a name."""
        return self._values.get(name, ())

    def label(self, name: str) -> Label | None:
        """Return a label by its word, or None."""
        return label_of(self.text(name))

    def number(self, name: str) -> int | None:
        """Return a whole number, or None without a value. Raises HttpError for anything else."""
        return None if not (text := self.text(name)) else whole_number(text)

    def one_of(self, name: str, allowed: "Mapping[str, object] | tuple[str, ...]", default: str = "") -> str:
        """Return one of the allowed words, or the default for anything else."""
        return text if (text := self.text(name)) in allowed else default


@dataclass(frozen=True, slots=True)
class Request:
    """A request. path begins with "/", without the prefix of a proxy and of the login.

    headers have names in lower case. parts: the fields of a form with a message (`upload`), as sent.
    """

    method: str
    path: str
    query: Values = field(default_factory=Values)
    form: Values = field(default_factory=Values)
    parts: Mapping[str, bytes] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_reading(self) -> bool:
        """Whether the request may change nothing."""
        return self.method in ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Response:
    """An answer. after_answer: work that may take a second, and begins when the answer is on its way."""

    body: bytes
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    after_answer: tuple[Callable[[], object], ...] = ()


def as_json(values: object) -> Response:
    """Return values as JSON, in ASCII only."""
    return Response(json.dumps(values, ensure_ascii=True).encode("ascii"), content_type="application/json")


def as_line(status: int, text: str) -> Response:
    """Return one line of text, for a request that reaches no page: it needs no style and no link."""
    return Response(f"spamnb: {text}\n".encode(), status, "text/plain; charset=utf-8")


def label_of(text: str) -> Label | None:
    """Return the label with this word, or None."""
    return next((label for label in Label if label.word == text), None)


def whole_number(text: str) -> int:
    """Return a whole number of a link or form. Raises HttpError."""
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise HttpError(400, "A number was expected in the address.", "Go back to the page that you came from.")
    return int(text)


def read_request(environ: Mapping[str, object]) -> Request:
    """Return the request without its body, from a WSGI environment (PEP 3333). Raises HttpError."""
    headers = {
        name[5:].replace("_", "-").lower(): str(value) for name, value in environ.items() if name.startswith("HTTP_")
    }
    for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
        if value := environ.get(name):
            headers[name.replace("_", "-").lower()] = str(value)
    try:
        path = str(environ.get("PATH_INFO") or "/").encode("latin-1").decode("utf-8")
        query = _parsed(str(environ.get("QUERY_STRING", "")))
    except ValueError:
        raise HttpError(400, "The address cannot be read.", "Go back to the page that you came from.") from None
    return Request(str(environ["REQUEST_METHOD"]), path, query, headers=headers)


def read_form(headers: Mapping[str, str], body: BinaryIO) -> Values:
    """Return the fields of a form of at most 64 KB. Raises HttpError."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise HttpError(415, "Only forms are read here.", "Use the buttons of the pages.")
    try:
        return _parsed(body.read(content_length(headers, MAX_BODY)).decode("ascii"))
    except ValueError:
        raise HttpError(400, "The form cannot be read.", "Go back, and send it again.") from None


def content_length(headers: Mapping[str, str], most: int) -> int:
    """Return the size of a form in bytes. Raises HttpError if it is missing or too large."""
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdigit()):
        raise HttpError(411, "The length of the form is missing.", "Use the buttons of the pages.")
    if len(length) > 15 or int(length) > most:
        raise too_large()
    return int(length)


def too_large() -> HttpError:
    """Return the error for a form that is too large to read."""
    return HttpError(413, "The form is too large.", "Send fewer answers at once, or a smaller message.")


def _parsed(text: str) -> Values:
    fields = parse_qs(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict")
    return Values({name: tuple(values) for name, values in fields.items()})
