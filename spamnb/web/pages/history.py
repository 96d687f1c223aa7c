"""Everything that was judged, moved and learned, the newest first."""

from spamnb.web.http import Response
from spamnb.web.lines import told
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_ON_A_PAGE = 50


def history(visit: Visit) -> Response:
    """A page of the history."""
    lines = told(visit, visit.ledger.journal.page(_ON_A_PAGE, before=visit.request.query.number("before")))
    return visit.page("history.html", title="History", lines=lines, is_full=len(lines) == _ON_A_PAGE)


ROUTES = (Route("GET", "/history", history),)
