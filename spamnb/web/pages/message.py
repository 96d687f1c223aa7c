"""One message: what it is, where it is, why, and what became of it."""

from spamnb.web.http import HttpError, Response
from spamnb.web.lines import told
from spamnb.web.routes import Route
from spamnb.web.visit import Visit


def message(visit: Visit) -> Response:
    """A message by its number in the ledger."""
    ledger = visit.ledger
    known = ledger.messages.lookup(visit.number("id"))
    if known is None:
        raise HttpError(404, "This message is not in the history.", "It was never seen, or is long gone and forgotten.")
    lines = told(visit, ledger.journal.lines(ledger.journal.of_message(known.id)))
    return visit.page("message.html", title="Message", known=known, lines=lines)


ROUTES = (Route("GET", "/m/{id}", message),)
