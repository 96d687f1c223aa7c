"""The rows of a mail host's users in one service: kept in memory, and written into the register some seconds later."""

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from spamnb.base.errors import RegisterError
from spamnb.host.register import AccountRow, line_of, path_of, read, write
from spamnb.host.shares import Share
from spamnb.service.known import Known
from spamnb.service.log import LogOnce

_log = logging.getLogger(__name__)
_GATHERED_SECONDS = 5.0  # from a change to the writing: the file is written whole, 1.5 MB for 5,000 users


class Rows:
    """The rows of the users of one service. An unwritable register is logged once, and tried again.

    absent: the rows of users of this share who are not there now. settle: whether a user's stamp counts, or does not
    exist; otherwise the row is written again later. Raises RegisterError if the register may not be read.
    """

    def __init__(
        self,
        directory: Path,
        share: Share,
        known: Mapping[str, Known],
        settle: Callable[[Known], bool],
        running: Callable[[], float],
    ) -> None:
        self._directory, self._share = directory, share
        self._known, self._settle, self._running = known, settle, running
        self._faults = LogOnce(_log, logging.ERROR)
        self._unsettled: dict[str, None] = {}
        self._lines: dict[str, tuple[AccountRow, str]] = {}
        self.absent = {row.name: row for row in read(directory) if share.owns(row.name)}
        self.due_at = math.inf

    def all(self) -> list[AccountRow]:
        """Return the rows of all users of this share."""
        return [*(known.row for known in self._known.values()), *self.absent.values()]

    def change(self, known: Known, row: AccountRow) -> None:
        """Plan to write a changed row."""
        known.row = row
        self._unsettled[row.name] = None
        self.plan()

    def plan(self) -> None:
        """Plan to write all rows."""
        self.due_at = min(self.due_at, self._running() + _GATHERED_SECONDS)

    def write(self) -> None:
        """Write all rows."""
        self.due_at = math.inf
        unsettled, self._unsettled = self._unsettled, {}
        for name in unsettled:
            if (known := self._known.get(name)) is not None:
                if not self._settle(known):
                    self._unsettled[name] = None
                    self.plan()
                known.row = replace(known.row, stamp=known.stamp)
        try:
            write(path_of(self._directory, self._share), self._new_lines())
        except RegisterError as fault:
            self._faults.log("register", f"{fault}. Until then `spamnb users` shows older values")
            self.plan()
        else:
            self._faults.clear("register")

    def _new_lines(self) -> list[str]:
        """Return the lines of all rows, and keep these lines: to make 5,000 takes 40 ms, and mail waits."""
        before, self._lines = self._lines, {}
        for row in self.all():
            last, line = before.get(row.name, (None, ""))
            self._lines[row.name] = row, line if last is row else line_of(row)
        return [line for _, line in self._lines.values()]
