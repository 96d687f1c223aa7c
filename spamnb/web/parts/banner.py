"""What a person has to know on every page: that nothing is moved, or nothing judged."""

import math
from dataclasses import dataclass

from spamnb.acts.may_move import Stop, stop_of
from spamnb.config import Config
from spamnb.ledger.file.locks import is_running
from spamnb.ledger.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Banner:
    """stop: why no mail is moved, or None. is_down: the service does not run, though there is a mailbox to watch."""

    stop: Stop | None
    is_down: bool

    @property
    def is_for_good(self) -> bool:
        """Whether the pause ends only by a person."""
        return self.stop is not None and self.stop.paused_until is not None and math.isinf(self.stop.paused_until)


def banner(ledger: Ledger, config: Config, now: float) -> Banner | None:
    """What is to be said, or None."""
    stop, is_down = stop_of(ledger, now), bool(config.mailboxes) and not is_running(str(config.claim))
    return None if stop is None and not is_down else Banner(stop, is_down)
