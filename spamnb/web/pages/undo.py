"""Undoing: certain actions, or all since an hour, since midnight or since a line, which is first shown."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from spamnb.acts import undo as taking_back
from spamnb.acts.moves import layouts_of
from spamnb.base.wording import plural
from spamnb.ledger.history.journal import Action, Kind
from spamnb.ledger.ledger import Ledger
from spamnb.web import runs
from spamnb.web.http import HttpError, Response, Values
from spamnb.web.parts.lines import history_lines
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_SHOWN = 50
SPANS: Mapping[str, str] = {"hour": "The last hour", "today": "Today"}
KINDS: Mapping[str, tuple[str, tuple[Kind, ...]]] = {
    "": ("Everything", ()),
    "moved": ("Moves only", ("moved",)),
    "learned": ("Lessons only", ("learned",)),
}
_DOES: tuple[tuple[Kind, str, str], ...] = (
    ("moved", "message", "move {} back"),
    ("learned", "lesson", "change {} back"),
    ("imported", "import", "take {} back"),
    ("chosen", "choice", "take {} back"),
    ("settled", "answer", "ask about {} again"),
)


@dataclass(frozen=True, slots=True)
class Since:
    """From when on all is undone, in seconds since the epoch; and the field of the form that says so."""

    at: float
    field: str
    value: int


def _since(ledger: Ledger, asked: Values, now: float) -> Since | None:
    """A time in whole seconds, a span until now, or the time of an action; None where none of them is there."""
    span = asked.one_of("span", SPANS)
    at = _begin(span, now) if span else asked.number("at")
    if at is not None:
        return Since(float(at), "at", at)
    action = asked.number("since")
    return None if action is None else _of_action(ledger, action)


def _begin(span: str, now: float) -> int:
    """When a span began that ends now, in whole seconds since the epoch; days are local."""
    if span == "hour":
        return int(now) - 3600
    return int(datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0).timestamp())


def _of_action(ledger: Ledger, number: int) -> Since | None:
    action = ledger.journal.get(number)
    return None if action is None else Since(action.at, "since", number)


def preview(visit: Visit) -> Response:
    """What would be undone, from a time or an action on until now; where none is named, the last act."""
    ledger, asked = visit.ledger, visit.request.query
    is_named = any(asked.text(name) for name in ("at", "since", "span"))
    since = _since(ledger, asked, visit.now) if is_named else _of_action(ledger, ledger.journal.newest_id())
    if since is None:
        raise HttpError(404, "There is no such action in the history (any more).", "Choose another one there.")
    what, span = asked.one_of("what", KINDS), asked.one_of("span", SPANS)
    actions = _all_since(ledger, since, what)
    outcomes = list(taking_back.foresee(ledger, layouts_of(visit.config), actions))
    numbers = Counter(outcome.action.kind for outcome in outcomes if outcome.fault is None)
    lines = history_lines(ledger, ledger.journal.lines(actions[:_SHOWN]))
    return visit.page(
        "undo.html",
        title="Undo",
        since=since,
        span=span,
        what=what,
        spans=SPANS.items(),
        kinds=[(key, name) for key, (name, _) in KINDS.items()],
        asked={} if span else {since.field: since.value},
        upto=ledger.journal.newest_id(),
        parts=[words.format(plural(numbers[kind], noun)) for kind, noun, words in _DOES if numbers[kind]],
        total=sum(numbers.values()),
        stay=[outcome for outcome in outcomes if outcome.fault is not None],
        pairs=list(zip(lines, outcomes, strict=False)),
        more=len(outcomes) - len(lines),
    )


def _all_since(ledger: Ledger, since: Since, what: str) -> list[Action]:
    kinds = KINDS[what][1]
    return taking_back.since(ledger, since.at, *([kinds] if kinds else []))


def undo(visit: Visit) -> Response:
    """Undo the actions that the form names, or all since a moment; nothing newer than the form has shown."""
    actions = _chosen(visit)
    ledger = visit.ledger
    before = ledger.journal.newest_id()
    outcomes = list(
        taking_back.undo(ledger, layouts_of(visit.config), actions, visit.site.now, later=visit.after.append)
    )
    faults = [outcome.fault for outcome in outcomes if outcome.fault is not None]
    if faults and len(faults) == len(outcomes):
        raise HttpError(409, str(faults[0]), "Nothing was changed.")
    made = ledger.journal.undoing([action.id for action in actions], before)
    return visit.done(made, back="history", left=len(faults))


def _chosen(visit: Visit) -> Sequence[Action]:
    form, ledger = visit.request.form, visit.ledger
    since, upto = _since(ledger, form, visit.now), form.number("upto")
    if since is not None and upto is not None:
        all_of_them = _all_since(ledger, since, form.one_of("what", KINDS))
        actions = [action for action in all_of_them if action.id <= upto]
    else:
        try:
            actions = taking_back.of_ids(ledger, [number for text in form.all("id") for number in runs.read(text)])
        except taking_back.NoSuchActionError as fault:
            raise HttpError(404, str(fault), "Look at the history as it is now.") from fault
    if not actions:
        raise HttpError(409, "There is nothing to undo.", "It may have been undone meanwhile.")
    return actions


ROUTES = (Route("GET", "/undo", preview), Route("POST", "/undo", undo))
