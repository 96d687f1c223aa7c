"""For an administrator: several ledgers in one table. Sums alone: no message, subject or sender of anybody is read."""

import contextlib
import math
from dataclasses import dataclass
from pathlib import Path

from spamnb.acts.may_move import stop_of
from spamnb.base.errors import SpamnbError
from spamnb.config import load
from spamnb.ledger.file.locks import is_running
from spamnb.ledger.file.readonly import size_of
from spamnb.ledger.file.replacement import present
from spamnb.ledger.history.figures import Judged
from spamnb.ledger.ledger import Ledger
from spamnb.web.http import Response
from spamnb.web.parts.mailbox_names import short_names
from spamnb.web.routes import Route
from spamnb.web.visit import Visit

_DAYS = 30
_USUAL_NAME = "config.yaml"


@dataclass(frozen=True, slots=True)
class MailboxRow:
    """The filter of one configuration. fault: why nothing is known of it, or "". judged_at: the last time, or None."""

    name: str
    fault: str = ""
    is_running: bool = False
    is_stopped: bool = False
    learned: int = 0
    judged: Judged | None = None
    judged_at: float | None = None


def table(visit: Visit) -> Response:
    """A line for each configuration."""
    paths = [Path(path) for path in visit.site.others]
    names = short_names([path.parent if path.name == _USUAL_NAME else path for path in paths])
    rows = [_row(visit, path, name) for path, name in zip(paths, names.values(), strict=True)]
    down = sum(not row.is_running for row in rows)
    title = f"{down} of {len(rows)} not running" if down else "All are running"
    return visit.page("mailboxes_of_a_host.html", title=title, filters=rows, days=_DAYS)


def _row(visit: Visit, path: Path, name: str) -> MailboxRow:
    try:
        config = load(path, visit.site.environ)
        ledger_path = str(config.ledger)
        runs = is_running(ledger_path)
        if not size_of(present(ledger_path)):
            return MailboxRow(name, "it has learned nothing yet", runs)
        with contextlib.closing(Ledger(ledger_path, busy_seconds=0.5, only_read=True)) as ledger, ledger.snapshot():
            ham, spam = ledger.lessons.totals().tolist()[:2]
            (judged,) = ledger.figures.judged([visit.now - _DAYS * 86_400.0, math.inf])
            stop = stop_of(ledger, visit.now)
            return MailboxRow(name, "", runs, stop is not None, ham + spam, judged, ledger.messages.last_judged_at())
    except SpamnbError as fault:
        return MailboxRow(name, str(fault))


ROUTES = (Route("GET", "/", table),)
