"""What takes too long for a request: worked out beside the pages, one at a time, and kept between requests."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from spamnb.web.background import Run, Tell, here

T = TypeVar("T")
BUSY_SECONDS = 10.0  # for a ledger in use: nobody waits here


class Kept(Generic[T]):
    """What was found last, or None. run: where it is worked out. progress: how much is done, of how much.

    has_failed: the last time it could not be worked out, as the log says; a page that loads itself again until there is
    something new would begin it for ever.
    """

    def __init__(self, run: Run = here) -> None:
        self._run = run
        self._running = threading.Lock()
        self.found: T | None = None
        self.has_failed = False
        self.progress = 0, 0

    @property
    def is_running(self) -> bool:
        """Whether it is being worked out now."""
        return self._running.locked()

    def find(self, work: Callable[[Tell], T]) -> None:
        """Work it out, unless that is being done. work: can be pickled, as what it returns."""
        if not self._running.acquire(blocking=False):
            return
        try:
            self.found = self._run(work, self._tell)
            self.has_failed = False
        except Exception:
            self.has_failed = True
            raise
        finally:
            self.progress = 0, 0
            self._running.release()

    def _tell(self, done: int, of: int) -> None:
        self.progress = done, of
