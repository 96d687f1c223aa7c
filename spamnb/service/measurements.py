"""What a service measures of its own work, since it began; for the file of metrics."""

import bisect
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Literal

from spamnb.monitoring.exposition import Histogram, Labels, Metric

Fault = Literal["mail", "ledger", "disk", "protocol"]
"""What is broken: a message that cannot be read, the ledger, another file or directory, a request."""

_FAULTS: tuple[Fault, ...] = "mail", "ledger", "disk", "protocol"
_BOUNDS = 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5  # seconds


class Measurements:
    """Counts of a service; may be called in several threads. `clock` gives seconds of a clock that is never set."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._judgements = [0] * (len(_BOUNDS) + 1)
        self._judging = 0.0
        self._requests: Counter[tuple[str, int]] = Counter()
        self._faults: Counter[Fault] = Counter()

    @contextlib.contextmanager
    def judging(self) -> Iterator[None]:
        """What is done within is the reading and judging of one message."""
        began = self._clock()
        yield
        seconds = self._clock() - began
        with self._lock:
            self._judgements[bisect.bisect_left(_BOUNDS, seconds)] += 1
            self._judging += seconds

    def request(self, command: str, code: int) -> None:
        """A request by the spamd protocol was answered with this code; `command` is one of the protocol's, or ""."""
        with self._lock:
            self._requests[command, code] += 1

    def fault(self, kind: Fault) -> None:
        """A fault has begun."""
        with self._lock:
            self._faults[kind] += 1

    def metrics(self, watched: int) -> list[Metric | Histogram]:
        """All of it. watched: how many directories the service watches."""
        with self._lock:
            judgements, judging = tuple(self._judgements), self._judging
            requests, faults = dict(self._requests), dict(self._faults)
        of_judging = "Seconds for reading and judging a message."
        of_requests = "Requests by the spamd protocol, by command and by the code of the answer."
        by_command: dict[Labels, float] = {
            (("command", name), ("code", str(code))): float(n) for (name, code), n in requests.items()
        }
        by_kind: dict[Labels, float] = {(("kind", kind),): float(faults.get(kind, 0)) for kind in _FAULTS}
        return [
            Metric(
                "spamnb_watched_directories", "gauge", "Directories that the service watches.", {(): float(watched)}
            ),
            Histogram("spamnb_judge_seconds", of_judging, _BOUNDS, judgements, judging),
            Metric("spamnb_spamd_requests_total", "counter", of_requests, by_command),
            Metric("spamnb_faults_total", "counter", "Faults that were logged, each as it began.", by_kind),
        ]
