"""What was learned weakly and is in doubt, kept between requests: judged beside the pages, as it may take a second."""

import threading

from spamnb.audit.findings import Finding
from spamnb.audit.queue import weak_lessons
from spamnb.config import Config
from spamnb.ledger.ledger import Ledger

_BUSY_SECONDS = 10.0


class KeptWeakLessons:
    """Judges the weak lessons of a ledger, one at a time, and keeps what is in doubt."""

    def __init__(self) -> None:
        self._running = threading.Lock()
        self._kept: tuple[object, list[Finding]] = None, []

    def look(self, ledger: Ledger, config: Config, since: float) -> tuple[list[Finding], bool]:
        """What was in doubt when it was judged last, and whether nothing was learned since.

        Where nothing was learned weakly since a time (seconds since the epoch), nothing has to be judged.
        """
        if not ledger.messages.learned_weakly(since, 1):
            return [], True
        asked, found = self._kept
        return found, asked == _asked(ledger, config)

    def judge(self, config: Config, since: float) -> None:
        """Judge them, unless that is being done. Raises LedgerError."""
        if not self._running.acquire(blocking=False):
            return
        try:
            with Ledger(str(config.ledger), busy_seconds=_BUSY_SECONDS, only_read=True) as ledger, ledger.snapshot():
                self._kept = _asked(ledger, config), weak_lessons(ledger, config, since)
        finally:
            self._running.release()


def _asked(ledger: Ledger, config: Config) -> object:
    return ledger.path, ledger.lessons.last_change(), config.scoring
