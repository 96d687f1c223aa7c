"""What the service does again and again beside the mail: the list of jobs is made in `service.daemon`.

A job is asked after each look at the mail whether it is due, and does one step then, so that mail waits for no more
than that. Where it cannot be done for now, the service goes on, and the job is tried again later.
"""

import errno
import itertools
import logging
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from spamnb.base.errors import LedgerDamagedError, LedgerError, LedgerUnavailableError, RegisterError
from spamnb.config import Config
from spamnb.host.register import Register
from spamnb.ledger.copies.copy import roll
from spamnb.ledger.file.last_end import EndRecord
from spamnb.ledger.file.parts import of_day, rolling
from spamnb.ledger.history.state import Job
from spamnb.ledger.ledger import Ledger
from spamnb.monitoring.exposition import Histogram, Metric
from spamnb.monitoring.host_metrics import host_metrics
from spamnb.monitoring.metrics import metrics, of_instance, write
from spamnb.service.context import Context
from spamnb.service.log import LogOnce
from spamnb.service.mailbox.sent import forget_gone
from spamnb.service.measurements import Measurements

_log = logging.getLogger(__name__)
_AGAIN_SECONDS = 3600.0  # after which a job that failed is tried again
_DAY = 86_400.0
_METRICS_SECONDS = 30.0  # Prometheus asks as often, mostly
_STEPS = {
    errno.ENOENT: "check its directory, and make it; then start the service again if it runs in a sandbox",
    # What ProtectSystem= closes is opened at the start, as far as it is there then.
    errno.EROFS: "the unit has not opened its directory, or it was made after the start: start the service again",
    errno.EACCES: "check its directory, which this user may not write to; docs/monitoring.md has the commands",
}


class ServiceJob(ABC):
    """A job of the service. longest: seconds, for which it waits at most. doing: what it does, where it has steps.

    under_way: whether there may be more steps to make.
    """

    doing = ""
    under_way = False

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._not_before = 0.0

    def step_if_due(self, now: float) -> bool:
        """Make the next step, if it is due; whether there may be more. Raises LedgerError for what does not pass."""
        if 0 < self._not_before - now <= self._longest:  # more than that: the clock was set back
            return False
        self._step(now)
        return self.under_way

    @abstractmethod
    def _step(self, now: float) -> None:
        """Make the next step."""


class DailyCopies(ServiceJob):
    """The copies of the ledger, one a day. `alive` is called while one is made; end: it tells when that was.

    only_changed: no copy of what nothing was done with since the last one.
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
        """Make the copy of the day; mail waits for it, mostly until it is compressed.

        Raises LedgerDamagedError for a damaged ledger: what is learned with it would be learned twice, or lost.
        """
        path, keep = self._context.ledger.path, self._context.config.service.copies
        if not keep or os.path.exists(of_day(path, now)) or (self._only_changed and self._is_copied(path)):
            return
        try:
            roll(path, now, keep, self._alive)
        except LedgerDamagedError:
            raise
        except LedgerError as fault:
            _log.warning("there is no new copy of the ledger, the older ones stay: %s", fault)
            self._context.measurements.fault("disk")
            self._not_before = now + _AGAIN_SECONDS
        else:
            self._end.examined_at = now

    def _is_copied(self, path: str) -> bool:
        """Whether nothing was judged, learned or moved since the newest copy was made."""
        newest = next(self._context.ledger.journal.newest(1), None)
        copies = rolling(path)
        return bool(copies) and (newest is None or newest.at < os.stat(copies[0]).st_mtime)


class _WrittenMetrics(ServiceJob):
    """A file of metrics, written every half minute. Where that fails it is logged once.

    instance: which of several services this is, "" for the only one.
    """

    def __init__(self, measurements: Measurements, instance: str) -> None:
        super().__init__(_METRICS_SECONDS)
        self._measurements = measurements
        self._instance = instance
        self._faults = LogOnce(_log, count=lambda _: measurements.fault("disk"))

    @abstractmethod
    def _config(self) -> Config:
        """Where the path of the file is."""

    @abstractmethod
    def _text(self, now: float) -> str:
        """The metrics. Raises LedgerUnavailableError or RegisterError where they are not known for now."""

    def _step(self, now: float) -> None:
        """Write the file, if there is to be one."""
        wanted = self._config().service.metrics
        if wanted is None:
            return
        self._not_before = now + _METRICS_SECONDS
        path = of_instance(wanted, self._instance)
        try:
            write(str(path), self._text(now))
        except (LedgerUnavailableError, RegisterError) as fault:
            self._faults.log(path, f"the metrics are not written: {fault}")
        except OSError as fault:
            step = _STEPS.get(fault.errno or 0, "check its directory")
            self._faults.log(path, f"the metrics cannot be written to {path} ({fault.strerror}): {step}")
        else:
            self._faults.over(path)


class MetricsFile(_WrittenMetrics):
    """The metrics of one ledger. watched: gives how many directories are watched."""

    def __init__(self, context: Context, watched: Callable[[], int], instance: str = "") -> None:
        super().__init__(context.measurements, instance)
        self._context = context
        self._watched = watched

    def _config(self) -> Config:
        return self._context.config

    def _text(self, now: float) -> str:
        config, ledger = self._context.config, self._context.ledger
        ledger.tallies.keep(now)
        return metrics(config, ledger, now, self._measurements.metrics(self._watched()), self._instance)


class HostMetricsFile(_WrittenMetrics):
    """The metrics of one service of a mail host: of the users of its share.

    config: gives the configuration of the host, as it is now. own: whether a user, by name, belongs to the share.
    of_service: gives what the service has measured until now.
    """

    def __init__(
        self,
        config: Callable[[], Config],
        register: Register,
        own: Callable[[str], bool],
        measurements: Measurements,
        of_service: Callable[[float], Iterable[Metric | Histogram]],
        instance: str,
    ) -> None:
        super().__init__(measurements, instance)
        self._config_now = config
        self._register = register
        self._own = own
        self._of_service = of_service

    def _config(self) -> Config:
        return self._config_now()

    def _text(self, now: float) -> str:
        sums, measured = self._register.sums(self._own), self._of_service(now)
        return host_metrics(self._config(), sums, is_running=True, of_service=measured, instance=self._instance)


class LedgerJob(ServiceJob):
    """Work on the ledger every so many seconds. When it was done is in the ledger: a restart changes nothing.

    Between its steps other processes can write. unless_done: what is logged where the ledger cannot be used for now.
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
        """Do all of it, a step at a time."""


class Forgetting(LedgerJob):
    """Forgets once a day what is long gone. `present` gives the folders that can be looked at, by the mailbox's id."""

    doing = "forgetting what is long gone"

    def __init__(self, ledger: Ledger, days: float, present: Callable[[], Mapping[int, Collection[str]]]) -> None:
        super().__init__(ledger, Job.FORGETTING, _DAY, "what is long gone stays in the ledger")
        self._days = days
        self._present = present

    def _work(self, now: float) -> Iterator[None]:
        for mailbox, folders in self._present().items():
            self._ledger.retention.missing(mailbox, folders, now)
        self._ledger.tallies.keep(now)  # of what is forgotten now the numbers stay
        forgotten, before = 0, now - self._days * _DAY if self._days else -math.inf
        for rows in itertools.chain(self._ledger.retention.forget(before, before), forget_gone(self._ledger)):
            forgotten += rows
            yield
        if forgotten:
            _log.info("forgot %d rows of the ledger about mail that is long gone", forgotten)
