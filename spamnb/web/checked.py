"""What `spamnb doctor` finds, kept between requests: it proves the whole ledger, and walks all folders.

For the overview there is a glance, which leaves the content of the ledger out: 30 ms with 58,000 messages known.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from spamnb.checkup.finding import OK, Finding
from spamnb.web.background import Tell
from spamnb.web.kept import Kept

_LASTING = 600.0  # seconds that a glance is good for
_ON_EVERY_PAGE = ("service", "moving")  # of these the banner tells


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found, and when that was begun, in seconds since the epoch. is_whole: the ledger was proved too."""

    findings: tuple[Finding, ...]
    at: float
    is_whole: bool = True

    @property
    def troubles(self) -> list[Finding]:
        """Faults and warnings, but for those of the banner."""
        return [one for one in self.findings if one.state != OK and one.what not in _ON_EVERY_PAGE]


class KeptCheckup(Kept[Checked]):
    """Checks, and keeps the result: of a whole check, or of a glance, the newest. last: of a whole check."""

    last: Checked | None = None

    def is_due(self, now: float) -> bool:
        """Whether what was found is old."""
        return self.found is None or abs(now - self.found.at) >= _LASTING

    def check(self, path: Path, environ: Mapping[str, str], now: float, *, whole: bool = True) -> None:
        """Check the configuration at that path and all that it names, unless that is being done."""
        self.find(partial(_checked, path, dict(environ), now, whole))
        if self.found is not None and self.found.is_whole:
            self.last = self.found


def _checked(path: Path, environ: Mapping[str, str], now: float, whole: bool, _: Tell) -> Checked:
    from spamnb.checkup.checkup import checkup  # noqa: PLC0415 - the server itself needs none of it

    return Checked(tuple(checkup(path, environ, whole=whole)), now, whole)
