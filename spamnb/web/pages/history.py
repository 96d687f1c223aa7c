"""All verdicts, moves and lessons, the newest first."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from spamnb.base.label import Role
from spamnb.ledger.history.describe import as_object
from spamnb.ledger.history.lines import Line, Wanted
from spamnb.web.http import HttpError, Response, as_json
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


JUNK = "junk"
_JUNK_DAYS = 30


def history(visit: Visit) -> Response:
    """Return a page of the history, or of a search in it."""
    asked, names = visit.request.query, Names(visit.config)
    show, text, mailbox = asked.one_of("show", {**SHOWN, JUNK: ""}), asked.text("q", 100), asked.text("mailbox")
    if show == JUNK:
        return _junk(visit, names, text, mailbox)
    wanted = replace(SHOWN[show][1], text=text, mailbox=names.path_of(mailbox))
    lines, rest = _page(visit, wanted)
    before = _before(visit)
    newer = [] if before is None else visit.ledger.lines.page(MOST_IDS, wanted, before + MOST_IDS, before - 1)
    return visit.page(
        "history.html",
        title="History",
        days=list(by_day(acts(visit.ledger, lines, names, newer), visit.now)),
        rest=rest,
        is_searched=bool(show or text or mailbox),
        is_cut=rest is not None and len(lines) < _ON_A_PAGE,
        day=asked.text("day", 10) if asked.number("before") is None else "",
        **_search(names, show, text, mailbox),
    )


def _search(names: Names, show: str, text: str, mailbox: str) -> dict[str, Any]:
    """Return what the form for a search and the links below it need."""
    kinds = [(key, name) for key, (name, _) in SHOWN.items()]
    kinds.insert(2, (JUNK, "In Junk"))
    several = list(names.by_path.values()) if names.are_several else []
    return {"show": show, "q": text, "mailbox": mailbox, "kinds": kinds, "names": several}


def _junk(visit: Visit, names: Names, text: str, mailbox: str) -> Response:
    """Return a page of the mail that the filter has called spam and that is in Junk, the least sure first."""
    path, skip, ledger = names.path_of(mailbox), visit.request.query.number("skip") or 0, visit.ledger
    roles = {str(one.path): one for one in visit.config.mailboxes}
    folders = [
        folder
        for folder, root, name in ledger.locations.all_folders()
        if root in roles and path in (None, root) and roles[root].role_of(name) is Role.SPAM
    ]
    since = visit.now - _JUNK_DAYS * 86_400
    lines = ledger.lines.least_sure(folders, since, _ON_A_PAGE + 1, text=text, skip=skip)
    return visit.page(
        "junk.html",
        title="In Junk, least sure first",
        acts=acts(ledger, lines[:_ON_A_PAGE], names),
        is_searched=bool(text or mailbox or skip),
        rest=skip + _ON_A_PAGE if len(lines) > _ON_A_PAGE else None,
        number_of_days=_JUNK_DAYS,
        **_search(names, JUNK, text, mailbox),
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
    before = _before(visit) or ledger.journal.newest_id() + 1
    after = max(0, before - _WINDOW) if wanted != Wanted() else 0
    lines = ledger.lines.page(_ON_A_PAGE, wanted, before, after or None)
    if len(lines) == _ON_A_PAGE:
        return lines, lines[-1].action.id
    return lines, after + 1 if after else None


def _before(visit: Visit) -> int | None:
    """Return the id before which the page begins: of an earlier page, or of the day after the one that is asked for."""
    before = visit.request.query.number("before")
    if before is not None or not (text := visit.request.query.text("day", 10)):
        return before
    try:
        end = (datetime.strptime(text, "%Y-%m-%d") + timedelta(days=1)).timestamp()
    except (ValueError, OverflowError):
        raise HttpError(400, "A day was expected, such as 2026-08-01.", "Go back, and choose a day.") from None
    return visit.ledger.journal.first_id_after(end)


ROUTES = (Route("GET", "/history", history), Route("GET", "/history.json", history_as_json))
