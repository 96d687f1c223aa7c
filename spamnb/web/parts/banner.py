"""The banner on every page, if the filter moves nothing or judges nothing."""

import math
from dataclasses import dataclass

from spamnb.acts.may_move import stop_of
from spamnb.config import Config
from spamnb.ledger.file.locks import is_running
from spamnb.ledger.ledger import Ledger
from spamnb.rules.moving import Stop


@dataclass(frozen=True, slots=True)
class Banner:
    """stop: why the filter moves no mail, or None. is_down: there is a mailbox to watch, but no service runs."""

    stop: Stop | None
    is_down: bool

    @property
    def is_for_good(self) -> bool:
        """Whether the pause lasts until a person ends it."""
        return self.stop is not None and self.stop.paused_until is not None and math.isinf(self.stop.paused_until)


def banner(ledger: Ledger, config: Config, now: float) -> Banner | None:
    """Return the banner, or None if all is well."""
    stop, is_down = stop_of(ledger, now), bool(config.mailboxes) and not is_running(str(config.claim))
    return None if stop is None and not is_down else Banner(stop, is_down)
