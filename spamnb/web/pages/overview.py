"""The first page: whether all is well, and what was done lately."""

from spamnb.checkup.status import status
from spamnb.web.http import Response
from spamnb.web.lines import told
from spamnb.web.mailboxes import Names
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_LATELY = 10


def overview(visit: Visit) -> Response:
    """The state of the filter, and the newest actions."""
    ledger = visit.ledger
    return visit.page(
        "overview.html",
        title="Overview",
        status_=status(visit.config, ledger, visit.now),
        lines=told(ledger, ledger.journal.page(_LATELY), Names(visit.config)),
    )


ROUTES = (Route("GET", "/", overview),)
