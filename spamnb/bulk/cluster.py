"""Run work on several machines: Dask workers that see the mail, and for judging the ledger, under the same paths.

Workers send back readings and judgements; this process alone learns. If a worker dies, Dask gives its tasks to another
worker. A task gives the same result on every machine, so the ledger is the same to the last count.
"""

import math
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from spamnb.base.errors import SpamnbError, UsageError
from spamnb.base.libraries import how_to_install
from spamnb.mail.tokens.tokenizer import VERSION

P = ParamSpec("P")
T = TypeVar("T")

_PATIENCE = 10  # seconds to wait for the scheduler
_ASKED_EVERY = 5.0  # seconds: asking takes a round trip to the scheduler


@contextmanager
def dask_workers(address: str) -> Iterator[Executor]:
    """Give the workers of a Dask scheduler at HOST:PORT. Raises SpamnbError if it cannot be reached or used."""
    try:
        dask: Any = import_module("distributed")  # its types are unusable
    except ImportError as fault:
        raise UsageError(f"dask:// needs dask.distributed: {how_to_install('distributed')}") from fault
    try:
        client = dask.Client(f"tcp://{address}", timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as fault:  # a timeout is an OSError
        raise SpamnbError(f"no Dask scheduler answers at {address}: see that it runs, and its port") from fault
    with client:
        try:
            yield _Workers(client)
        except dask.KilledWorker as fault:
            raise SpamnbError(
                "a task has killed several workers, perhaps for lack of memory: what was done so far is kept; try again"
            ) from fault
        except (CancelledError, OSError) as fault:
            raise SpamnbError(
                f"the Dask scheduler at {address} was lost: what was done so far is kept; try again"
            ) from fault


class _Workers(Executor):
    """Dask's own executor. Before each task it compares the worker's tokenizer with ours."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._asked, self._width = -math.inf, 0
        if not self.width:
            raise SpamnbError("the Dask scheduler has no workers: start some (dask worker HOST:PORT)")
        self._executor = client.get_executor(pure=False)

    @property
    def width(self) -> int:
        """Return the number of tasks that run at once: the workers' threads. Workers may come and go."""
        now = time.monotonic()
        if now >= self._asked + _ASKED_EVERY:
            self._asked, self._width = now, sum(self._client.nthreads().values())
        return self._width

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Do what any executor does."""
        done: Future[T] = self._executor.submit(_with_version, VERSION, fn, *args, **kwargs)
        return done

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do what any executor does."""
        self._executor.shutdown(wait, cancel_futures=cancel_futures)


def _with_version(version: int, task: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do a task in a worker. Raises SpamnbError if the worker's tokenizer is not that of the ledger."""
    if version != VERSION:
        raise SpamnbError(
            f"a worker (process {os.getpid()}) has tokenizer {VERSION}, and this machine {version}: install the same"
            " spamnb on all of them"
        )
    return task(*args, **kwargs)
