"""All verdicts, moves and lessons, the newest first."""

from collections.abc import Mapping
from dataclasses import replace

from spamnb.ledger.history.describe import as_object
from spamnb.ledger.history.lines import Line, Wanted
from spamnb.web.http import Response, as_json
from spamnb.web.parts.lines import MOST_IDS, acts, by_day
from spamnb.web.parts.mailbox_names import Names
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_ON_A_PAGE = 50
# Actions that one search looks through. A million take a second; 150,000 some 100 ms (benchmarks/web.py).
_WINDOW = 150_000
SHOWN: Mapping[str, tuple[str, Wanted]] = {
    "": ("All", Wanted()),
    "spam": ("Spam", Wanted(verdict="spam")),
    "unsure": ("Unsure", Wanted(verdict="unsure")),
    "ham": ("Ham", Wanted(verdict="ham")),
    "moved": ("Moved", Wanted(kind="moved")),
    "learned": ("Learned", Wanted(kind="learned")),
    "corrected": ("Corrected", Wanted(corrected=True)),
    "undone": ("Undone", Wanted(state="undone")),
    "chosen": ("Choices", Wanted(kind="chosen")),
}


def history(visit: Visit) -> Response:
    """Return a page of the history, or of a search in it."""
    asked, names = visit.request.query, Names(visit.config)
    show, text, mailbox = asked.one_of("show", SHOWN), asked.text("q", 100), asked.text("mailbox")
    wanted = replace(SHOWN[show][1], text=text, mailbox=names.path_of(mailbox))
    lines, rest = _page(visit, wanted)
    before = asked.number("before")
    newer = [] if before is None else visit.ledger.lines.page(MOST_IDS, wanted, before + MOST_IDS, before - 1)
    return visit.page(
        "history.html",
        title="History",
        days=list(by_day(acts(visit.ledger, lines, names, newer), visit.now)),
        rest=rest,
        is_searched=bool(show or text or mailbox),
        is_cut=rest is not None and len(lines) < _ON_A_PAGE,
        show=show,
        q=text,
        mailbox=mailbox,
        kinds=[(key, name) for key, (name, _) in SHOWN.items()],
        names=list(names.by_path.values()) if names.are_several else [],
    )


def history_as_json(visit: Visit) -> Response:
    """Return a page of actions in the form of `spamnb history --json`."""
    asked = visit.request.query
    wanted = replace(SHOWN[asked.one_of("show", SHOWN)][1], text=asked.text("q", 100))
    lines, rest = _page(visit, wanted)
    return as_json({"actions": [as_object(line) for line in lines], "before": rest})


def _page(visit: Visit, wanted: Wanted) -> tuple[list[Line], int | None]:
    """Return the newest wanted actions, and the id before which the next page begins, or None at the end."""
    ledger = visit.ledger
    before = visit.request.query.number("before") or ledger.journal.newest_id() + 1
    after = max(0, before - _WINDOW) if wanted != Wanted() else 0
    lines = ledger.lines.page(_ON_A_PAGE, wanted, before, after or None)
    if len(lines) == _ON_A_PAGE:
        return lines, lines[-1].action.id
    return lines, after + 1 if after else None


ROUTES = (Route("GET", "/history", history), Route("GET", "/history.json", history_as_json))
