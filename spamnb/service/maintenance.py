"""The ledger's maintenance by the service: it is copied once a day, and what is long over is forgotten."""

import errno
import itertools
import logging
import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping

from spamnb.base.errors import LedgerDamagedError, LedgerError, LedgerUnavailableError
from spamnb.config import Config, Retention
from spamnb.ledger.copies.copy import roll
from spamnb.ledger.file.parts import of_day
from spamnb.ledger.history.state import Job
from spamnb.ledger.ledger import Ledger
from spamnb.monitoring.metrics import metrics, of_instance, write
from spamnb.service.log import LogOnce
from spamnb.service.measurements import Measurements
from spamnb.service.recurring import Recurring
from spamnb.service.sent import forget_gone

_log = logging.getLogger(__name__)
_AGAIN_SECONDS = 3600.0  # after which a copy that failed is tried again
_DAY = 86_400.0
_METRICS_SECONDS = 30.0  # Prometheus asks as often, mostly
_STEPS = {
    errno.ENOENT: "check its directory, and make it; then start the service again if it runs in a sandbox",
    # What ProtectSystem= closes is opened at the start, as far as it is there then.
    errno.EROFS: "the unit has not opened its directory, or it was made after the start: start the service again",
    errno.EACCES: "check its directory, which this user may not write to; docs/monitoring.md has the commands",
}


class DailyCopies:
    """The copies of a ledger, one a day. `alive` is called while one is made."""

    def __init__(self, path: str, alive: Callable[[], None], measurements: Measurements) -> None:
        self._path = path
        self._alive = alive
        self._measurements = measurements
        self._not_before = 0.0

    def make_if_due(self, now: float, keep: int) -> bool:
        """Make the copy of the day and keep the newest ones; where it fails the service goes on, and tries later.

        Returns whether the ledger was examined for it. Mail waits for it, mostly until it is compressed. Raises
        LedgerDamagedError for a damaged ledger: what is learned with it would be learned twice, or lost.
        """
        is_too_soon = 0 < self._not_before - now <= _AGAIN_SECONDS  # more: the clock was set back
        if not keep or is_too_soon or os.path.exists(of_day(self._path, now)):
            return False
        try:
            roll(self._path, now, keep, self._alive)
        except LedgerDamagedError:
            raise
        except LedgerError as fault:
            _log.warning("there is no new copy of the ledger, the older ones stay: %s", fault)
            self._measurements.fault("disk")
            self._not_before = now + _AGAIN_SECONDS
            return False
        return True


class MetricsFile:
    """The file of metrics, written every half minute. Where that fails the service goes on; it is logged once.

    instance: which of several services this is, "" for the only one.
    """

    def __init__(self, measurements: Measurements, instance: str = "") -> None:
        self._measurements = measurements
        self._instance = instance
        self._faults = LogOnce(_log, count=lambda _: measurements.fault("disk"))
        self._not_before = 0.0

    def write_if_due(self, now: float, config: Config, ledger: Ledger, watched: int) -> None:
        """Write the file, if there is to be one; `watched`: how many directories are watched."""
        named = config.service.metrics
        if named is None or 0 < self._not_before - now <= _METRICS_SECONDS:  # more: the clock was set back
            return
        self._not_before = now + _METRICS_SECONDS
        path = of_instance(named, self._instance)
        try:
            ledger.tallies.keep(now)
            write(str(path), metrics(config, ledger, now, self._measurements.metrics(watched), self._instance))
        except LedgerUnavailableError as fault:
            self._faults.log(path, f"the metrics are not written: {fault}")
        except OSError as fault:
            step = _STEPS.get(fault.errno or 0, "check its directory")
            self._faults.log(path, f"the metrics cannot be written to {path} ({fault.strerror}): {step}")
        else:
            self._faults.over(path)


class Forgetting(Recurring):
    """Forgets once a day what is long over; between its steps other processes can write.

    `present` gives the folders of each mailbox that can be looked at, by the mailbox's id.
    """

    def __init__(
        self, ledger: Ledger, retention: Retention, present: Callable[[], Mapping[int, Collection[str]]]
    ) -> None:
        super().__init__(ledger, Job.FORGETTING, _DAY, "what is long gone stays in the ledger")
        self._retention = retention
        self._present = present

    def _work(self, now: float) -> Iterator[None]:
        for mailbox, folders in self._present().items():
            self._ledger.retention.missing(mailbox, folders, now)
        self._ledger.tallies.keep(now)  # of what is forgotten now the numbers stay
        forgotten, ages = 0, (self._retention.gone_days, self._retention.verdict_days)
        before = (now - days * _DAY if days else -math.inf for days in ages)
        for rows in itertools.chain(self._ledger.retention.forget(*before), forget_gone(self._ledger)):
            forgotten += rows
            yield
        if forgotten:
            _log.info("forgot %d rows of the ledger about mail that is long gone", forgotten)
