"""Whose turn it is: the accounts of a service, in one loop over one queue of hints.

*Turns.* An account with hints, or with due work, waits in a row. Its turn lasts a twentieth of a second at most, then
the next one has its turn. So a user who gets ten thousand messages at once delays the others only a little.

*Work that can wait* (comparing folders, examining a ledger, the daily copies) is done one step at a time: when the row
is empty, and once per second in any case.

*Long work* asks now and then whether it may go on (`give_turns`). On a host, the others have their turns at that
moment. Long work within such a turn is put off: at most one long work is under way, with one turn inside it.

*Asleep.* Its first hint wakes an account. Only the file of that hint is looked at; the other folders are not compared.
It sleeps again when nothing of it is under way and it has had no work for a minute, or when too many accounts are
awake. So a command such as `restore` can get the ledger, and memory does not grow with the number of users.

*Faults.* A fault of one account ends its turn and harms no other account: it is tried again after some time. One
person's service has no other accounts, so a fault that does not pass by itself ends it, and the service manager reports
it.
"""

import heapq
import itertools
import logging
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from spamnb.base import memory
from spamnb.base.errors import (
    ConfigError,
    LedgerBusyError,
    LedgerLostError,
    LedgerNewerError,
    LedgerUnavailableError,
    SpamnbError,
)
from spamnb.ledger.file.removal import remove
from spamnb.service.account import Account, Surroundings
from spamnb.service.log import about
from spamnb.service.watcher import Hint

_log = logging.getLogger(__name__)
_SLICE, _SHORT_SLICE = 0.05, 0.02  # seconds of a turn; the short one is for an account that has just had one
_STEP_SECONDS = 1.0  # the row delays work that can wait by at most this
_IDLE_SECONDS = 60.0  # without work, after which an account sleeps
_BETWEEN_STEPS = 0.1  # of jobs: SQLite waits as long before it checks again whether another process may write
_FORGETTING = "forgetting"  # the subject of a fault
_FORGETTING_SECONDS = 0.2  # to wait for other processes; all accounts wait
_FOR_A_PERSON = 3600.0  # until a fault that a person has to repair is tried again
_LASTING = (ConfigError, LedgerLostError, LedgerNewerError)  # such faults


class StoppedError(Exception):
    """Work was cut short: the service must stop, or reload while it waited."""


class PostponedError(Exception):
    """Long work inside a turn that other long work gave: it is put off."""


class UnforeseenError(SpamnbError):
    """An error in spamnb itself, met while working with one account."""


class Accounts:
    """The accounts of a service.

    awake: how many accounts may be awake at once; None for one person, whose account does not sleep. strange: takes
    hints that belong to no mailbox. changed: called with an account that has failed, or is about to sleep and still
    awake. looked_after: called with an account whose daily work is done.
    """

    def __init__(
        self,
        shared: Surroundings,
        awake: int | None = None,
        strange: Callable[[Hint], object] = lambda _: None,
        changed: Callable[[Account], object] = lambda _: None,
        looked_after: Callable[[Account], object] = lambda _: None,
    ) -> None:
        self._shared = shared
        self._running = shared.running
        self._most_awake = awake
        self._strange = strange
        self._changed = changed
        self._tell_looked_after = looked_after
        self._of_root: dict[str, Account] = {}
        self._row: dict[Account, None] = {}  # accounts that wait for a turn, in the order of waiting
        self._later: OrderedDict[Account, None] = OrderedDict()  # accounts that wait for a step of work that can wait
        self._looked_after: set[Account] = set()
        self._awake: dict[Account, None] = {}  # the longest unused first
        self._agenda: list[tuple[float, int, Account]] = []  # a heap; only the earliest entry of an account counts
        self._planned: dict[Account, float] = {}
        self._numbers = itertools.count()
        self._last: tuple[Account | None, ...] = None, None  # the accounts that had the last two turns
        self._stepped_at = self._turn_at = self._given_back_at = -math.inf
        self._at_work: Account | None = None
        self._given_at = -math.inf
        self._given_until = math.inf  # the end of the turns that long work gives

    # --- who there is

    def __iter__(self) -> Iterator[Account]:
        return iter(dict.fromkeys(self._of_root.values()))

    def awake(self) -> list[Account]:
        """The accounts that are awake, the longest unused first."""
        return [*self._awake]

    def add(self, account: Account) -> None:
        """Add an account, which sleeps."""
        self._of_root |= dict.fromkeys(account.roots, account)

    def remove(self, account: Account) -> None:
        """Remove an account from this service."""
        self._sleep(account)
        for root in account.roots:
            del self._of_root[root]
        for waiting in (self._row, self._later, self._planned):
            waiting.pop(account, None)
        self._looked_after.discard(account)

    def forget(self, account: Account, ledger: str) -> None:
        """Remove an account's ledger, with all copies; then record the mail as if seen for the first time.

        The user was forgotten on another host. While another process has the ledger open, the ledger stays.
        """
        self._sleep(account)
        with about(account.name):
            try:
                remove(ledger, seconds=_FORGETTING_SECONDS)
            except LedgerUnavailableError as fault:
                account.faults.log(
                    _FORGETTING, f"the user was forgotten on another host, and the ledger stays: {fault}"
                )
            else:
                account.faults.clear(_FORGETTING)
                _log.warning("the user was forgotten on another host: the ledger is removed, and a new one is begun")
        self.compare(account)

    def let_go(self, account: Account) -> None:
        """Release an account's ledger for a moment, since a command waits for the ledger."""
        self._sleep(account)
        for waiting in (self._row, self._later):
            waiting.pop(account, None)
        account.let_go(self._running())
        self._plan(account)

    def find(self, root: str) -> Account | None:
        """Return the account of a mailbox, or None."""
        return self._of_root.get(root)

    def read_again(self, account: Account) -> None:
        """Let an account read its configuration before it works again. It compares, and forgets what dwells."""
        self._sleep(account)
        self.compare(account)

    def compare(self, account: Account) -> None:
        """Compare an account's folders with the ledger when there is time."""
        account.compare_within(0.0, self._running())
        self._later[account] = None

    def let_fill(self, account: Account) -> None:
        """Compare an account's folders after a silence: they are new, and are being filled."""
        account.let_fill(self._running())
        self._later.pop(account, None)
        self._plan(account)

    def look_after(self, account: Account) -> None:
        """Examine an account's ledger, compare its folders and do its jobs when there is time."""
        if account not in self._looked_after:
            self._looked_after.add(account)
            self.compare(account)

    def close(self) -> None:
        """Release all accounts, and any that failed while waking."""
        for account in self:
            self._sleep(account)

    # --- the loop

    def take(self, hint: Hint) -> None:
        """Keep a hint for the account of its mailbox."""
        account = self.find(hint.root)
        if account is None:
            self._strange(hint)
        elif not account.is_failed:  # else its folders are compared when it is tried again
            before = account.compare_at
            account.take(hint, self._running())
            if account.is_hinted:
                self._row[account] = None
            if account.compare_at != before:
                self._plan(account)

    def work(self) -> None:
        """Give one turn; if no other account waits for one, make one step of the work that can wait."""
        self._come_due()
        self._turn()
        if not self._row or self._running() - self._stepped_at >= _STEP_SECONDS:
            self._step()

    def due_in(self) -> float:
        """Return the seconds until there is work without a hint; infinity for never."""
        if self._row or self._later:
            return 0.0
        waits = [math.inf]
        if self._agenda:
            waits.append(self._agenda[0][0] - self._running())
        if (due := self._shared.departures.due()) is not None:
            waits.append(due - self._shared.now())
        if self._most_awake is None and any(account.is_stepping for account in self._awake):
            waits.append(_BETWEEN_STEPS)
        return max(0.0, min(waits))

    def give_turns(self) -> None:
        """Let other accounts have their turns; long work calls this between its steps.

        Raises PostponedError inside such a turn, if it has taken longer than a turn may.
        """
        running = self._running()
        if self._given_until < math.inf:
            if running >= self._turn_at + _SLICE:
                raise PostponedError
        elif self._most_awake is not None and self._at_work is not None and running - self._given_at >= _SLICE:
            self._given_until = running + _SLICE
            try:
                for hint in self._shared.watcher.read(0.0):
                    self.take(hint)
                self._come_due()
                while self._turn() and self._running() < self._given_until:
                    pass
            finally:
                self._given_until, self._given_at = math.inf, self._running()

    def _come_due(self) -> None:
        """Add the accounts with due work to the row."""
        self._shared.departures.touch()
        running = self._running()
        while self._agenda and self._agenda[0][0] <= running:
            when, _, account = heapq.heappop(self._agenda)
            if self._planned.get(account) != when:
                continue
            del self._planned[account]
            if account.compare_at <= running:
                self._later[account] = None
            if account.is_awake and account.has_dues:  # by the running clock: the other clock may have been set back
                self._row[account] = None
            elif account.is_awake and running - account.used_at >= _IDLE_SECONDS and self._may_sleep(account):
                self._sleep(account)
            else:
                self._plan(account)

    def _turn(self) -> bool:
        """Give a turn to the account that has waited longest. Returns whether there was one."""
        _, last = self._last
        if last in self._row:  # its hints that came during that turn wait behind the others
            self._row[last] = self._row.pop(last)
        account = next((one for one in self._row if one is not self._at_work), None)
        if account is None:
            return False
        del self._row[account]
        seconds = _SHORT_SLICE if account in self._last else _SLICE
        self._last, self._turn_at = (self._last[1], account), self._running()
        with self._working(account):
            self._wake(account)
            if not account.work(self._running() + seconds) and self._most_awake is not None:
                self._failed(account, None, is_busy=account.is_busy)
        if account.is_hinted:  # put off: it goes on with the next hint, and its folders are compared
            self._row[account] = None
        return True

    def _step(self) -> None:
        """Make a step of the work that can wait, for the account that has waited longest."""
        account = next(iter(self._later), None)
        if account is None:
            return
        del self._later[account]
        self._stepped_at = self._running()
        is_looked_after, is_compared = account in self._looked_after, account.compare_at <= self._stepped_at
        if is_looked_after and is_compared and self._may_sleep(account, is_compared=True):
            self._sleep(account)  # its ledger is examined when it wakes
        with self._working(account):
            self._wake(account, is_examined=is_looked_after)
            if is_compared:
                self._compare(account)
            elif is_looked_after and not account.step_jobs():
                self._looked_after.discard(account)
                self._tell_looked_after(account)
            if account in self._looked_after and not account.is_failed:
                self._later[account] = None
                self._later.move_to_end(account, last=False)  # one account after the other, else all would be awake
        if is_looked_after and account not in self._looked_after and self._may_sleep(account):
            self._sleep(account)  # so that a host of thousands, where somebody is always looked after, can rest

    def compare_now(self, account: Account) -> None:
        """Compare the folders of an account that is awake."""
        self._later.pop(account, None)
        with self._working(account):
            self._compare(account)

    def _compare(self, account: Account) -> None:
        if not account.compare() and self._most_awake is not None:
            self._failed(account, None, is_busy=account.is_busy)

    def step_jobs(self) -> None:
        """Make a step of each due job, for all accounts that are awake."""
        for account in [*self._awake]:
            with self._working(account):
                account.step_jobs()

    def _plan(self, account: Account) -> None:
        """Plan when an account next has work without a hint, except work that it already waits for."""
        when = account.due() if account.is_awake else math.inf
        if account not in self._later:
            when = min(when, account.compare_at)
        if account.is_awake and self._most_awake is not None:
            when = min(when, max(account.used_at + _IDLE_SECONDS, self._running() + _STEP_SECONDS))
        if when < self._planned.get(account, math.inf):
            self._planned[account] = when
            heapq.heappush(self._agenda, (when, next(self._numbers), account))

    # --- awake and asleep

    def wake(self, account: Account) -> bool:
        """Wake an account before there is work for it. Returns whether it is awake."""
        with self._working(account):
            self._wake(account)
        return account.is_awake

    def _wake(self, account: Account, *, is_examined: bool = False) -> None:
        account.wake(self._shared, is_examined=is_examined)
        self._awake.pop(account, None)
        self._awake[account] = None
        if self._most_awake is not None and len(self._awake) > self._most_awake:
            idle = next((one for one in self._awake if one is not account and self._may_sleep(one)), None)
            if idle is not None:
                self._sleep(idle)

    def _may_sleep(self, account: Account, *, is_compared: bool = False) -> bool:
        """Whether nothing keeps an account awake. is_compared: its folders are compared as soon as it wakes."""
        is_wanted = account is self._at_work or account in self._row
        return self._most_awake is not None and not is_wanted and account.may_sleep(is_compared=is_compared)

    def _sleep(self, account: Account) -> None:
        was_awake = account.is_awake
        if was_awake:
            with self._working(account):
                self._changed(account)
        self._awake.pop(account, None)
        if (fault := account.sleep()) is not None:
            self._failed(account, fault)
        if was_awake and not (self._awake and (self._row or self._running() - self._given_back_at < _IDLE_SECONDS)):
            memory.give_back()  # from 80 to 44 MB, for a host with 1,000 users
            self._given_back_at = self._running()

    # --- faults

    @contextmanager
    def _working(self, account: Account) -> Iterator[None]:
        """Work with an account: a fault ends only this work."""
        outer, self._at_work = self._at_work, self._at_work or account
        try:
            with about(account.name):
                yield
        except StoppedError:
            raise
        except PostponedError:
            account.compare_within(0.0, self._running())
        except SpamnbError as fault:
            self._failed(account, fault)
        except Exception as fault:
            if self._most_awake is None:
                raise
            _log.debug("an unexpected error", exc_info=True)
            what = f"unexpected error: {type(fault).__name__}: {fault}; please report it, with the log of -v"
            self._failed(account, UnforeseenError(what))
        finally:
            self._at_work = outer
        self._plan(account)

    def _failed(self, account: Account, fault: Exception | None, *, is_busy: bool = False) -> None:
        """Try the account again later, after a fault; None if it has been logged.

        is_busy: the fault is that another process holds the ledger.
        """
        if self._most_awake is None:
            if fault is not None and not isinstance(fault, LedgerUnavailableError):
                raise fault
            account.rest()
        else:
            fault = account.sleep(fault)
        for waiting in (self._awake, self._row, self._later):
            waiting.pop(account, None)
        is_busy = self._most_awake is not None and (is_busy or isinstance(fault, LedgerBusyError))
        retry = _FOR_A_PERSON if isinstance(fault, _LASTING) else None
        account.failed(fault, retry, is_busy=is_busy)
        self._changed(account)
        self._plan(account)
