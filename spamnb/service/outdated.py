"""The job that takes back weak lessons which newer lessons contradict."""

import logging
from collections.abc import Iterator

from spamnb.acts import reconsider, training
from spamnb.base.wording import plural
from spamnb.ledger.history.state import Job
from spamnb.service.context import DAY, Context
from spamnb.service.jobs import LedgerJob

_log = logging.getLogger(__name__)


class OutdatedLessons(LedgerJob):
    """Forgets weak lessons that newer lessons contradict."""

    doing = "looking at weak lessons"

    def __init__(self, context: Context) -> None:
        every = reconsider.OUTDATED_DAYS * DAY
        super().__init__(context.ledger, Job.OUTDATED, every, "weak lessons are not looked at")
        self._context = context

    def _work(self, now: float) -> Iterator[None]:
        forgotten, scoring, missed = 0, self._context.in_force.scoring, self._context.missed_spam()
        for changes in reconsider.outdated(self._ledger.lessons, scoring, missed):
            forgotten += sum(training.relabel(self._ledger, changes, now))
            yield
        if forgotten:
            _log.info("forgot %s that newer lessons contradict", plural(forgotten, "weak lesson"))
