"""What is written to ledgers while others may have them: again and again, until it is done.

Work that another process hinders gives its thread to others after each attempt, so that a ledger which is held for long
keeps nobody else waiting. What is to be done for one user is done in the order in which it came.
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
_PAUSE = 0.02  # seconds before it is tried again


@dataclass(frozen=True, slots=True)
class _Job(Generic[_Result]):
    work: Callable[[], _Result]
    done: Future[_Result]

    def try_it(self) -> bool:
        """Whether it is done, or has failed."""
        try:
            self.done.set_result(self.work())
        except LedgerBusyError:
            return False
        except BaseException as fault:
            self.done.set_exception(fault)
        return True


class Recorder:
    """Does work for users in threads of its own; may be called in several threads. threads: at most so many."""

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="spamd-recorder")
        self._lock = threading.Lock()
        # Of each user for whom there is something to do: who has jobs has one turn in the row of the threads.
        self._jobs: dict[str, deque[_Job[object]]] = {}

    def submit(self, user: str, work: Callable[[], _Result]) -> Future[_Result]:
        """Do it after what that user waits for already; what raises LedgerBusyError is done again."""
        job = _Job(work, Future())
        job.done.set_running_or_notify_cancel()  # who asked may go: it is done all the same
        with self._lock:
            jobs = self._jobs.setdefault(user, deque())
            jobs.append(job)  # type: ignore[arg-type]  # whatever comes of it
            if len(jobs) == 1:
                self._threads.submit(self._turn, user)
        return job.done

    def _turn(self, user: str) -> None:
        """The next job of a user, or another attempt at it; then the others have their turns."""
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
        """Wait until all is done; nothing more may be submitted but by what is done."""
        while pending := self._pending():
            wait(pending)
        self._threads.shutdown()

    def _pending(self) -> list[Future[object]]:
        with self._lock:
            return [job.done for jobs in self._jobs.values() for job in jobs]
