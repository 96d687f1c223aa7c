"""What `spamnb doctor` finds, kept for a minute: it proves the whole ledger, and walks all folders.

After that it says nothing of now: a page that needs it begins to look again, and says so until there is something new.
For the overview there is a glance, which leaves the content of the ledger out: 30 ms with 58,000 messages known.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from spamnb.checkup.finding import OK, Finding
from spamnb.web.background import Tell
from spamnb.web.kept import Kept

_LASTING = 60.0  # seconds
_ON_EVERY_PAGE = ("service", "moving")  # of these the banner tells


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found, and when that was begun, in seconds since the epoch.

    is_whole: the ledger was proved too. took: seconds until it was found.
    """

    findings: tuple[Finding, ...]
    at: float
    is_whole: bool = True
    took: float = 0.0

    @property
    def troubles(self) -> list[Finding]:
        """Faults and warnings, but for those of the banner."""
        return [one for one in self.findings if one.state != OK and one.what not in _ON_EVERY_PAGE]


class KeptCheckup(Kept[Checked]):
    """Checks, and keeps the result: of a whole check, or of a glance, the newest. last: of a whole check."""

    last: Checked | None = None
    _asked_at = float("-inf")

    def current(self, now: float, *, whole: bool = True) -> Checked | None:
        """What was found within the last minute, and since it was asked for; None where it has to be looked for."""
        found = self.last if whole else self.found
        if found is None or found.at < self._asked_at or abs(now - found.at - found.took) >= _LASTING:
            return None
        return found

    @property
    def instead(self) -> str:
        """The heading of a page for which there is no current result."""
        return "Not checked" if self.has_failed else "Being checked"

    def expire(self, now: float) -> None:
        """From now on, what was found before is old."""
        self._asked_at = now

    def check(self, path: Path, environ: Mapping[str, str], now: Callable[[], float], *, whole: bool = True) -> None:
        """Check the configuration at that path and all that it names, unless that is being done."""
        self.find(partial(_checked, path, dict(environ), now(), whole))
        if self.found is not None and self.found.is_whole:
            self.last = self.found


def _checked(path: Path, environ: Mapping[str, str], now: float, whole: bool, _: Tell) -> Checked:
    from spamnb.checkup.checkup import checkup  # noqa: PLC0415 - the server itself needs none of it

    began = time.monotonic()
    findings = tuple(checkup(path, environ, whole=whole))
    return Checked(findings, now, whole, time.monotonic() - began)
