"""What `spamnb doctor` finds, kept between requests: it proves the whole ledger, and walks all folders."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from spamnb.checkup.finding import Finding
from spamnb.web.background import Run, Tell, here


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found, and when, in seconds since the epoch."""

    findings: tuple[Finding, ...]
    at: float


class KeptCheckup:
    """Checks, one at a time, and keeps the result."""

    def __init__(self, run: Run = here) -> None:
        self._run = run
        self._running = threading.Lock()
        self.last: Checked | None = None

    @property
    def is_running(self) -> bool:
        """Whether it is being checked now."""
        return self._running.locked()

    def check(self, path: Path, environ: Mapping[str, str], now: Callable[[], float]) -> None:
        """Check the configuration at that path and all that it names, unless that is being done."""
        if not self._running.acquire(blocking=False):
            return
        try:
            self.last = Checked(self._run(partial(_found, path, dict(environ)), lambda *_: None), now())
        finally:
            self._running.release()


def _found(path: Path, environ: Mapping[str, str], _: Tell) -> tuple[Finding, ...]:
    from spamnb.checkup.checkup import checkup  # noqa: PLC0415 - the server itself needs none of it

    return tuple(checkup(path, environ))
