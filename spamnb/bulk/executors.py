"""Work by any executor, in order and lazily; and an executor of forked processes that end with this one."""

import ctypes
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from multiprocessing import connection, get_context
from typing import Any, ParamSpec, TypeVar

from spamnb.base.errors import SpamnbError

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

_AHEAD = 16  # tasks: what the workers do while the ledger learns a batch
_LOOK_SECONDS = 1.0  # without a result; then it is asked whether all workers live
_ENDING = (signal.SIGINT, signal.SIGTERM)
_PR_SET_PDEATHSIG = 1  # prctl(2)


@contextmanager
def in_order(work: Callable[[S], T], tasks: Iterable[S], executor: Executor) -> Iterator[Iterator[T]]:
    """What `work` makes of each task, in order. The first tasks begin at the call, others as results are taken.

    So many are begun that each worker does one, and the next one waits for it. Raises SpamnbError where the executor
    has lost a worker.
    """
    waiting = iter(tasks)
    running: deque[Future[T]] = deque()

    def begin(most: int) -> None:
        running.extend(executor.submit(work, task) for task in islice(waiting, most - len(running)))

    def results() -> Iterator[T]:
        while running:
            begin(2 * _width(executor) + _AHEAD)
            yield _result(running.popleft(), executor)

    try:
        begin(2 * _width(executor))  # no more yet: to find them takes time too
        yield results()
    except BrokenExecutor as fault:
        raise SpamnbError(
            "a reading process was killed, for want of memory perhaps: what was done so far is kept; try again"
        ) from fault


def _width(executor: Executor) -> int:
    """How many tasks an executor does at once: its `width`, or, where it has none, the cores of this machine."""
    width: int = getattr(executor, "width", 0) or len(os.sched_getaffinity(0))
    return width


def _result(future: Future[T], executor: Executor) -> T:
    while isinstance(executor, Processes) and not wait([future], _LOOK_SECONDS).done:
        executor.look()
    return future.result()


class Processes(ProcessPoolExecutor):
    """So many processes, forked when the first task is submitted. Tasks that wait at the shutdown are dropped."""

    def __init__(self, number: int) -> None:
        super().__init__(number, get_context("fork"), _begin, (os.getpid(),))
        self.width = number

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """As of any executor. Signals wait meanwhile: Python drops an exception that is raised in a hook of fork."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        try:
            return super().submit(fn, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def look(self) -> None:
        """Let the pool see that a worker was killed."""
        pool: Any = self  # its parts are not public, and the only way
        _unblock(list(pool._processes.values()), pool._result_queue, pool._call_queue)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """As of any executor, also where a worker was killed before or is killed now."""
        pool: Any = self
        manager, results, calls = pool._executor_manager_thread, pool._result_queue, pool._call_queue
        workers = list((pool._processes or {}).values())
        super().shutdown(wait=False, cancel_futures=cancel_futures)
        while wait and manager is not None and manager.is_alive():
            manager.join(_LOOK_SECONDS)
            if manager.is_alive():
                _unblock(workers, results, calls)
        if wait and results is not None:
            results.close()


def _unblock(workers: list[Any], results: Any, calls: Any) -> None:
    """If a worker has ended, end the others, and close the pipes on which the pool's threads may wait for ever.

    QUIRK: of a worker that dies while it sends a result, the pool waits for the rest, for this process itself holds
    the pipe's other end. QUIRK: before Python 3.11.5 the pool goes on writing to workers that have ended, and waits
    for ever where the pipe is full (CPython issue 94777).
    """
    if connection.wait([worker.sentinel for worker in workers], 0):
        for worker in workers:
            worker.kill()
        results._writer.close()
        calls._reader.close()


def _begin(parent: int) -> None:
    """In a worker: Ctrl-C is for the parent to answer, and without the parent there is nothing to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked for the signal
        os.kill(os.getpid(), signal.SIGKILL)
