"""The ledger's maintenance by the service: it is copied once a day, and what is long over is forgotten."""

import logging
import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping

from spamnb.checkup.metrics import how, metrics, write
from spamnb.config import Config, Retention
from spamnb.errors import LedgerError, LedgerUnavailableError
from spamnb.ledger.file.copies import roll
from spamnb.ledger.file.parts import of_day
from spamnb.ledger.ledger import Ledger
from spamnb.service.log import LogOnce
from spamnb.service.sent import forget_gone

_log = logging.getLogger(__name__)
_AGAIN_SECONDS = 3600.0  # after which a copy that failed is tried again
_DAY = 86_400.0
_METRICS_SECONDS = 30.0  # Prometheus asks as often, mostly
_FORGOTTEN_NOTE = "forgotten at"  # in the ledger: when all that was long over had been forgotten


class DailyCopies:
    """The copies of a ledger, one a day. `alive` is called while one is made."""

    def __init__(self, path: str, alive: Callable[[], None]) -> None:
        self._path = path
        self._alive = alive
        self._not_before = 0.0

    def make_if_due(self, now: float, keep: int) -> None:
        """Make the copy of the day and keep the newest ones; where it fails the service goes on, and tries later.

        Mail waits for it, mostly until it is compressed.
        """
        if not keep or now < self._not_before or os.path.exists(of_day(self._path, now)):
            return
        try:
            roll(self._path, now, keep, self._alive)
        except LedgerError as fault:
            _log.warning("there is no new copy of the ledger, the older ones stay: %s", fault)
            self._not_before = now + _AGAIN_SECONDS


class MetricsFile:
    """The file of metrics, written anew each minute. Where that fails the service goes on; it is logged once."""

    def __init__(self) -> None:
        self._faults = LogOnce(_log)
        self._not_before = 0.0

    def write_if_due(self, now: float, config: Config, ledger: Ledger, watched: int) -> None:
        """Write the file, if there is to be one; `watched`: how many directories are watched."""
        path = config.service.metrics
        if path is None or 0 < self._not_before - now <= _METRICS_SECONDS:  # more: the clock was set back
            return
        self._not_before = now + _METRICS_SECONDS
        try:
            ledger.tallies.keep(how)
            write(str(path), metrics(config, ledger, now, watched))
        except LedgerUnavailableError as fault:
            self._faults.log(path, f"the metrics are not written: {fault}")
        except OSError as fault:
            self._faults.log(path, f"the metrics cannot be written to {path} ({fault.strerror}): check its directory")
        else:
            self._faults.over(path)


class Forgetting:
    """Forgets once a day what is long over, in steps between which mail is looked at and other processes can write.

    `present` gives the folders of each mailbox that can be looked at, by the mailbox's id.
    """

    def __init__(self, ledger: Ledger, present: Callable[[], Mapping[int, Collection[str]]]) -> None:
        self._ledger = ledger
        self._present = present
        self._steps: Iterator[None] | None = None
        self._not_before = 0.0

    @property
    def under_way(self) -> bool:
        """Whether there may be more steps to make."""
        return self._steps is not None

    def step_if_due(self, now: float, retention: Retention) -> bool:
        """Make the next step; where it cannot be made for now, the service goes on, and begins again later.

        Returns False where nothing is to do. Raises LedgerError for what does not pass by itself.
        """
        if 0 < self._not_before - now <= _DAY:  # more than that: the clock was set back
            return False
        self._steps = self._steps or self._all(now, retention)
        try:
            next(self._steps)
        except StopIteration:
            self._steps = None
        except LedgerUnavailableError as fault:
            self._steps, self._not_before = None, now + _AGAIN_SECONDS
            _log.warning("what is long gone stays in the ledger for now: %s", fault)
        return self._steps is not None

    def _all(self, now: float, retention: Retention) -> Iterator[None]:
        done = float(self._ledger.note(_FORGOTTEN_NOTE) or 0.0)
        if 0 <= now - done < _DAY:
            self._not_before = done + _DAY
            return
        for mailbox, folders in self._present().items():
            self._ledger.retention.missing(mailbox, folders, now)
        self._ledger.tallies.keep(how)  # of what is forgotten now the numbers stay
        forgotten = 0
        before = (now - days * _DAY if days else -math.inf for days in (retention.gone_days, retention.verdict_days))
        for rows in self._ledger.retention.forget(*before):
            forgotten += rows
            yield
        for rows in forget_gone(self._ledger):
            forgotten += rows
            yield
        self._ledger.set_note(_FORGOTTEN_NOTE, str(now))
        self._not_before = now + _DAY
        if forgotten:
            _log.info("forgot %d rows of the ledger about mail that is long gone", forgotten)
