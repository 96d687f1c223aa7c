"""What no request waits for: in a thread, and what takes much memory or seconds of the processor in another process.

To judge 30,000 learned messages takes 60 MB more than the pages, and to prove a ledger of 500,000 tokens as much
(benchmarks/web.py). In the server itself a part of that would stay with it, and its threads take turns. Another process
takes 0.2 s to begin.
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
"""Is told how much is done, of how much."""


class Run(Protocol):
    """Where a work is done. It and what it returns can be pickled, and it is told whom to tell how far it is."""

    def __call__(self, work: Callable[[Tell], T], tell: Tell, /) -> T:
        """What the work returns."""


def here(work: Callable[[Tell], T], tell: Tell, /) -> T:
    """In this process."""
    return work(tell)


class EndingError(Exception):
    """The program ends, and this work with it."""


class NoPlaceError(Exception):
    """So much is being worked out already that this has to be asked for again."""


class Apart:
    """Runs each work in a process of its own."""

    def __init__(self) -> None:
        self._places = threading.Semaphore(_MOST_APART)
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_ending = False

    def __call__(self, work: Callable[[Tell], T], tell: Tell, /) -> T:
        """What the work returns. Raises EndingError after `end`, RuntimeError where it has failed, as the log says."""
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
        """The same for one user of a host: who has one work at a time, of the few of all; else it is a NoPlaceError."""
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
        """End what is running; nothing more is begun."""
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
    """The function of a work, by its name alone: among its arguments is the whole environment, secrets included."""
    function = work.func if isinstance(work, functools.partial) else work
    return f"{function.__module__}.{getattr(function, '__qualname__', type(function).__name__)}"


class _Result:
    """What a work has returned; whatever else a process says is how far it is."""

    def __init__(self, value: Any) -> None:
        self.value = value


def work_for_server() -> None:
    """In the other process: do the work that comes by the one pipe, and write what comes of it to the other."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # where a service is stopped, the server ends this one
    with (
        contextlib.suppress(BrokenPipeError),  # the server has gone; also where what is left is written at the end
        open(_IN, "rb") as source,
        open(os.dup(_OUT), "wb") as pipe,
    ):
        os.dup2(_LOG, _OUT)  # what a library may print is no answer
        work = pickle.load(source)  # noqa: S301 - from the server

        def send(message: object) -> None:
            pickle.dump(message, pipe)
            pipe.flush()

        send(_Result(work(lambda done, of: send((done, of)))))


class Later:
    """Does work in a few threads, in order, that no answer waits for; only the end of the program does."""

    def __init__(self) -> None:
        self.apart = Apart()
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], object]] = deque()
        self._threads: set[threading.Thread] = set()
        self._at_work = 0  # of these, all but those that are about to end

    def __call__(self, work: Callable[[], object]) -> None:
        """Do that work soon."""
        with self._lock:
            self._waiting.append(work)
            if self._at_work < _MOST_THREADS:
                thread = threading.Thread(target=self._work, name="spamnb-web-later")
                thread.start()
                self._at_work += 1
                self._threads = {other for other in self._threads if other.is_alive()} | {thread}

    def _work(self) -> None:
        """Do what waits, until nothing does."""
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
            _log.exception("what follows from an act could not be done")

    def wait(self) -> None:
        """Wait until all of it is done; what runs apart changes nothing, and is ended."""
        self.apart.end()
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join()
