"""Writes to ledgers that others may hold: it tries again and again until it succeeds.

If another process hinders some work, the thread turns to other work after each attempt. So a ledger that is held for
long delays nobody else. Work for one user is done in the order in which it came.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

from spamnb.base.errors import LedgerBusyError

_Result = TypeVar("_Result")
_PAUSE = 0.02  # seconds before the next try


@dataclass(frozen=True, slots=True)
class _Job(Generic[_Result]):
    work: Callable[[], _Result]
    done: Future[_Result]

    def try_it(self) -> bool:
        """Try the work. Returns whether it is done, or has failed."""
        try:
            self.done.set_result(self.work())
        except LedgerBusyError:
            return False
        except BaseException as fault:
            self.done.set_exception(fault)
        return True


class Recorder:
    """Does work for users in threads of its own; safe in several threads. threads: the largest number of them."""

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="spamd-recorder")
        self._lock = threading.Lock()
        # By user, if there is work for them. A user with jobs has one turn in the row of the threads.
        self._jobs: dict[str, deque[_Job[object]]] = {}

    def submit(self, user: str, work: Callable[[], _Result]) -> Future[_Result]:
        """Do this after everything that waits for the user; work that raises LedgerBusyError is tried again."""
        job = _Job(work, Future())
        job.done.set_running_or_notify_cancel()  # even if the one who asked leaves, it is done
        with self._lock:
            jobs = self._jobs.setdefault(user, deque())
            jobs.append(job)  # type: ignore[arg-type]  # whatever it returns
            if len(jobs) == 1:
                self._threads.submit(self._turn, user)
        return job.done

    def _turn(self, user: str) -> None:
        """Do a user's next job, or try it again; then the others have their turns."""
        jobs = self._jobs[user]
        is_over = jobs[0].try_it()
        if not is_over:
            time.sleep(_PAUSE)
        with self._lock:
            if is_over:
                jobs.popleft()
            if jobs:
                self._threads.submit(self._turn, user)
            else:
                del self._jobs[user]

    def close(self) -> None:
        """Wait until all is done; until then only running jobs may submit more."""
        while pending := self._pending():
            wait(pending)
        self._threads.shutdown()

    def _pending(self) -> list[Future[object]]:
        with self._lock:
            return [job.done for jobs in self._jobs.values() for job in jobs]
