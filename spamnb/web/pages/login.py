"""Log in by a code, log out, and the page for a browser that is not logged in."""

from dataclasses import replace

from spamnb.web.access import is_from_elsewhere
from spamnb.web.http import HttpError, Response
from spamnb.web.routes import Route
from spamnb.web.visit import Visit


def please_log_in(visit: Visit) -> Response:
    """Return the page for a request without a cookie.

    A link in webmail leads here too: the browser does not send the cookie from other sites, but sends it when the
    person follows a link on this page.
    """
    is_link = visit.request.is_reading and is_from_elsewhere(visit.request.headers)
    here = visit.request.path.removeprefix("/") if is_link else ""
    return visit.page("login.html", title="Please log in", status=401, state="link" if is_link else "", here=here)


def _log_in(visit: Visit) -> Response:
    access = visit.site.access
    if not access.address.has_login:
        return visit.redirect("")
    is_looked_at = visit.request.method == "HEAD"  # a program that checks links must not use up the person's code
    code = "" if is_looked_at else visit.request.query.text("code")
    if code and access.codes.take(code):
        if is_from_elsewhere(visit.request.headers):  # the browser would follow a redirect without the new cookie
            response = visit.page("login.html", title="You are logged in", state="done", here="")
        else:
            response = visit.redirect("")
        return replace(response, headers=(*response.headers, access.new_cookie()))
    if code and not access.codes.may_be_wrong():
        raise HttpError(429, "Too many wrong codes.", "Wait a minute, then: spamnb web --open", Retry_After="60")
    return visit.page("login.html", title="Please log in", status=401, state="", here="")


def _log_out(visit: Visit) -> Response:
    response = visit.redirect("login")
    return replace(response, headers=(*response.headers, visit.site.access.no_cookie()))


ROUTES = (
    Route("GET", "/login", _log_in, is_public=True),
    Route("POST", "/logout", _log_out),
)
