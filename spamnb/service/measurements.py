"""The service's measurements of its own work since its start, for the file of metrics."""

import bisect
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from spamnb.ledger.history.tallies import Tally
from spamnb.monitoring.exposition import Histogram, Labels, Metric
from spamnb.monitoring.metrics import counters, gauge

Fault = Literal["mail", "ledger", "disk", "protocol", "exchange"]
"""What has failed: reading a message, the ledger, another file or directory, a request, the exchange."""

_FAULTS: tuple[Fault, ...] = "mail", "ledger", "disk", "protocol", "exchange"
_BOUNDS = 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5  # seconds
_OF_TURNS = *_BOUNDS, 5.0, 10.0, 30.0, 60.0


class _Times:
    """How often something took how many seconds; bounds: the upper ends of the ranges, rising."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._total = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect.bisect_left(self._bounds, seconds)] += 1
        self._total += seconds

    def metric(self, name: str, help_: str) -> Histogram:
        return Histogram(name, help_, self._bounds, tuple(self._counts), self._total)


class Measurements:
    """Counts of a service; safe in several threads. `clock` gives seconds of a clock that is never set.

    exchanged_at: when all lessons were last sent and received, in seconds since the epoch; None if none are shared.
    unsent: how many lessons of all accounts wait to be sent.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._judgements = _Times(_BOUNDS)
        self._turns = _Times(_OF_TURNS)
        self._done: Counter[Tally] = Counter()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._faults: Counter[Fault] = Counter()
        self._exchanged: Counter[str] = Counter()
        self.exchanged_at: float | None = None
        self.unsent = 0

    @contextlib.contextmanager
    def judging(self) -> Iterator[None]:
        """Time the block: it reads and judges one message."""
        began = self._clock()
        yield
        seconds = self._clock() - began
        with self._lock:
            self._judgements.add(seconds)

    def request(self, command: str, code: int) -> None:
        """Count a request of the spamd protocol, answered with this code; `command` is one of the protocol's, or ""."""
        with self._lock:
            self._requests[command, code] += 1

    def fault(self, kind: Fault) -> None:
        """Count a fault that has begun."""
        with self._lock:
            self._faults[kind] += 1

    def exchanged(self, sent: int, received: int) -> None:
        """Count lessons sent to other hosts, and received from them."""
        with self._lock:
            self._exchanged.update(sent=sent, received=received)

    def done(self, numbers: Mapping[Tally, int]) -> None:
        """Count the work of a host's account since the last count, as `Tallies.since` returns it."""
        with self._lock:
            self._done.update(numbers)

    def turn(self, seconds: float) -> None:
        """Record how long a hint waited until its account of a host had its turn."""
        with self._lock:
            self._turns.add(seconds)

    def of_host(self, awake: int) -> list[Metric | Histogram]:
        """Return the metrics that only a host's service has. awake: how many accounts have their ledgers open."""
        with self._lock:
            turns = self._turns.metric("spamnb_turn_seconds", "Seconds that a hint about mail waited for its turn.")
            done = Counter(self._done)
        unsent = gauge("unsent_lessons", "Lessons that wait to be sent to other hosts.", self.unsent)
        return [
            *counters(done),
            *([] if self.exchanged_at is None else unsent),
            Metric("spamnb_accounts_awake", "gauge", "Users whose ledgers are open.", {(): float(awake)}),
            turns,
        ]

    def metrics(self, watched: int) -> list[Metric | Histogram]:
        """Return all metrics. watched: how many directories the service watches."""
        with self._lock:
            of_judging = "Seconds for reading and judging a message."
            judgements = self._judgements.metric("spamnb_judge_seconds", of_judging)
            requests, faults = dict(self._requests), dict(self._faults)
        of_requests = "Requests by the spamd protocol, by command and by the code of the answer."
        by_command: dict[Labels, float] = {
            (("command", name), ("code", str(code))): float(n) for (name, code), n in requests.items()
        }
        by_kind: dict[Labels, float] = {(("kind", kind),): float(faults.get(kind, 0)) for kind in _FAULTS}
        return [
            *self._of_exchange(),
            Metric(
                "spamnb_watched_directories", "gauge", "Directories that the service watches.", {(): float(watched)}
            ),
            judgements,
            Metric("spamnb_spamd_requests_total", "counter", of_requests, by_command),
            Metric("spamnb_faults_total", "counter", "Logged faults, each counted when it began.", by_kind),
        ]

    def _of_exchange(self) -> list[Metric]:
        """Return the metrics of shared lessons; none without an exchange."""
        if self.exchanged_at is None:
            return []
        with self._lock:
            lessons: dict[Labels, float] = {
                (("way", way),): float(self._exchanged[way]) for way in ("sent", "received")
            }
        at: dict[Labels, float] = {(): self.exchanged_at}
        when = "When all lessons were last sent and received; 0: never."
        return [
            Metric("spamnb_exchanged_lessons_total", "counter", "Lessons sent to other hosts, and received.", lessons),
            Metric("spamnb_last_exchange_timestamp_seconds", "gauge", when, at),
        ]
