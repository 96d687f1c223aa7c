"""How many messages wait for a person, as the navigation says beside the names of Review and Audit.

The numbers are those of the last look: the pages say what they have found, and what waits for Review is counted beside
the other pages, at most once a minute. A page waits for neither.
"""

import threading

from spamnb.audit.queue import LASTING, waiting
from spamnb.config import Config
from spamnb.ledger.ledger import Ledger
from spamnb.web.weak_lessons import KeptWeakLessons

_EVERY = 60.0  # seconds
_BUSY_SECONDS = 10.0


class Badges:
    """The numbers of one person's pages. weak: what was learned weakly and is in doubt."""

    def __init__(self) -> None:
        self.weak = KeptWeakLessons()
        self.numbers: dict[str, int] = {}
        self._running = threading.Lock()
        self._counted_at = float("-inf")

    def tell(self, page: str, number: int) -> None:
        """That so many messages wait on a page."""
        self.numbers[page] = number

    def is_due(self, now: float) -> bool:
        """Whether it is a minute ago that what waits for Review was counted."""
        return abs(now - self._counted_at) >= _EVERY

    def count(self, config: Config, now: float) -> None:
        """Count what waits for Review, unless that is being done. Raises LedgerError."""
        if not self._running.acquire(blocking=False):
            return
        self._counted_at = now  # also where the ledger is busy: it is tried again in a minute
        try:
            with Ledger(str(config.ledger), busy_seconds=_BUSY_SECONDS, only_read=True) as ledger, ledger.snapshot():
                since = now - LASTING
                found, is_current = self.weak.look(ledger, config, since)
                if not is_current:
                    self.weak.judge(config, since)
                    found, _ = self.weak.look(ledger, config, since)
                self.tell("review", len(waiting(ledger, config, since, found).asked))
        finally:
            self._running.release()
