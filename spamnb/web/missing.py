"""What has still to be learned before mail is moved, kept between requests.

For it ham is judged without itself, which takes 0.3 s with 500,000 tokens: a request only begins that, and shows what
was found before.
"""

import threading
from functools import partial

from spamnb import arming
from spamnb.config import Learning, Scoring
from spamnb.ledger.ledger import Ledger
from spamnb.web.background import Run, Tell, here

_BUSY_SECONDS = 10.0
_UNKNOWN = "it is being looked at whether your ham would be taken for spam"
_Of = tuple[str, int, Scoring, Learning]


class KeptMissing:
    """Looks what is missing in a ledger, one at a time, and keeps the result."""

    def __init__(self, run: Run = here) -> None:
        self._run = run
        self._running = threading.Lock()
        self._kept: tuple[_Of, str] | None = None

    def look(self, ledger: Ledger, scoring: Scoring, learning: Learning) -> tuple[str, bool]:
        """What is missing, in words, as far as it is known; and whether that is so now."""
        known, kept = arming.known_missing(ledger, learning), self._kept
        if known is not None:
            return known, True
        if kept is None or kept[0][0] != ledger.path:
            return _UNKNOWN, False
        return kept[1], kept[0] == (ledger.path, ledger.lessons.last_change(), scoring, learning)

    def judge(self, path: str, scoring: Scoring, learning: Learning) -> None:
        """Look at a ledger, unless that is being done. Raises LedgerError."""
        if not self._running.acquire(blocking=False):
            return
        try:
            change, found = self._run(partial(_missing, path, scoring, learning), lambda *_: None)
            self._kept = (path, change, scoring, learning), found
        finally:
            self._running.release()


def _missing(path: str, scoring: Scoring, learning: Learning, _: Tell) -> tuple[int, str]:
    with Ledger(path, busy_seconds=_BUSY_SECONDS, only_read=True) as ledger, ledger.snapshot():
        return ledger.lessons.last_change(), arming.missing(ledger, scoring, learning)
