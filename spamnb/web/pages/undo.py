"""Undo some actions, or all of the last hour, of today, or since a line. The page shows their numbers first.

The filter's moves are ticked: they are what goes wrong in an hour. A lesson is seldom wrong, and many are lost at once.
A person's own move belongs to the lesson that it taught. Each box has the numbers that hold if it alone is ticked.
"""

from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from spamnb.acts import undo as taking_back
from spamnb.acts.undo import UndoOutcome
from spamnb.base.wording import plural
from spamnb.ledger.history.actions import UNDOABLE, Action, Kind
from spamnb.ledger.ledger import Ledger
from spamnb.web import action_ids
from spamnb.web.http import HttpError, Response, Values
from spamnb.web.parts.lines import acts
from spamnb.web.parts.mailbox_names import Names
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_SHOWN = 50  # acts
_LATEST = 4_000_000_000  # seconds since the epoch, the year 2096
SPANS: Mapping[str, str] = {"hour": "The last hour", "today": "Today"}
_INIT = "init"  # the lessons of `spamnb init`: without these the filter knows nothing, so they are apart from others
BOXES: Mapping[str, tuple[Kind, ...]] = {
    "moves": ("moved",),
    "lessons": ("learned", "imported", "settled", "moved"),
    _INIT: ("learned",),
    "choices": ("chosen",),
}


@dataclass(frozen=True, slots=True)
class Box:
    """A box to tick. says: the numbers, such as "3 lessons". stays: how many cannot be undone. why: a reason."""

    name: str
    says: str
    number: int
    stays: int
    why: str


@dataclass(frozen=True, slots=True)
class Since:
    """The moment since which all is undone, in seconds since the epoch, and the field of the form that names it."""

    at: float
    field: str
    value: int


def _since(ledger: Ledger, asked: Values) -> Since | None:
    """Return the moment that a form names: a time in whole seconds, or the time of an action; None without either."""
    at, number = asked.number("at"), asked.number("since")
    if at is not None and at < _LATEST:
        return Since(float(at), "at", at)
    action = None if number is None else ledger.journal.get(number)
    return None if action is None else Since(action.at, "since", action.id)


def _span(span: str, now: float) -> Since:
    """Return the beginning of a span that ends now. Days are local."""
    midnight = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    at = int(now) - 3600 if span == "hour" else int(midnight.timestamp())
    return Since(float(at), "at", at)


def preview(visit: Visit) -> Response:
    """Return what an undo would do, from a time or an action until now. Without either, it begins an hour ago."""
    ledger, asked = visit.ledger, visit.request.query
    span = asked.one_of("span", SPANS)
    if not any(asked.text(name) for name in ("span", "at", "since")):
        span = "hour"
    since = _span(span, visit.now) if span else _since(ledger, asked)
    if since is None:
        raise HttpError(404, "This is not in the history.", "To undo, choose a line of the present history.")
    actions = _all_since(ledger, since, BOXES)
    of_boxes = {
        box: list(taking_back.foresee(ledger, visit.config, [one for one in actions if _is_in(ledger, box, one)]))
        for box in BOXES
    }
    outcomes = [outcome for some in of_boxes.values() for outcome in some]
    faults = {outcome.action.id: outcome.why_not for outcome in outcomes if outcome.fault is not None}
    shown = acts(ledger, ledger.lines.of(actions[: _SHOWN * 3]), Names(visit.config))
    return visit.page(
        "undo.html",
        title="Undo",
        since=since,
        span=span,
        spans=SPANS.items(),
        upto=ledger.journal.newest_id(),
        boxes=_boxes(of_boxes),
        is_possible=len(faults) < len(outcomes),
        lines=[(act, next((faults[id_] for id_ in act.ids if id_ in faults), "")) for act in shown[:_SHOWN]],
        more=len(actions) > _SHOWN * 3 or len(shown) > _SHOWN,
    )


def _boxes(of_boxes: Mapping[str, Sequence[UndoOutcome]]) -> list[Box]:
    """Return the boxes of what there is, with their numbers. of_boxes: what an undo of each box would yield."""
    learned = {one.action.message for some in of_boxes.values() for one in some if one.action.kind == "learned"}
    boxes = []
    for name, outcomes in of_boxes.items():
        of_box = [one for one in outcomes if not _ends_only_the_asking(one.action, learned)]
        numbers = Counter(outcome.action.kind for outcome in of_box if outcome.fault is None)
        stay = [outcome for outcome in of_box if outcome.fault is not None]
        kinds = [kind for kind in BOXES[name] if numbers[kind]] or BOXES[name][:1]
        says = ", ".join(plural(numbers[kind], UNDOABLE[kind]) for kind in kinds)
        if of_box:
            boxes.append(Box(name, says, sum(numbers.values()), len(stay), stay[0].why_not if stay else ""))
    return boxes


def _ends_only_the_asking(action: Action, learned: Container[int]) -> bool:
    """Return whether an action only records that the filter does not ask again about a learned message."""
    return action.kind == "settled" and action.message in learned


def _is_in(ledger: Ledger, box: str, action: Action) -> bool:
    if action.kind == "moved":
        is_of_filter = ledger.journal.first(action).verdict is not None
        return box == ("moves" if is_of_filter else "lessons")
    return action.kind in BOXES[box] and action.is_of_init is (box == _INIT)


def _all_since(ledger: Ledger, since: Since, boxes: Collection[str]) -> list[Action]:
    actions = taking_back.since(ledger, since.at, [kind for box in boxes for kind in BOXES[box]])
    return [action for action in actions if any(_is_in(ledger, box, action) for box in boxes)]


def undo(visit: Visit) -> Response:
    """Undo the actions that the form names, or all since a moment, but nothing newer than the form has shown."""
    actions = _chosen(visit)
    ledger = visit.ledger
    before = ledger.journal.newest_id()
    outcomes = list(taking_back.undo(ledger, visit.config, actions, visit.site.now, later=visit.after_answer.append))
    faults = [outcome.fault for outcome in outcomes if outcome.fault is not None]
    if faults and len(faults) == len(outcomes):
        raise HttpError(409, str(faults[0]), "Nothing was changed.")
    made = ledger.journal.undoing([action.id for action in actions], before)
    return visit.done(made, back="history", left=len(faults))


def _chosen(visit: Visit) -> Sequence[Action]:
    form, ledger = visit.request.form, visit.ledger
    since, upto = _since(ledger, form), form.number("upto")
    if since is not None and upto is not None:
        ticked = [box for box in BOXES if form.text(box)]
        if not ticked:
            raise HttpError(400, "Nothing is ticked.", "Go back, and tick what you want to undo: moves, or lessons.")
        actions = [action for action in _all_since(ledger, since, ticked) if action.id <= upto]
    else:
        try:
            actions = taking_back.of_ids(
                ledger, [number for text in form.all("id") for number in action_ids.read(text)]
            )
        except taking_back.NoSuchActionError as fault:
            raise HttpError(404, str(fault), "Look at the present history.") from fault
    if not actions:
        raise HttpError(409, "There is nothing to undo.", "It may have been undone already.")
    return actions


ROUTES = (Route("GET", "/undo", preview), Route("POST", "/undo", undo))
