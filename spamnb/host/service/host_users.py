"""The users of a mail host in one service: what is known of each, and the service's file of the register.

The rows of the register are kept in memory. The file is written whole some seconds after a change.
"""

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from spamnb.base.errors import RegisterError
from spamnb.base.wording import plural
from spamnb.config import Config
from spamnb.host.register import AccountRow, FilterState, Sums, line_of, path_of, read, write
from spamnb.host.shares import Share
from spamnb.ledger.history.tallies import CountedUpTo
from spamnb.monitoring.exposition import Histogram, Metric
from spamnb.monitoring.host import account_row, host_metrics
from spamnb.service.account import Account, ServiceTools, SharingUser
from spamnb.service.jobs import MetricsFile
from spamnb.service.log import LogOnce
from spamnb.service.measurements import Measurements

_log = logging.getLogger(__name__)
_GATHERED_SECONDS = 5.0  # from a change to the writing: the file is written whole, 1.5 MB for 5,000 users


@dataclass(slots=True)
class HostUser:
    """A user of a mail host whose Maildir is there.

    row: the row in the register, written or not yet. device: the disk of the Maildir. slept: a stamp that does not
    count yet, and when it was taken; asked: the question to the watcher that makes it count. looked: the stamp for
    which a comparison was last requested. counted: the metrics of this service include the user's history up to here;
    None before the account was awake. own_fault: the fault of the user's own settings, in one line; "" for none.
    own_read_at: when these settings were last read, in seconds since the epoch. is_away: something else is in the place
    of the Maildir. sharing: the user for the exchange of lessons, which asks every few seconds; None before it has
    asked.
    """

    account: Account
    row: AccountRow
    device: int | None
    slept: tuple[int, float] | None = None
    asked: int | None = None
    looked: int | None = None
    counted: CountedUpTo | None = None
    own_fault: str = ""
    own_read_at: float = 0.0
    is_away: bool = False
    sharing: SharingUser | None = None
    config: Config | None = None
    _written: tuple[AccountRow, str] | None = None

    @property
    def root(self) -> str:
        """The path of the Maildir."""
        return self.account.roots[0]

    @property
    def stamp(self) -> int | None:
        """The stamp of the folders when everything in them had been seen; None if unknown."""
        return self.row.stamp

    @stamp.setter
    def stamp(self, stamp: int | None) -> None:
        self.row = replace(self.row, stamp=stamp)

    @property
    def new_since(self) -> float | None:
        """Mail that came later is new, also before the mailbox is recorded; None: not before that."""
        return self.row.new_since

    @new_since.setter
    def new_since(self, since: float | None) -> None:
        self.row = replace(self.row, new_since=since)
        self.account.new_since = math.inf if since is None else since

    def line(self) -> str:
        """Return the line of the register. The last one is kept: to make 5,000 takes 40 ms, and mail waits."""
        if self._written is None or self._written[0] is not self.row:
            self._written = self.row, line_of(self.row)
        return self._written[1]


class HostUsers(dict[str, HostUser]):
    """The users of one service who are there, by name; and the service's file of the register.

    If the file cannot be written, this is logged once, and tried again. absent: the rows of users of this share who are
    not there. due_at: when the file is to be written, by the running clock. Raises RegisterError if the register may
    not be read.
    """

    def __init__(self, directory: Path, share: Share, tools: ServiceTools) -> None:
        super().__init__()
        self._path = path_of(directory, share)
        self._tools = tools
        self._faults = LogOnce(_log, logging.ERROR)
        self.absent = {row.name: row for row in read(directory) if share.owns(row.name)}
        self.due_at = math.inf

    # --- the register

    def rows(self) -> list[AccountRow]:
        """Return the rows of all users of this share."""
        return [*(user.row for user in self.values()), *self.absent.values()]

    def plan_to_write(self) -> None:
        """Plan to write the file."""
        self.due_at = min(self.due_at, self._tools.running() + _GATHERED_SECONDS)

    def write(self) -> None:
        """Write the file."""
        self.due_at = math.inf
        try:
            write(self._path, [*(user.line() for user in self.values()), *map(line_of, self.absent.values())])
        except RegisterError as fault:
            self._faults.log("register", f"{fault}. Until then `spamnb users` shows older values")
            self.plan_to_write()
        else:
            self._faults.clear("register")

    # --- the state of a user

    def note_change(self, user: HostUser) -> None:
        """Note the state of a user whose account is about to sleep, or has a fault."""
        account, before = user.account, user.row
        if account.is_awake:
            self._count(user)
            row = account_row(account.ledger, account.config, self._tools.now())
            fault = user.own_fault or _of_skipped(account.ledger.state.skipped) or account.fault
        else:
            row, fault = replace(before, state=FilterState.BROKEN), account.fault
        self._change(
            user,
            replace(
                row,
                new_since=before.new_since,
                stamp=before.stamp,
                looked_after_at=before.looked_after_at,
                polled=self.is_polled(user),
                uncopied_since=_uncopied_since(row, before),
                fault=fault,
                fault_since=None if not fault else before.fault_since or self._tools.now(),
            ),
        )

    def note_daily_look(self, user: HostUser) -> None:
        """Note that the daily look at a user is over."""
        self._change(user, replace(user.row, looked_after_at=self._tools.now()))

    def note_own_fault(self, user: HostUser, fault: str) -> None:
        """Log a new fault of a user's own settings, or its end."""
        if fault == user.own_fault:
            return
        user.own_fault = fault
        if fault:
            _log.error("%s", fault)
        else:
            _log.info("own settings are in force again")
        self._change(user, replace(user.row, fault=fault, fault_since=self._tools.now() if fault else None))

    def begin_anew(self, user: HostUser) -> None:
        """Forget what is known of a user whose ledger is deleted."""
        user.counted = user.slept = user.looked = None
        name, root, looked_after_at = user.row.name, user.row.root, user.row.looked_after_at
        self._change(user, AccountRow(name, root, FilterState.WAITING, looked_after_at=looked_after_at))
        user.new_since = self._tools.now()

    def _change(self, user: HostUser, row: AccountRow) -> None:
        user.row = row
        self.plan_to_write()

    def is_polled(self, user: HostUser) -> bool:
        """Whether the folders of a user cannot all be watched."""
        return self._tools.watcher.is_polled(user.root)

    # --- metrics

    def measured(self, awake: Sequence[Account]) -> Iterable[Metric | Histogram]:
        """Return this service's measurements until now. awake: the accounts that are awake."""
        for account in awake:
            self._count(self[account.name])
        measured = self._tools.measurements
        return [*measured.of_host(len(awake)), *measured.metrics(self._tools.watcher.number)]

    def _count(self, user: HostUser) -> None:
        """Count the work done for a user who is awake."""
        if user.counted is not None:
            done, user.counted = user.account.ledger.tallies.since(user.counted, self._tools.now())
            self._tools.measurements.done(done)


def metrics_of_share(
    config: Config,
    rows: Callable[[], Iterable[AccountRow]],
    of_service: Callable[[], Iterable[Metric | Histogram]],
    instance: str,
    measurements: Measurements,
) -> MetricsFile:
    """Return the job that writes the metrics of one service of a mail host, for the users of its share.

    rows: returns the rows of these users. of_service: returns what the service has measured until now.
    """

    def text(now: float) -> str:
        sums = Sums.of(rows())
        return host_metrics(config, sums, now, is_running=True, of_service=of_service(), instance=instance)

    return MetricsFile(config, instance, text, measurements)


def _uncopied_since(row: AccountRow, before: AccountRow) -> float | None:
    """Return since when something waits for its copy; before: the row until now, which may know that better."""
    known = before.uncopied_since
    if row.uncopied_since is None or known is None or known <= (row.copied_at or 0.0):
        return row.uncopied_since
    return known


def _of_skipped(skipped: Sequence[str]) -> str:
    if not skipped:
        return ""
    return f"{plural(len(skipped), 'message')} not read, because the service crashed over it: spamnb users retry"
