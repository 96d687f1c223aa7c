"""Work that no request waits for: in a thread, or in another process if it takes much memory or processor time.

To judge 30,000 learned messages takes 60 MB more than the pages, and to verify a ledger of 500,000 tokens takes as much
(benchmarks/web.py). The server itself would keep a part of that memory, and its threads take turns. Another process
takes 0.2 s to start.
"""

import contextlib
import functools
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import IO, Any, Protocol, TypeVar, cast

_log = logging.getLogger(__name__)
_CALL = f"from {__name__} import work_for_server; work_for_server()"
_IN, _OUT, _LOG = 0, 1, 2  # file descriptors
_MOST_APART = 2  # processes for all users of a host, each of up to 0.1 GB
_MOST_THREADS = 8
T = TypeVar("T")
Tell = Callable[[int, int], None]
"""Gets how much is done, and of how much."""


class Run(Protocol):
    """The place of a work. The work and its result can be pickled; the work calls `tell` with its progress."""

    def __call__(self, work: Callable[[Tell], T], tell: Tell, /) -> T:
        """Return the result of the work."""


def here(work: Callable[[Tell], T], tell: Tell, /) -> T:
    """Do the work in this process."""
    return work(tell)


class EndingError(Exception):
    """The program ends, so this work ends too."""


class NoPlaceError(Exception):
    """All places for work are taken, so a later request must ask again."""


class WorkerProcesses:
    """Runs each work in a process of its own."""

    def __init__(self) -> None:
        self._places = threading.Semaphore(_MOST_APART)
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_ending = False

    def __call__(self, work: Callable[[Tell], T], tell: Tell, /) -> T:
        """Return the result of the work. Raises EndingError after `end`, and RuntimeError if it fails, with a log."""
        with self._process(pickle.dumps(work)) as process:
            answers = cast(IO[bytes], process.stdout)
            try:
                while not isinstance(message := pickle.load(answers), _Result):  # noqa: S301 - from ourselves
                    tell(*message)
                result: T = message.value
            except (EOFError, pickle.UnpicklingError) as fault:
                code = process.wait()
                if self._is_ending:
                    raise EndingError from fault
                raise RuntimeError(f"the process for {_named(work)} has ended with {code}") from fault
            return result

    def for_one_of_many(self) -> Run:
        """Return the same for one user of a host, who has one place of the few for all. May raise NoPlaceError."""
        own = threading.Semaphore()

        def run(work: Callable[[Tell], T], tell: Tell, /) -> T:
            with _place_in(own), _place_in(self._places):
                return self(work, tell)

        return run

    @contextlib.contextmanager
    def _process(self, work: bytes) -> Iterator["subprocess.Popen[bytes]"]:
        with self._lock:
            if self._is_ending:
                raise EndingError
            process = subprocess.Popen(  # noqa: S603 - this very Python
                [sys.executable, "-P", "-c", _CALL],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                process_group=0,  # Ctrl-C is for the server, which ends this one
            )
            self._running.add(process)
        try:
            with process:
                with contextlib.suppress(BrokenPipeError), cast(IO[bytes], process.stdin) as pipe:
                    pipe.write(work)
                yield process
        finally:
            with self._lock:
                self._running.discard(process)

    def end(self) -> None:
        """End all running work, and start no more."""
        with self._lock:
            self._is_ending = True
            for process in self._running:
                process.kill()


@contextlib.contextmanager
def _place_in(places: threading.Semaphore) -> Iterator[None]:
    if not places.acquire(blocking=False):
        raise NoPlaceError
    try:
        yield
    finally:
        places.release()


def _named(work: Callable[[Tell], object]) -> str:
    """Return the name of a work's function. Its arguments are left out: they hold the environment with its secrets."""
    function = work.func if isinstance(work, functools.partial) else work
    return f"{function.__module__}.{getattr(function, '__qualname__', type(function).__name__)}"


class _Result:
    """The result of a work. All other messages of the process are its progress."""

    def __init__(self, value: Any) -> None:
        self.value = value


def work_for_server() -> None:
    """In the other process: read the work from one pipe, do it, and write its result to the other pipe."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # if systemd stops the service, the server ends this process
    with (
        contextlib.suppress(BrokenPipeError),  # the server is gone; this also covers the last write at the end
        open(_IN, "rb") as source,
        open(os.dup(_OUT), "wb") as pipe,
    ):
        os.dup2(_LOG, _OUT)  # output that a library prints must not mix with the answers
        work = pickle.load(source)  # noqa: S301 - from the server

        def send(message: object) -> None:
            pickle.dump(message, pipe)
            pipe.flush()

        send(_Result(work(lambda done, of: send((done, of)))))


class Background:
    """Does work in a few threads, in order. No answer waits for it; only the end of the program does."""

    def __init__(self) -> None:
        self.processes = WorkerProcesses()
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], object]] = deque()
        self._threads: set[threading.Thread] = set()
        self._at_work = 0  # how many of them are not about to end

    def __call__(self, work: Callable[[], object]) -> None:
        """Do the work soon."""
        with self._lock:
            self._waiting.append(work)
            if self._at_work < _MOST_THREADS:
                thread = threading.Thread(target=self._work, name="spamnb-web-background")
                thread.start()
                self._at_work += 1
                self._threads = {other for other in self._threads if other.is_alive()} | {thread}

    def _work(self) -> None:
        """Do the waiting works until there are none."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._at_work -= 1
                    return
                work = self._waiting.popleft()
            self._do(work)

    def _do(self, work: Callable[[], object]) -> None:
        try:
            work()
        except EndingError:
            pass
        except Exception:
            _log.exception("work after a request has failed")

    def wait(self) -> None:
        """Wait until all work is done. Work in other processes changes nothing, so it is ended at once."""
        self.processes.end()
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join()
