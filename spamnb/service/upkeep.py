"""The ledger as the service keeps it: sound when it begins, and copied once a day."""

import logging
import os
import time
from collections.abc import Callable

from spamnb.errors import LedgerError
from spamnb.ledger.copies import of_day
from spamnb.ledger.copying import roll
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.restoring import recover

_log = logging.getLogger(__name__)
_AGAIN_SECONDS = 3600.0  # after which a copy that failed is tried again


def open_sound(path: str, now: float) -> Ledger:
    """The ledger, once it is sound; where it is not, its newest sound copy takes its place."""
    restored = recover(path, now)
    if restored is not None:
        made = time.strftime("%Y-%m-%d %H:%M", time.localtime(restored.made_at))
        _log.warning(
            "the ledger %s could not be used (%s): its copy of %s is in its place%s. What was learned since then is"
            " missing, and the mail that lies in the folders now stays where it is. See `spamnb history`",
            path,
            restored.why,
            made,
            "" if restored.aside is None else f", and the damaged one is kept as {restored.aside}",
        )
    return Ledger(path)


class DailyCopies:
    """The copies of a ledger, one a day. `alive` is called while one is made."""

    def __init__(self, path: str, alive: Callable[[], None]) -> None:
        self._path = path
        self._alive = alive
        self._not_before = 0.0

    def make_if_due(self, now: float, keep: int) -> None:
        """Make the copy of the day and keep the newest ones; where it fails the service goes on, and tries later.

        Mail waits for it: 11.5 MB took 0.45 s of processor time, 94 MB 3.7 s, 171 MB 6.7 s, half of it to compress.
        """
        if not keep or now < self._not_before or os.path.exists(of_day(self._path, now)):
            return
        try:
            roll(self._path, now, keep, self._alive)
        except LedgerError as fault:
            _log.warning("there is no new copy of the ledger, the older ones stay: %s", fault)
            self._not_before = now + _AGAIN_SECONDS
