"""How many messages wait for a person, as the navigation says beside the names of Review and Audit.

The numbers are those of the last look: the pages say what they have found, and what waits for Review is counted beside
the other pages, at most once a minute. A page waits for neither.
"""

from functools import partial

from spamnb.config import Config
from spamnb.ledger.ledger import Ledger
from spamnb.review.queue import LASTING, waiting
from spamnb.web.background import Run, Tell, here
from spamnb.web.kept import BUSY_SECONDS, Kept
from spamnb.web.weak_lessons import KeptWeakLessons

_EVERY = 60.0  # seconds


class Badges:
    """The numbers of one person's pages. weak: what was learned weakly and is in doubt."""

    def __init__(self, run: Run = here) -> None:
        self.weak = KeptWeakLessons(run)
        self.numbers: dict[str, int] = {}
        self._review: Kept[int] = Kept()
        self._counted_at = float("-inf")

    def tell(self, page: str, number: int) -> None:
        """That so many messages wait on a page."""
        self.numbers[page] = number

    def is_due(self, now: float) -> bool:
        """Whether it is a minute ago that what waits for Review was counted."""
        return abs(now - self._counted_at) >= _EVERY

    def count(self, config: Config, now: float) -> None:
        """Count what waits for Review, unless that is being done. Raises LedgerError."""
        self._counted_at = now  # also where the ledger is busy: it is tried again in a minute
        self._review.find(partial(self._waiting, config, now - LASTING))
        if self._review.found is not None:
            self.tell("review", self._review.found)

    def _waiting(self, config: Config, since: float, _: Tell) -> int:
        with Ledger(str(config.ledger), busy_seconds=BUSY_SECONDS, only_read=True) as ledger, ledger.snapshot():
            found, is_current = self.weak.look(ledger, config.scoring, since)
            if not is_current:
                self.weak.judge(ledger.path, config.scoring, since)
                found, is_current = self.weak.look(ledger, config.scoring, since)
            return len(waiting(ledger, config, since, found).asked)
