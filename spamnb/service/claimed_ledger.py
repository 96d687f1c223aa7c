"""The ledger of an account that is at work: open, and claimed, so that no other service works with it."""

from collections.abc import Callable
from contextlib import ExitStack

from spamnb.base.errors import SpamnbError
from spamnb.ledger.copies.recovery import open_sound
from spamnb.ledger.file.last_end import EndRecord
from spamnb.ledger.file.locks import only_service
from spamnb.ledger.ledger import Ledger


class ClaimedLedger:
    """A ledger that only this service works with, until `close`. `open` opens it.

    record: how the last service ended; it decides whether the next service examines the ledger.
    """

    def __init__(self, path: str, patience: float) -> None:
        """Claim the ledger; patience: seconds to wait for another claim. Raises SpamnbError."""
        self.path = path
        self.ledger: Ledger | None = None
        with ExitStack() as stack:
            lock = stack.enter_context(only_service(path, patience))
            self.record = stack.enter_context(EndRecord(path, lock).kept())
            self._stack = stack.pop_all()

    def open(
        self, open_ledger: Callable[[str], Ledger], now: float, alive: Callable[[], None], *, is_examined: bool
    ) -> Ledger:
        """Open the ledger, if it is closed; raises SpamnbError.

        is_examined: examine it first, unless the record of the last service proves it sound. Otherwise it is examined
        only if the last service ended over damage.
        """
        if self.ledger is None:
            if is_examined:
                alive()
            if is_examined or self.record.last.damage:
                opened = open_sound(self.path, now, self.record, alive, open_ledger)
            else:
                opened = open_ledger(self.path)
            self.ledger = self._stack.enter_context(opened)
        return self.ledger

    def close(self, fault: Exception | None = None) -> Exception | None:
        """Close the ledger, and let other services have it. Returns the fault behind that, as it is to be reported.

        A fault from a value that spamnb never writes counts as damage of the ledger.
        """
        try:
            self._stack.__exit__(None if fault is None else type(fault), fault, None)
        except SpamnbError as worse:
            return worse
        return fault
