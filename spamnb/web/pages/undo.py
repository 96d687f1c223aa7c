"""Taking back: certain acts, or everything since a moment, which is first shown."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from spamnb.acts import undo as taking_back
from spamnb.ledger.history.journal import Action
from spamnb.ledger.ledger import Ledger
from spamnb.web.http import HttpError, Response, Values, whole_number
from spamnb.web.parts.lines import history_lines
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Since:
    """From when on all is taken back, in seconds since the epoch; and the field of the form that says so."""

    at: float
    field: str
    value: int


def _since(ledger: Ledger, asked: Values) -> Since | None:
    """A time in whole seconds, or the time of an action; None where none is named, or none is there."""
    if (at := asked.number("at")) is not None:
        return Since(float(at), "at", at)
    action = asked.number("since")
    return None if action is None else _of_action(ledger, action)


def _of_action(ledger: Ledger, number: int) -> Since | None:
    action = ledger.journal.get(number)
    return None if action is None else Since(action.at, "since", number)


def preview(visit: Visit) -> Response:
    """What would be taken back, from a time or an action on until now; where none is named, the last act."""
    ledger = visit.ledger
    asked = visit.request.query
    is_named = bool(asked.text("at") or asked.text("since"))
    since = _since(ledger, asked) if is_named else _of_action(ledger, ledger.journal.newest_id())
    if since is None:
        raise HttpError(404, "There is no such action in the history (any more).", "Choose another one there.")
    actions = taking_back.since(ledger, since.at)
    outcomes = list(taking_back.foresee(ledger, actions))
    numbers = Counter(outcome.action.kind for outcome in outcomes if outcome.fault is None)
    lines = history_lines(ledger, ledger.journal.lines(actions[:_SHOWN]))
    return visit.page(
        "undo.html",
        title="Take back",
        since=since,
        upto=ledger.journal.newest_id(),
        numbers=numbers,
        total=sum(numbers.values()),
        stay=[outcome for outcome in outcomes if outcome.fault is not None],
        pairs=list(zip(lines, outcomes, strict=False)),
        more=len(outcomes) - len(lines),
    )


def undo(visit: Visit) -> Response:
    """Take back the actions that the form names, or all since a moment; nothing newer than the form has shown."""
    actions = _chosen(visit)
    ledger = visit.ledger
    before = ledger.journal.newest_id()
    outcomes = list(taking_back.undo(ledger, actions, visit.site.now, later=visit.after.append))
    faults = [outcome.fault for outcome in outcomes if outcome.fault is not None]
    if faults and len(faults) == len(outcomes):
        raise HttpError(409, str(faults[0]), "Nothing was changed.")
    made = ledger.journal.undoing([action.id for action in actions], before)
    return visit.done(made, back="history", left=len(faults))


def _chosen(visit: Visit) -> Sequence[Action]:
    form, ledger = visit.request.form, visit.ledger
    since, upto = _since(ledger, form), form.number("upto")
    if since is not None and upto is not None:
        actions = [action for action in taking_back.since(ledger, since.at) if action.id <= upto]
    else:
        try:
            actions = taking_back.of_ids(ledger, [whole_number(text) for text in form.all("id")])
        except taking_back.NoSuchActionError as fault:
            raise HttpError(404, str(fault), "Look at the history as it is now.") from fault
    if not actions:
        raise HttpError(409, "There is nothing to take back.", "It may have been taken back meanwhile.")
    return actions


ROUTES = (Route("GET", "/undo", preview), Route("POST", "/undo", undo))
