"""What `spamnb doctor` finds, kept between requests: it proves the whole ledger, and walks all folders.

For the overview there is a glance, which leaves the content of the ledger out: 30 ms with 58,000 messages known.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from spamnb.checkup.finding import OK, Finding
from spamnb.web.background import Run, Tell, here

_LASTING = 600.0  # seconds that a glance is good for
_ON_EVERY_PAGE = ("service", "moving")  # of these the banner tells


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found, and when, in seconds since the epoch."""

    findings: tuple[Finding, ...]
    at: float

    @property
    def troubles(self) -> list[Finding]:
        """Faults and warnings, but for those of the banner."""
        return [one for one in self.findings if one.state != OK and one.what not in _ON_EVERY_PAGE]


class KeptCheckup:
    """Checks, one at a time, and keeps the result. last: of a whole check; glance: of either, the newest."""

    def __init__(self, run: Run = here) -> None:
        self._run = run
        self._running = threading.Lock()
        self.last: Checked | None = None
        self.glance: Checked | None = None

    @property
    def is_running(self) -> bool:
        """Whether it is being checked now."""
        return self._running.locked()

    def is_due(self, now: float) -> bool:
        """Whether the glance is old."""
        return self.glance is None or abs(now - self.glance.at) >= _LASTING

    def check(self, path: Path, environ: Mapping[str, str], now: Callable[[], float], *, whole: bool = True) -> None:
        """Check the configuration at that path and all that it names, unless that is being done."""
        if not self._running.acquire(blocking=False):
            return
        try:
            self.glance = Checked(self._run(partial(_found, path, dict(environ), whole), lambda *_: None), now())
            if whole:
                self.last = self.glance
        finally:
            self._running.release()


def _found(path: Path, environ: Mapping[str, str], whole: bool, _: Tell) -> tuple[Finding, ...]:
    from spamnb.checkup.checkup import checkup  # noqa: PLC0415 - the server itself needs none of it

    return tuple(checkup(path, environ, whole=whole))
