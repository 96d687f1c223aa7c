"""The judgements of all learned mail without itself, kept between requests: made once, in the background.

They take some 5 s for 30,000 messages, so a request only begins them, and shows how far they are. They are made again
when something was learned or forgotten since; until then the former ones are shown.
"""

import threading
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from spamnb.config import Scoring
from spamnb.ledger.ledger import Ledger
from spamnb.web.background import Run, Tell, here

if TYPE_CHECKING:
    from spamnb.audit.own_mail import OwnMail

_Of = tuple[str, int, Scoring]
_BUSY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Looked:
    """What is known of the own mail; `mail` is None before it was judged for the first time.

    is_current: nothing was learned since. done, of: how far the judging is, in messages; of is 0 where it has not
    begun.
    """

    mail: "OwnMail | None"
    is_current: bool
    done: int
    of: int


class KeptOwnMail:
    """Judges the own mail of a ledger, one at a time, and keeps the result."""

    def __init__(self, run: Run = here) -> None:
        self._run = run
        self._running = threading.Lock()
        self._kept: tuple[_Of, OwnMail] | None = None
        self._progress = 0, 0

    def look(self, ledger: Ledger, scoring: Scoring) -> Looked:
        """What is known now."""
        kept, progress = self._kept, self._progress
        if kept is None or kept[0][0] != ledger.path:
            return Looked(None, False, *progress)
        return Looked(kept[1], kept[0] == (ledger.path, ledger.lessons.last_change(), scoring), *progress)

    def judge(self, path: str, scoring: Scoring) -> None:
        """Judge the mail of a ledger, unless that is being done. Raises LedgerError."""
        if not self._running.acquire(blocking=False):
            return
        try:
            found = self._run(partial(_judged, path, scoring), self._tell)
            self._kept = (path, found.change, scoring), found
        finally:
            self._progress = 0, 0
            self._running.release()

    def _tell(self, done: int, of: int) -> None:
        self._progress = done, of


def _judged(path: str, scoring: Scoring, tell: Tell) -> "OwnMail":
    from spamnb.audit.own_mail import own_mail  # noqa: PLC0415 - the server itself needs none of it

    with Ledger(path, busy_seconds=_BUSY_SECONDS, only_read=True) as ledger:
        return own_mail(ledger, scoring, tell)
