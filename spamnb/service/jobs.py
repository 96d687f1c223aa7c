"""The repeated jobs of the service beside the mail; `service.one_person` and the roster of a mail host list them.

A job makes one step at a time, when no mail waits. So mail waits for one step at most. If a job cannot be done now, the
service goes on and tries it again later.
"""

import errno
import itertools
import logging
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping

from spamnb.acts import reconsider, training
from spamnb.base.errors import LedgerDamagedError, LedgerError, LedgerUnavailableError
from spamnb.base.wording import plural
from spamnb.config import Config
from spamnb.ledger.copies.copy import is_copied, roll
from spamnb.ledger.file.last_end import EndRecord
from spamnb.ledger.file.parts import newest_copy, of_day
from spamnb.ledger.history.state import Job
from spamnb.ledger.ledger import Ledger
from spamnb.monitoring.metrics import metrics, of_instance, write
from spamnb.service.context import DAY, Context
from spamnb.service.log import LogOnce
from spamnb.service.mailbox.sent import forget_gone
from spamnb.service.measurements import Measurements

_log = logging.getLogger(__name__)
_AGAIN_SECONDS = 3600.0  # until a failed job is tried again
_LOOK_SECONDS = 60.0  # until it is looked whether a new day has begun
_METRICS_SECONDS = 30.0  # Prometheus usually asks as often
_STEPS = {
    errno.ENOENT: "create its directory; then restart the service if it runs in a sandbox",
    # Paths that ProtectSystem= closes are opened at the start, if they exist then.
    errno.EROFS: "the unit does not allow its directory, or it was made after the start: restart the service",
    errno.EACCES: "check its directory, which this user may not write to; docs/monitoring.md has the commands",
}


class ServiceJob(ABC):
    """A job of the service. longest: seconds that it waits at most. doing: its name, if it has several steps.

    under_way: whether there may be more steps to make.
    """

    doing = ""
    under_way = False

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._not_before = 0.0

    def due_in(self, now: float) -> float:
        """Return the seconds until the next step is due."""
        seconds = self._not_before - now
        return seconds if 0 < seconds <= self._longest else 0.0  # more than that: the clock was set back

    def step_if_due(self, now: float) -> bool:
        """Make the next step, if it is due. Returns whether there may be more. Raises LedgerError if a fault lasts."""
        if self.due_in(now) > 0:
            return False
        self._step(now)
        return self.under_way

    @abstractmethod
    def _step(self, now: float) -> None:
        """Make the next step."""


class DailyCopies(ServiceJob):
    """Copies the ledger once per day. alive: called during a copy; end: records when the ledger was examined.

    only_changed: make no copy if nothing has happened since the last one.
    """

    def __init__(
        self, context: Context, alive: Callable[[], None], end: EndRecord, *, only_changed: bool = False
    ) -> None:
        super().__init__(_AGAIN_SECONDS)
        self._only_changed = only_changed
        self._context = context
        self._alive = alive
        self._end = end

    def _step(self, now: float) -> None:
        """Make the copy of the day; mail waits for it, usually until it is compressed.

        Raises LedgerDamagedError for a damaged ledger: its lessons would be learned twice, or lost.
        """
        path, keep = self._context.ledger.path, self._context.config.service.copies
        self._not_before = now + _LOOK_SECONDS
        is_made = os.path.exists(of_day(path, now))
        if not keep or is_made or (self._only_changed and is_copied(self._context.ledger, newest_copy(path))):
            return
        try:
            roll(path, now, keep, self._alive)
        except LedgerDamagedError:
            raise
        except LedgerError as fault:
            _log.warning("no new copy of the ledger was made, the older ones stay: %s", fault)
            self._context.measurements.fault("disk")
            self._not_before = now + _AGAIN_SECONDS
        else:
            self._end.examined_at = now


class MetricsFile(ServiceJob):
    """Writes the file of metrics that the configuration names every half minute, and logs a failure once.

    instance: which of several services this is, "" for the only one. text: returns the metrics; raises
    LedgerUnavailableError if they are unknown for now.
    """

    def __init__(self, config: Config, instance: str, text: Callable[[float], str], measurements: Measurements) -> None:
        super().__init__(_METRICS_SECONDS)
        wanted = config.service.metrics
        self._path = None if wanted is None else of_instance(wanted, instance)
        self._text = text
        self._faults = LogOnce(_log, count=lambda _: measurements.fault("disk"))

    def _step(self, now: float) -> None:
        self._not_before = now + _METRICS_SECONDS
        if (path := self._path) is None:
            return
        try:
            write(str(path), self._text(now))
        except LedgerUnavailableError as fault:
            self._faults.log(path, f"the metrics are not written: {fault}")
        except OSError as fault:
            step = _STEPS.get(fault.errno or 0, "check its directory")
            self._faults.log(path, f"the metrics cannot be written to {path} ({fault.strerror}): {step}")
        else:
            self._faults.clear(path)


def metrics_of_ledger(context: Context, watched: Callable[[], int], instance: str = "") -> MetricsFile:
    """Return the job that writes the metrics of one ledger. watched: returns how many directories are watched."""
    config, ledger, measurements = context.config, context.ledger, context.measurements

    def text(now: float) -> str:
        ledger.tallies.keep(now)
        return metrics(config, ledger, now, measurements.metrics(watched()), instance)

    return MetricsFile(config, instance, text, measurements)


class LedgerJob(ServiceJob):
    """Work on the ledger every `every` seconds. The ledger remembers when it was done, so a restart changes nothing.

    Between its steps other processes can write. unless_done: the words to log if the ledger cannot be used now.
    """

    def __init__(self, ledger: Ledger, job: Job, every: float, unless_done: str) -> None:
        super().__init__(every)
        self._ledger = ledger
        self._job = job
        self._every = every
        self._unless_done = unless_done
        self._steps: Iterator[None] | None = None

    def _step(self, now: float) -> None:
        self._steps = self._steps or self._if_due(now)
        try:
            next(self._steps)
        except StopIteration:
            self._steps = None
        except LedgerUnavailableError as fault:
            self._steps, self._not_before = None, now + _AGAIN_SECONDS
            _log.warning("%s for now: %s", self._unless_done, fault)
        self.under_way = self._steps is not None

    def _if_due(self, now: float) -> Iterator[None]:
        done = self._ledger.state.done_at(self._job)
        if 0 <= now - done < self._every:
            self._not_before = done + self._every
            return
        yield from self._work(now)
        self._ledger.state.set_done(self._job, now)
        self._not_before = now + self._every

    @abstractmethod
    def _work(self, now: float) -> Iterator[None]:
        """Do all work of the job, one step at a time."""


class Forgetting(LedgerJob):
    """Forgets long-gone mail once per day. `present` returns the readable folders, by the mailbox's id."""

    doing = "forgetting long-gone mail"

    def __init__(self, ledger: Ledger, days: float, present: Callable[[], Mapping[int, Collection[str]]]) -> None:
        super().__init__(ledger, Job.FORGETTING, DAY, "mail that is long gone stays in the ledger")
        self._days = days
        self._present = present

    def _work(self, now: float) -> Iterator[None]:
        for mailbox, folders in self._present().items():
            self._ledger.retention.missing(mailbox, folders, now)
        self._ledger.tallies.keep(now)  # keeps the numbers of what is forgotten now
        forgotten, before = 0, now - self._days * DAY if self._days else -math.inf
        for rows in itertools.chain(self._ledger.retention.forget(before, before), forget_gone(self._ledger)):
            forgotten += rows
            yield
        if forgotten:
            _log.info("forgot %d rows of the ledger about mail that is long gone", forgotten)


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
