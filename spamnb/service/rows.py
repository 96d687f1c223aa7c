"""What the service of a mail host writes into the register: late, so that many rows make one transaction."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from spamnb.base.errors import RegisterError
from spamnb.host.register import AccountRow, Register
from spamnb.service.known import Known
from spamnb.service.log import LogOnce

_log = logging.getLogger(__name__)
_GATHERED_SECONDS = 5.0  # rows are written so late, together


class Rows:
    """The rows of the users of one service. A register that cannot be written is told of once, and tried again.

    settle: whether the stamp of a user counts, or does not exist; else the row is written again later.
    """

    def __init__(
        self,
        register: Register,
        known: Mapping[str, Known],
        settle: Callable[[Known], bool],
        running: Callable[[], float],
    ) -> None:
        self._register, self._known, self._settle, self._running = register, known, settle, running
        self._faults = LogOnce(_log, logging.ERROR)
        self._unwritten: dict[str, None] = {}
        self.due_at = math.inf

    def find(self, name: str) -> AccountRow | None:
        """The row of a user; None where there is none, or the register cannot be read."""
        try:
            return self._register.find(name)
        except RegisterError as fault:
            self._faults.log("register", str(fault))
            return None

    def change(self, known: Known, row: AccountRow) -> None:
        """Have another row written."""
        known.row = row
        self._let_write(row.name)

    def write(self) -> None:
        """Write what has changed."""
        rows = []
        self.due_at = math.inf
        unwritten, self._unwritten = self._unwritten, {}
        for name in unwritten:
            if (known := self._known.get(name)) is not None:
                if not self._settle(known):
                    self._let_write(name)
                known.row = replace(known.row, stamp=known.stamp)
                rows.append(known.row)
        self.put(rows)

    def put(self, rows: Sequence[AccountRow]) -> None:
        """Write rows at once."""
        try:
            self._register.put(rows)
        except RegisterError as fault:
            self._faults.log("register", f"{fault}. What `spamnb users` shows is older until then")
            for row in rows:
                if row.name in self._known:
                    self._let_write(row.name)
        else:
            self._faults.clear("register")

    def _let_write(self, name: str) -> None:
        self._unwritten[name] = None
        self.due_at = min(self.due_at, self._running() + _GATHERED_SECONDS)
