"""Run work by any executor, in order and lazily; and an executor of forked processes that end with this process."""

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

_AHEAD = 16  # tasks for the workers while the ledger learns a batch
_LOOK_SECONDS = 1.0  # without a result; then we check that all workers live
_ENDING = (signal.SIGINT, signal.SIGTERM)
_PR_SET_PDEATHSIG = 1  # prctl(2)


@contextmanager
def in_order(work: Callable[[S], T], tasks: Iterable[S], executor: Executor) -> Iterator[Iterator[T]]:
    """Yield the results of `work` for each task, in order. The first tasks begin at the call, others later.

    Each worker has one task at work and one that waits. A task begins when a result is taken. Raises SpamnbError if the
    executor has lost a worker.
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
        begin(2 * _width(executor))  # no more yet: finding tasks takes time too
        yield results()
    except BrokenExecutor as fault:
        raise SpamnbError(
            "a reading process was killed, perhaps for lack of memory: what was done so far is kept; try again"
        ) from fault


def _width(executor: Executor) -> int:
    """Return the number of tasks that an executor runs at once: its `width`, or else this machine's cores."""
    width: int = getattr(executor, "width", 0) or len(os.sched_getaffinity(0))
    return width


def _result(future: Future[T], executor: Executor) -> T:
    while isinstance(executor, Processes) and not wait([future], _LOOK_SECONDS).done:
        executor.look()
    return future.result()


class Processes(ProcessPoolExecutor):
    """A number of processes, forked at the first task. At shutdown, waiting tasks are dropped.

    carried: what each of them has from the fork, by `carried`; it is not copied through a pipe.
    """

    def __init__(self, number: int, carried: object = None) -> None:
        super().__init__(number, get_context("fork"), _begin, (os.getpid(), carried))
        self.width = number

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Do what any executor does. Signals wait: Python drops an exception that is raised in a hook of fork."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        try:
            return super().submit(fn, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def look(self) -> None:
        """Let the pool see that a worker was killed."""
        pool: Any = self  # its parts are not public, but there is no other way
        _unblock(list(pool._processes.values()), pool._result_queue, pool._call_queue)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """Do what any executor does, even if a worker was killed before or is killed now."""
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
    """If a worker has ended, end the others, and close the pipes on which the pool's threads may wait forever.

    QUIRK: if a worker dies while it sends a result, the pool waits for the rest, since this process holds the other end
    of the pipe. QUIRK: before Python 3.11.5 the pool goes on writing to workers that have ended, and waits forever if
    the pipe is full (CPython issue 94777).
    """
    if connection.wait([worker.sentinel for worker in workers], 0):
        for worker in workers:
            worker.kill()
        results._writer.close()
        calls._reader.close()


def carried() -> Any:
    """Return, in a worker, what its `Processes` carry into it."""
    return _carried


_carried: object = None


def _begin(parent: int, carried: object) -> None:
    """Prepare a worker: the parent answers Ctrl-C, and without the parent the worker has nothing to do."""
    global _carried  # noqa: PLW0603 - a worker has no other place from its fork to its tasks
    _carried = carried
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent died before we asked for the signal
        os.kill(os.getpid(), signal.SIGKILL)
