"""Taking back: one act, or everything since a moment, with a preview."""

from spamnb import undo as taking_back
from spamnb.web.http import HttpError, Response, whole_number
from spamnb.web.routes import Route
from spamnb.web.visit import Visit


def undo(visit: Visit) -> Response:
    """Take back the actions that the form names."""
    ids = [whole_number(text) for text in visit.request.form.all("id")]
    if not ids:
        raise HttpError(400, "Nothing was chosen.", "Go back, and choose what is to be undone.")
    ledger = visit.ledger
    actions, before = taking_back.of_ids(ledger, ids), ledger.journal.newest_id()
    outcomes = list(taking_back.undo(ledger, actions, visit.site.now, later=visit.after.append))
    faults = [outcome.fault for outcome in outcomes if outcome.fault is not None]
    if faults and len(faults) == len(outcomes):
        raise faults[0]
    return visit.done(ledger.journal.undoing([action.id for action in actions], before), back="history")


ROUTES = (Route("POST", "/undo", undo),)
