"""Work on all cores, by processes that end with this one."""

import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import connection, get_context
from typing import Any, TypeVar

from spamnb.errors import SpamnbError

S = TypeVar("S")
T = TypeVar("T")

_AHEAD = 16  # chunks: what the workers do while the ledger learns a batch
_LOOK_SECONDS = 1.0  # without a result; then it is asked whether all workers live
_ENDING = (signal.SIGINT, signal.SIGTERM)
_PR_SET_PDEATHSIG = 1  # prctl(2)

_work: Callable[[Any], Any]  # in a worker: what it does


@contextmanager
def in_parallel(work: Callable[[list[S]], list[T]], chunks: Iterator[list[S]], cores: int) -> Iterator[Iterator[T]]:
    """What `work` makes of each chunk, in order. The processes are forked at the call, and need not pickle `work`."""
    at_once = 2 * cores
    first = list(islice(chunks, at_once))  # to begin with: finding the others takes time too
    pool = ProcessPoolExecutor(cores, get_context("fork"), _begin, (work, os.getpid()))
    try:
        with _undisturbed(), _plain_faults(pool):
            running = [pool.submit(_do, chunk) for chunk in first]
        yield _in_order(pool, running, chunks, at_once + _AHEAD)
    finally:
        pool.shutdown(cancel_futures=True)


def _in_order(
    pool: ProcessPoolExecutor, running: list[Future[list[T]]], chunks: Iterator[list[S]], most: int
) -> Iterator[T]:
    while running:
        with _plain_faults(pool):
            running += [pool.submit(_do, chunk) for chunk in islice(chunks, most - len(running))]
            done = _result(pool, running.pop(0))
        yield from done


def _result(pool: ProcessPoolExecutor, future: Future[list[T]]) -> list[T]:
    while not futures.wait([future], _LOOK_SECONDS).done:
        if connection.wait([worker.sentinel for worker in pool._processes.values()], 0):
            _unblock(pool)
    return future.result()


def _unblock(pool: ProcessPoolExecutor) -> None:
    """Let the pool see that it is broken: its threads may wait on pipes that a killed worker has left in the midst.

    QUIRK: of a worker that dies while it sends a result, the pool waits for the rest, for this process itself holds
    the pipe's other end. QUIRK: before Python 3.11.5 the pool goes on writing to workers that have ended, and waits for
    ever where the pipe is full (CPython issue 94777).
    """
    for worker in list(pool._processes.values()):
        worker.kill()
    pool._result_queue._writer.close()  # type: ignore[attr-defined]  # not public, and the only way
    pool._call_queue._reader.close()  # type: ignore[attr-defined]  # the same


@contextmanager
def _plain_faults(pool: ProcessPoolExecutor) -> Iterator[None]:
    try:
        yield
    except BrokenProcessPool as fault:
        _unblock(pool)
        raise SpamnbError(
            "a reading process was killed, for want of memory perhaps: what was done so far is kept; try again"
        ) from fault


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold signals back while processes are forked: Python drops an exception that is raised in a hook of fork."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(work: Callable[[Any], Any], parent: int) -> None:
    """In a worker: Ctrl-C is the parent's to answer, and without the parent there is nothing to do."""
    global _work  # noqa: PLW0603 - a worker is a process with one purpose
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked to be told
        os._exit(1)


def _do(chunk: Any) -> Any:
    return _work(chunk)
