"""Taking back: certain acts, or everything since a moment, which is first shown."""

from collections import Counter
from collections.abc import Sequence

from spamnb import undo as taking_back
from spamnb.ledger.history.journal import Action
from spamnb.web.http import HttpError, Response, whole_number
from spamnb.web.lines import told
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_SHOWN = 50


def preview(visit: Visit) -> Response:
    """What would be taken back, from an action on until now; where none is named, the last act."""
    ledger = visit.ledger
    first = ledger.journal.get(visit.request.query.number("since") or ledger.journal.newest_id())
    if first is None:
        raise HttpError(404, "There is no such action in the history (any more).", "Choose another one there.")
    actions = taking_back.since(ledger, first.at)
    outcomes = list(taking_back.foresee(ledger, actions))
    numbers = Counter(one.action.kind for one in outcomes if one.fault is None)
    lines = told(ledger, ledger.journal.lines(actions[:_SHOWN]))
    return visit.page(
        "undo.html",
        title="Take back",
        first=first,
        upto=ledger.journal.newest_id(),
        numbers=numbers,
        total=sum(numbers.values()),
        stay=[one for one in outcomes if one.fault is not None],
        pairs=list(zip(lines, outcomes, strict=False)),
        more=len(outcomes) - len(lines),
    )


def undo(visit: Visit) -> Response:
    """Take back the actions that the form names, or all since one of them; nothing newer than the form has shown."""
    actions = _chosen(visit)
    ledger = visit.ledger
    before = ledger.journal.newest_id()
    outcomes = list(taking_back.undo(ledger, actions, visit.site.now, later=visit.after.append))
    faults = [one.fault for one in outcomes if one.fault is not None]
    if faults and len(faults) == len(outcomes):
        raise HttpError(409, str(faults[0]), "Nothing was changed.")
    made = ledger.journal.undoing([action.id for action in actions], before)
    return visit.done(made, back="history", **({"left": len(faults)} if faults else {}))


def _chosen(visit: Visit) -> Sequence[Action]:
    form, ledger = visit.request.form, visit.ledger
    since, upto = form.number("since"), form.number("upto")
    if since is not None and upto is not None:
        first = ledger.journal.get(since)
        found = [] if first is None else taking_back.since(ledger, first.at)
        actions = [action for action in found if action.id <= upto]
    else:
        try:
            actions = taking_back.of_ids(ledger, [whole_number(text) for text in form.all("id")])
        except taking_back.NoSuchActionError as fault:
            raise HttpError(404, str(fault), "Look at the history as it is now.") from fault
    if not actions:
        raise HttpError(409, "There is nothing to take back.", "It may have been taken back meanwhile.")
    return actions


ROUTES = (Route("GET", "/undo", preview), Route("POST", "/undo", undo))
