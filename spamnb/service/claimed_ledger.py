"""The ledger of an account that is at work: claimed, so that no other service works with it, and open."""

from collections.abc import Callable
from contextlib import ExitStack

from spamnb.base.errors import SpamnbError
from spamnb.ledger.copies.recovery import open_sound
from spamnb.ledger.file.last_end import EndRecord
from spamnb.ledger.file.locks import only_service
from spamnb.ledger.ledger import Ledger


class ClaimedLedger:
    """A ledger that this service alone works with, until `close`; not open before `open`.

    record: how the service before it ended; what is told there makes the next one examine the ledger, or not.
    """

    def __init__(self, path: str, patience: float) -> None:
        """Claim it; patience: seconds for which another claim is waited for. Raises SpamnbError."""
        self.path = path
        self.ledger: Ledger | None = None
        with ExitStack() as stack:
            lock = stack.enter_context(only_service(path, patience))
            self.record = stack.enter_context(EndRecord(path, lock).kept())
            self._stack = stack.pop_all()

    def open(
        self, open_ledger: Callable[[str], Ledger], now: float, alive: Callable[[], None], *, is_examined: bool
    ) -> Ledger:
        """Open it, if it is not; raises SpamnbError.

        is_examined: it is looked through first, unless what the last service left vouches for it; else only where that
        ended over damage.
        """
        if self.ledger is None:
            if is_examined or self.record.last.damage:
                opened = open_sound(self.path, now, self.record, alive, open_ledger)
            else:
                opened = open_ledger(self.path)
            self.ledger = self._stack.enter_context(opened)
        return self.ledger

    def close(self, fault: Exception | None = None) -> Exception | None:
        """Close it, and let other services have it. Returns the fault over which it is closed, as it is to be told.

        A fault that comes of a value which spamnb never writes is damage of the ledger.
        """
        try:
            self._stack.__exit__(None if fault is None else type(fault), fault, None)
        except SpamnbError as worse:
            return worse
        return fault
