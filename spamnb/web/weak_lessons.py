"""What was learned weakly and is in doubt, kept between requests: judged beside the pages, as it may take a second."""

from functools import partial

from spamnb.config import Scoring
from spamnb.ledger.ledger import Ledger
from spamnb.review.misfiled import Misfiled
from spamnb.review.queue import weak_lessons
from spamnb.web.background import Tell
from spamnb.web.kept import BUSY_SECONDS, Kept


class KeptWeakLessons(Kept[tuple[object, list[Misfiled]]]):
    """Judges the weak lessons of a ledger, and keeps what is in doubt."""

    def look(self, ledger: Ledger, scoring: Scoring, since: float) -> tuple[list[Misfiled], bool]:
        """What was in doubt when it was judged last, and whether nothing was learned since.

        Where nothing was learned weakly since a time (seconds since the epoch), nothing has to be judged.
        """
        if not ledger.messages.learned_weakly(since, 1):
            return [], True
        if self.found is None:
            return [], False
        asked, found = self.found
        return found, asked == _asked(ledger, scoring)

    def judge(self, path: str, scoring: Scoring, since: float) -> None:
        """Judge them, unless that is being done. Raises LedgerError."""
        self.find(partial(_judged, path, scoring, since))


def _judged(path: str, scoring: Scoring, since: float, _: Tell) -> tuple[object, list[Misfiled]]:
    with Ledger(path, busy_seconds=BUSY_SECONDS, only_read=True) as ledger, ledger.snapshot():
        return _asked(ledger, scoring), weak_lessons(ledger, scoring, since)


def _asked(ledger: Ledger, scoring: Scoring) -> object:
    return ledger.path, ledger.lessons.last_change(), scoring
