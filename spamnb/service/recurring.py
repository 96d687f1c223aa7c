"""Work on the ledger that is done again every few days, in steps between which mail is looked at."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator

from spamnb.base.errors import LedgerUnavailableError
from spamnb.ledger.history.state import Job
from spamnb.ledger.ledger import Ledger

_log = logging.getLogger(__name__)
_AGAIN_SECONDS = 3600.0  # after which work that failed is begun again


class Recurring(ABC):
    """Work that is due every so many seconds. When it was done is in the ledger, so a restart changes nothing.

    unless_done: what is logged where the ledger cannot be used for now.
    """

    def __init__(self, ledger: Ledger, job: Job, every: float, unless_done: str) -> None:
        self._ledger = ledger
        self._job = job
        self._every = every
        self._unless_done = unless_done
        self._steps: Iterator[None] | None = None
        self._not_before = 0.0

    @property
    def under_way(self) -> bool:
        """Whether there may be more steps to make."""
        return self._steps is not None

    def step_if_due(self, now: float) -> bool:
        """Make the next step; where it cannot be made for now, the service goes on, and begins again later.

        Returns False where nothing is to do. Raises LedgerError for what does not pass by itself.
        """
        if 0 < self._not_before - now <= self._every:  # more than that: the clock was set back
            return False
        self._steps = self._steps or self._if_due(now)
        try:
            next(self._steps)
        except StopIteration:
            self._steps = None
        except LedgerUnavailableError as fault:
            self._steps, self._not_before = None, now + _AGAIN_SECONDS
            _log.warning("%s for now: %s", self._unless_done, fault)
        return self._steps is not None

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
