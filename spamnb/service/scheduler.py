"""Whose turn it is: the accounts of a service, in one loop over one queue of hints.

*Turns.* An account with hints, or with due work, waits in a row. Its turn lasts a twentieth of a second at most, then
the next one has its turn. So a user who gets ten thousand messages at once delays the others only a little.

*Work that can wait* (comparing folders, jobs, the daily look) is done one step at a time: when the row is empty, and
once per second in any case.

*Long work* asks now and then whether it may go on (`give_turns`). On a host, the others have their turns at that
moment. Long work within such a turn is put off: at most one long work is under way, with one turn inside it.

*Asleep.* Its first hint wakes an account. Only the file of that hint is looked at; the other folders are not compared.
It sleeps again when nothing of it is under way and it has had no work for a minute, or when too many accounts are
awake. So a command such as `restore` can get the ledger, and memory does not grow with the number of users.

*Faults.* A fault of one account ends its turn and harms no other account: it is tried again after some time. The only
exception: a later program is installed, and it has upgraded a ledger. Then the service ends, for the new program. One
person's service has no other accounts, so a fault that does not pass by itself ends it, and the service manager reports
it.

`Account.wants` says what an account waits for. `Scheduler._queue` alone puts accounts into the queues, by their wants.
"""

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from spamnb.base import memory
from spamnb.base.errors import LedgerNewerError, LedgerUnavailableError, SpamnbError
from spamnb.ledger.file.removal import remove
from spamnb.service.account import Account, ServiceTools, Want
from spamnb.service.log import about
from spamnb.service.watcher import Hint

_log = logging.getLogger(__name__)
_SLICE, _SHORT_SLICE = 0.05, 0.02  # seconds of a turn; the short one is for an account that has just had one
_STEP_SECONDS = 1.0  # the row delays work that can wait by at most this
_GIVEN_BACK_SECONDS = 60.0  # between two times that memory is given back, while somebody is awake
_FORGETTING = "forgetting"  # the subject of a fault
_FORGETTING_SECONDS = 0.2  # to wait for other processes; all accounts wait


class StoppedError(Exception):
    """Work was cut short: the service must stop, or reload while it waited."""


class PostponedError(Exception):
    """Long work inside a turn that other long work gave: it is put off."""


class UnforeseenError(SpamnbError):
    """An error in spamnb itself, met while working with one account."""


class Scheduler:
    """The accounts of a service, and whose turn it is.

    strange: takes hints that belong to no mailbox. has_new_settings: whether an account that is awake has to read its
    configuration again. changed: called with an account that has failed, or is about to sleep and still awake.
    daily_look_done: called with an account after its daily look.
    """

    def __init__(
        self,
        tools: ServiceTools,
        strange: Callable[[Hint], object],
        has_new_settings: Callable[[Account], bool] = lambda _: False,
        changed: Callable[[Account], object] = lambda _: None,
        daily_look_done: Callable[[Account], object] = lambda _: None,
    ) -> None:
        self._tools = tools
        self._running = tools.running
        self._strange = strange
        self._has_new_settings = has_new_settings
        self._changed = changed
        self._daily_look_done = daily_look_done
        self._of_root: dict[str, Account] = {}
        self._row: dict[Account, None] = {}  # accounts that wait for a turn, in the order of waiting
        self._later: dict[Account, None] = {}  # accounts that wait for a step of work that can wait, in that order
        self._awake: dict[Account, None] = {}  # in the order of waking
        self._planned: dict[Account, float] = {}  # when to ask accounts again: those that are awake, or are put off
        self._last: tuple[Account | None, ...] = None, None  # the accounts that had the last two turns
        self._stepped_at = self._turn_at = self._given_back_at = -math.inf
        self._at_work: Account | None = None
        self._given_at = -math.inf
        self._given_until = math.inf  # the end of the turns that long work gives

    # --- who there is

    def __iter__(self) -> Iterator[Account]:
        return iter(dict.fromkeys(self._of_root.values()))

    def awake(self) -> list[Account]:
        """The accounts that are awake."""
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
        account.let_go(self._running())
        self._queue(account)

    def compare(self, account: Account) -> None:
        """Compare an account's folders with the ledger when there is time."""
        account.compare_within(0.0, self._running())
        self._queue(account)

    def wait_until_filled(self, account: Account) -> None:
        """Compare an account's folders after a silence: they are new, and are being filled."""
        account.wait_until_filled(self._running())
        self._queue(account)

    def daily_look(self, account: Account) -> None:
        """Examine an account's ledger, compare its folders and do its jobs when there is time."""
        if Want.DAILY_LOOK not in account.wants:
            account.wants.add(Want.DAILY_LOOK)
            self.compare(account)

    def close(self) -> None:
        """Release all accounts."""
        for account in self:
            if account.is_awake:
                self._sleep(account)

    # --- the loop

    def take(self, hint: Hint) -> None:
        """Keep a hint for the account of its mailbox, which reads new settings before it works again."""
        account = self._of_root.get(hint.root)
        if account is None:
            self._strange(hint)
            return
        if account.is_awake and self._has_new_settings(account):
            self._sleep(account)
            self.compare(account)
        account.take(hint, self._running())
        self._queue(account)

    def work(self) -> None:
        """Give one turn; if no other account waits for one, make one step of the work that can wait."""
        self._come_due()
        self._turn()
        if self._later and (not self._row or self._running() - self._stepped_at >= _STEP_SECONDS):
            self._step()

    def due_in(self) -> float:
        """Return the seconds until there is work without a hint; infinity for never."""
        if self._row or self._later:
            return 0.0
        waits = [min(self._planned.values(), default=math.inf) - self._running()]
        if (due := self._tools.departures.due()) is not None:
            waits.append(due - self._tools.now())
        return max(0.0, min(waits))

    def give_turns(self) -> None:
        """Let other accounts have their turns; long work calls this between its steps.

        Raises PostponedError inside such a turn, if it has taken longer than a turn may.
        """
        running = self._running()
        if self._given_until < math.inf:
            if running >= self._turn_at + _SLICE:
                raise PostponedError
        elif self._at_work is not None and running - self._given_at >= _SLICE:
            self._given_until = running + _SLICE
            try:
                for hint in self._tools.watcher.read(0.0):
                    self.take(hint)
                self._come_due()
                while self._turn() and self._running() < self._given_until:
                    pass
            finally:
                self._given_until, self._given_at = math.inf, self._running()

    def _come_due(self) -> None:
        """Let the accounts whose time has come wait for what is due; put idle ones to sleep."""
        self._tools.departures.touch()
        running = self._running()
        for account in [one for one, when in self._planned.items() if when <= running]:
            if account.is_awake and account.due() < math.inf:  # the other clock may have been set back
                account.wants.add(Want.TURN)
            if running - account.used_at >= self._tools.idle_seconds and self._may_sleep(account):
                self._sleep(account)
            self._queue(account)

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
            if not account.is_awake:
                self._wake(account)
            account.work(self._running() + seconds)
        return True

    def _step(self) -> None:
        """Make a step of the work that can wait, for the account that has waited longest."""
        account = next(iter(self._later))
        self._stepped_at = self._running()
        is_daily = Want.DAILY_LOOK in account.wants
        is_compared = account.not_before <= min(self._stepped_at, account.jobs_at)  # else its jobs have waited longer
        if not is_daily:  # a daily look stays the first until it is over, else all accounts would be awake
            del self._later[account]
        elif is_compared and self._may_sleep(account, is_compared=True):
            self._sleep(account)  # its ledger is examined when it wakes
        with self._working(account):
            if not account.is_awake:
                self._wake(account, is_examined=is_daily)
            if is_compared:
                account.compare()
            elif not account.step_jobs() and is_daily:
                account.wants.discard(Want.DAILY_LOOK)
                self._daily_look_done(account)
        if is_daily and Want.DAILY_LOOK not in account.wants and self._may_sleep(account):
            self._sleep(account)  # so that a host of thousands, where somebody always has a daily look, can rest

    def compare_now(self, account: Account) -> None:
        """Compare the folders of an account that is awake."""
        with self._working(account):
            account.compare()

    def _queue(self, account: Account) -> None:
        """Let an account wait for what it wants now, and plan when to ask it again."""
        running = self._running()
        if account.not_before <= running:
            account.wants.add(Want.COMPARE)  # perhaps nobody has asked for it, but its period is over
        next_step = min(account.not_before, account.jobs_at)
        has_step = next_step <= running or (Want.DAILY_LOOK in account.wants and not account.is_put_off)
        for waiting, is_in in ((self._row, Want.TURN in account.wants), (self._later, has_step)):
            if is_in:
                waiting.setdefault(account)
            else:
                waiting.pop(account, None)
        when = math.inf if has_step else next_step
        if account.is_awake:
            until_idle = max(account.used_at + self._tools.idle_seconds, running + _STEP_SECONDS)
            when = min(when, until_idle, math.inf if account in self._row else account.due())
        self._planned.pop(account, None)
        if when < math.inf:
            self._planned[account] = when

    # --- awake and asleep

    def wake(self, account: Account) -> bool:
        """Wake an account before there is work for it. Returns whether it is awake."""
        with self._working(account):
            self._wake(account)
        return account.is_awake

    def _wake(self, account: Account, *, is_examined: bool = False) -> None:
        account.wake(self._tools, is_examined=is_examined)
        self._awake[account] = None
        if len(self._awake) > self._tools.most_awake:
            by_use = sorted(self._awake, key=lambda each: each.used_at)
            idle = next((one for one in by_use if one is not account and self._may_sleep(one)), None)
            if idle is not None:
                self._sleep(idle)

    def _may_sleep(self, account: Account, *, is_compared: bool = False) -> bool:
        """Whether nothing keeps an account awake. is_compared: its folders are compared as soon as it wakes."""
        return account is not self._at_work and account.may_sleep(is_compared=is_compared)

    def _sleep(self, account: Account) -> None:
        was_awake = account.is_awake
        if was_awake:
            with self._working(account):
                self._changed(account)
        self._awake.pop(account, None)
        with about(account.name):
            if (fault := account.sleep()) is not None:
                self._failed(account, fault)
        is_soon = self._running() - self._given_back_at < _GIVEN_BACK_SECONDS
        if was_awake and not (self._awake and (self._row or is_soon)):
            memory.give_back()  # from 80 to 44 MB, for a host with 1,000 users
            self._given_back_at = self._running()
        self._queue(account)

    # --- faults

    @contextmanager
    def _working(self, account: Account) -> Iterator[None]:
        """Work with an account: a fault ends only this work."""
        outer, self._at_work = self._at_work, self._at_work or account
        with about(account.name):
            try:
                yield
            except StoppedError:
                raise
            except PostponedError:
                account.compare_within(0.0, self._running())
                if account.is_new:  # new mail waits until the old one is recorded
                    self._later = {account: None} | self._later
            except Exception as fault:
                self._failed(account, fault)
            finally:
                self._at_work = outer
            self._queue(account)

    def _failed(self, account: Account, fault: Exception) -> None:
        """Try the account again later, after a fault. Raises the fault if it ends the service."""
        told = account.sleep(_foreseen(fault) if self._tools.has_others else fault) or fault
        self._awake.pop(account, None)
        if not (self._tools.has_others or isinstance(told, LedgerUnavailableError)):
            raise told
        if isinstance(told, LedgerNewerError) and self._tools.is_replaced():
            raise told  # the service manager starts the new program
        account.failed(told)
        self._changed(account)
        self._queue(account)


def _foreseen(fault: Exception) -> Exception:
    """Return a fault that says what to do."""
    if isinstance(fault, SpamnbError):
        return fault
    _log.debug("an unexpected error", exc_info=fault)
    what = f"unexpected error: {type(fault).__name__}: {fault}; please report it, with the log of -v"
    return UnforeseenError(what)
