"""Answer one request: check who asks, find the page, open the ledger for it. A WSGI application (PEP 3333)."""

import contextlib
import logging
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, BinaryIO, cast

from spamnb.base.errors import (
    ConfigError,
    LedgerBusyError,
    LedgerDamagedError,
    LedgerError,
    LedgerNewerError,
    LedgerUnavailableError,
    MaildirError,
    RegisterError,
    SpamnbError,
    UsageError,
)
from spamnb.ledger.file.parts import refuse_new
from spamnb.ledger.file.readonly import size_of
from spamnb.ledger.file.replacement import present
from spamnb.ledger.ledger import Ledger
from spamnb.web.access import HEADERS
from spamnb.web.http import HttpError, Request, Response, as_line, read_form, read_request
from spamnb.web.pages.login import please_log_in
from spamnb.web.routes import Route, Router
from spamnb.web.upload import read_parts
from spamnb.web.visit import NothingYetError, Site, Visit

_log = logging.getLogger(__name__)
_BUSY_SECONDS = 2.0
_NO_STORE = ("Cache-Control", "no-store")
_TITLES = {
    401: "Please log in",
    403: "Not from here",
    404: "Not found",
    405: "Not like that",
    413: "Too much at once",
    429: "Too many tries",
    500: "Something is wrong",
    503: "Not just now",
}
StartResponse = Callable[[str, list[tuple[str, str]]], Any]
InBackground = Callable[[Callable[[], object]], None]


class Application:
    """Answers requests. background: does work that no answer waits for.

    site_of: returns the pages of the user who asks, if they are not one person's; it raises HttpError.
    """

    def __init__(
        self, site: Site, router: Router, background: InBackground, site_of: Callable[[Request], Site] | None = None
    ) -> None:
        self._site = site
        self._site_of = site_of
        self._access = site.access
        self._router = router
        self._background = background

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request of a WSGI server."""
        start = time.monotonic()
        response, pattern = self.answer(environ)
        for work in response.after_answer:
            self._background(work)
        headers = [("Content-Type", response.content_type), ("Content-Length", str(len(response.body))), *HEADERS]
        if all(name != "Cache-Control" for name, _ in response.headers):
            headers.append(_NO_STORE)
        start_response(f"{response.status} {HTTPStatus(response.status).phrase}", [*headers, *response.headers])
        method, milliseconds = environ["REQUEST_METHOD"], 1000 * (time.monotonic() - start)
        _log.debug("%s %s %d %.0f ms", method, pattern or "-", response.status, milliseconds)
        return [b"" if method == "HEAD" else response.body]

    def answer(self, environ: Mapping[str, Any]) -> tuple[Response, str]:
        """Return the response, and the pattern of its route ("" for none)."""
        try:
            request = read_request(environ)
            self._access.check_host(request)
            request = self._access.below_base(request)
            site = self._site if self._site_of is None else self._site_of(request)
        except HttpError as fault:
            return as_line(fault.status, f"{fault.what} {fault.step}"), ""
        except SpamnbError as fault:
            _log.error("the login cannot be checked: %s", fault)
            return as_line(500, "The login cannot be checked. To see why, in a terminal: spamnb web --open"), ""
        return self._below_base(site, request, cast(BinaryIO, environ.get("wsgi.input")))

    def _below_base(self, site: Site, request: Request, body: BinaryIO) -> tuple[Response, str]:
        """Return the response to a request for a page, and the pattern of its route."""
        pattern = ""
        try:
            route, numbers = self._router.find(request.method, request.path)
            pattern = route.pattern
            if not request.is_reading:
                request = self._with_form(request, body, takes_message=route.takes_message)
            return self._from_page(route, Visit(site, request, numbers)), pattern
        except HttpError as fault:
            return _refused(Visit(site, request), fault), pattern
        except NothingYetError:
            return Visit(site, request).page("nothing_yet.html", title="Nothing learned yet"), pattern
        except SpamnbError as fault:
            visit = Visit(site, request)
            return _refused(visit, as_http(fault, visit.installation.spamnb)), pattern
        except Exception:
            number = secrets.token_hex(4)
            _log.exception("a page could not be made (%s)", number)
            step = f"Please report it, with the lines at {number} in the log of these pages."
            return _refused(Visit(site, request), HttpError(500, "This should not happen.", step)), pattern

    def _with_form(self, request: Request, body: BinaryIO, *, takes_message: bool) -> Request:
        """Return a POST request with its form, if it is allowed."""
        self._access.check_origin(request)
        if self._site.is_read_only:
            raise HttpError(405, "These pages cannot change anything.", "They run with --read-only.", Allow="GET, HEAD")
        if takes_message and self._access.is_logged_in(request):  # from anybody else it reads nothing large
            return replace(request, parts=read_parts(request.headers, body))
        return request if takes_message else replace(request, form=read_form(request.headers, body))

    def _from_page(self, route: Route, visit: Visit) -> Response:
        site, request = visit.site, visit.request
        if not (route.is_public or self._access.is_logged_in(request)):
            return please_log_in(visit)
        if route.is_public or site.host is not None:
            return route.page(visit)
        with _opened(str(site.config().ledger), only_read=request.is_reading or route.takes_message) as ledger:
            site.kept.use("" if ledger is None else ledger.state.mark)
            return route.page(replace(visit, opened=ledger))


def _refused(visit: Visit, fault: HttpError) -> Response:
    title = _TITLES.get(fault.status, "That did not work")
    page = visit.page("error.html", title=title, status=fault.status, what=fault.what, step=fault.step)
    return replace(page, headers=fault.headers)


@contextlib.contextmanager
def _opened(path: str, *, only_read: bool) -> Iterator[Ledger | None]:
    """Open the ledger for one request, or yield None before the first one. All reads see one moment.

    It is closed after the request, since an open ledger cannot be restored from a copy or repaired.
    """
    if not size_of(present(path)):
        refuse_new(path)
        yield None
        return
    with (
        Ledger(path, busy_seconds=_BUSY_SECONDS, only_read=only_read) as ledger,
        ledger.snapshot() if only_read else contextlib.nullcontext(),
    ):
        yield ledger


def as_http(fault: SpamnbError, spamnb: str = "spamnb") -> HttpError:
    """Return a fault of the ledger, the configuration or a mailbox as a page with the next step.

    spamnb: the beginning of a command here.
    """
    if isinstance(fault, LedgerBusyError):
        return HttpError(503, str(fault), "Load this page again to try again.", Retry_After="2")
    if isinstance(fault, LedgerUnavailableError | MaildirError):
        return HttpError(503, str(fault), "Then load this page again.", Retry_After="30")
    if isinstance(fault, LedgerDamagedError):
        return HttpError(500, str(fault), f"To see the damage: {spamnb} verify")
    if isinstance(fault, LedgerNewerError):
        step = f"If spamnb was upgraded, end the server of these pages and start it again: {spamnb} web"
        return HttpError(503, str(fault), step)
    if isinstance(fault, ConfigError):
        return HttpError(500, str(fault), f"To look at the configuration: {spamnb} config --check")
    if isinstance(fault, UsageError):
        return HttpError(400, str(fault), "Go back, and write it in another way.")
    return HttpError(503 if isinstance(fault, LedgerError | RegisterError) else 409, str(fault))
