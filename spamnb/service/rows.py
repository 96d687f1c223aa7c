"""The register's rows that a mail host's service writes: with a delay, so that one transaction holds many rows."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from spamnb.base.errors import RegisterError
from spamnb.host.register import AccountRow, Register
from spamnb.service.known import Known
from spamnb.service.log import LogOnce

_log = logging.getLogger(__name__)
_GATHERED_SECONDS = 5.0  # the delay after which rows are written together


class Rows:
    """The rows of the users of one service. An unwritable register is logged once, and tried again.

    settle: whether a user's stamp counts, or does not exist; otherwise the row is written again later.
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
        """Return the row of a user; None if there is none, or the register cannot be read."""
        try:
            return self._register.find(name)
        except RegisterError as fault:
            self._faults.log("register", str(fault))
            return None

    def change(self, known: Known, row: AccountRow) -> None:
        """Plan to write a changed row."""
        known.row = row
        self._let_write(row.name)

    def write(self) -> None:
        """Write the changed rows."""
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
            self._faults.log("register", f"{fault}. Until then `spamnb users` shows older values")
            for row in rows:
                if row.name in self._known:
                    self._let_write(row.name)
        else:
            self._faults.clear("register")

    def forget(self, name: str) -> None:
        """Remove the row of a user of whom nothing is left."""
        try:
            self._register.forget(name)
        except RegisterError as fault:
            self._faults.log("register", f"{fault}. Until then `spamnb users` shows {name} as before")

    def _let_write(self, name: str) -> None:
        self._unwritten[name] = None
        self.due_at = min(self.due_at, self._running() + _GATHERED_SECONDS)
