"""One user's account: whether it is awake, what it wants, and when a fault is tried again.

             a hint; a comparison or a daily look is due
    ASLEEP ─────────────────────────────────────────────────▶ AWAKE ◀─┐
      ▲                                                       │ │ │   │ a turn: files of hints, files that have dwelt;
      │                                                       │ │ └───┘ a comparison of its folders; a daily look
      └───────────────────────────────────────────────────────┘ │
          nothing wanted, nothing dwells, no work for a minute  │ a fault
                                                                ▼
    FILLING ──▶ AWAKE: ten seconds without a new file         FAILED ──▶ AWAKE: the time for a new try has come

While it is awake, it has an `AwakeAccount`: its ledger is open and claimed, so that no other service works with it, and
its mailboxes are locked. Otherwise it is only a name, the roots of its mailboxes, and its faults: a mail host has
thousands of accounts. One person's service has one account, which only rests after a fault. If the fault is damage of
the ledger, the next try examines the ledger, and puts its newest copy in its place. `scheduler` says whose turn it is.
"""

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Final, NamedTuple

from spamnb.acts.may_move import MissingCache, await_nobody
from spamnb.base.errors import (
    ConfigError,
    LedgerBusyError,
    LedgerError,
    LedgerLostError,
    LedgerNewerError,
    LedgerUnavailableError,
    SpamnbError,
)
from spamnb.config import Config
from spamnb.filter.met_tokens import Bound
from spamnb.ledger.copies.recovery import open_sound
from spamnb.ledger.file.last_end import EndRecord
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.departures import Departures
from spamnb.service.awake_account import AwakeAccount
from spamnb.service.context import Context
from spamnb.service.jobs import ServiceJob
from spamnb.service.log import LogOnce, MailFaults
from spamnb.service.measurements import Measurements
from spamnb.service.reading_now import ReadingNow, remember
from spamnb.service.watcher import Hint, Watcher

_log = logging.getLogger(__name__)
_MOST_HINTS = 1000  # hints that may wait for one account; if more come, its folders are compared instead
_SOON_SECONDS = 0.5  # until changed folders are compared
_QUIET_SECONDS, _LONGEST_FILLING = 10.0, 600.0  # of silence, or in all, until a new Maildir is compared
_MOST_MET = 50_000  # tokens, in some 8 MB
_RETRY_SECONDS = 10.0  # until a fault that may pass is tried again
_BUSY_SECONDS = 1.0  # the same, if another process held the ledger
_RELEASED_SECONDS = 2.0  # until a ledger is used again that a command has asked for
_BETWEEN_STEPS = 0.1  # seconds between those of jobs: SQLite waits as long before it asks for a held ledger again
_LONGEST_WITHOUT_JOBS = 60.0  # seconds; the clock that jobs go by may be set, and goes on while the machine sleeps
_FOR_A_PERSON = 3600.0  # until a fault that a person has to repair is tried again
_LASTING = (ConfigError, LedgerLostError, LedgerNewerError)  # such faults
LEDGER: Final = "ledger"  # the subject of a fault, like the root of a mailbox
_ACCOUNT = "account"  # another one


class AccountState(StrEnum):
    """What becomes of an account. The drawing above shows the ways from one to another."""

    ASLEEP = "asleep"
    FILLING = "filling"  # asleep; mail is being copied into its new Maildir, and does not count as arriving
    AWAKE = "awake"
    FAILED = "failed"  # asleep after a fault, or while a command has its ledger; hints are not kept


class Want(StrEnum):
    """What an account waits for."""

    TURN = "turn"  # there are hints, or a file has dwelt long enough
    COMPARE = "compare"  # its folders are to be compared with the ledger, but not before `Account.not_before`
    DAILY_LOOK = "daily look"  # its ledger is to be examined, its folders to be compared, its jobs to be done


Claim = Callable[[str], AbstractContextManager[int]]
"""Makes this the only service that works with the ledger at a path; gives its lock file. Raises SpamnbError."""


@dataclass(frozen=True, slots=True)
class ServiceTools:
    """What all accounts of a service share. The values here are those for one person, whose account never sleeps.

    now: seconds since the epoch. running: seconds of a clock that is never set. alive: called during long work, with
    its name, outside any transaction; it may raise to end the work. open_ledger: opens the ledger as `Ledger` does.
    longest_retry: a lasting fault is tried again after at most this number of seconds. is_strict: faults of a mailbox
    that may pass are raised, not logged. is_replaced: whether a different version of the program was installed since
    this one began. most_awake: how many accounts may be awake at once. idle_seconds: an account
    without work sleeps after this time. has_others: a fault puts only its account to rest, and the service goes on for
    the others; the jobs of an account are a part of its daily look. For one person a fault that lasts ends the service,
    and one that may pass stops only the mailbox that it is about. met: how many tokens the filters of the accounts that
    are awake keep in mind together.
    """

    watcher: Watcher
    now: Callable[[], float]
    running: Callable[[], float]
    alive: Callable[[str], None]
    measurements: Measurements
    departures: Departures
    reading: ReadingNow
    claim: Claim
    open_ledger: Callable[..., Ledger] = Ledger
    longest_retry: float = _RETRY_SECONDS
    is_strict: bool = False
    is_replaced: Callable[[], bool] = lambda: False
    most_awake: int = 1
    idle_seconds: float = math.inf
    has_others: bool = False
    met: Bound = field(default_factory=lambda: Bound(_MOST_MET))


class SharingUser(NamedTuple):
    """A user who shares lessons with other hosts. name: in the shared log. ledger: its path. about: in our log.

    A missing ledger is not created here: it exists once the service has looked at the mail.
    """

    name: str
    ledger: str
    about: str = ""


Wait = Callable[[float], object]
"""Waits for that number of seconds, or less; raises StoppedError if waiting is pointless."""
JobsOf = Callable[[AwakeAccount, EndRecord], Sequence[ServiceJob]]


class Account:
    """The account of one user.

    roots: the directories of its mailboxes. config: its configuration when it was last awake. faults: the faults that
    may pass. state, wants: see above. awake: its mail, ledger and jobs; only while it is awake. not_before: when its
    folders are next compared, and a fault is tried again, by the running clock. jobs_at: when its jobs are next due, by
    that clock, if they are not a part of a daily look. used_at: when it last worked, by that clock. is_doubted: its
    ledger is examined before it is used. new_since: mail that came later is new, even if its mailbox is recorded only
    after it came; in seconds since the epoch.
    """

    __slots__ = (
        "_check",
        "_filled_by",
        "_hints",
        "_jobs_of",
        "_mail_faults",
        "_opened",
        "_read",
        "_remembered",
        "_retry",
        "_tools",
        "awake",
        "config",
        "faults",
        "is_doubted",
        "jobs_at",
        "name",
        "new_since",
        "not_before",
        "roots",
        "state",
        "used_at",
        "wants",
    )

    def __init__(
        self,
        name: str,
        roots: Iterable[str],
        read: Callable[[], Config],
        jobs_of: JobsOf,
        faults: LogOnce,
        check: Callable[[], object] = lambda: None,
    ) -> None:
        """read: returns the configuration; called at each waking. jobs_of: makes its jobs, in the order of their steps.

        check: raises SpamnbError if something else has taken the place of a root; called before the roots are looked
        at.
        """
        self.name = name
        self.roots = tuple(roots)
        self.config: Config
        self.faults = faults
        self.state = AccountState.ASLEEP
        self.awake: AwakeAccount
        self.wants: set[Want] = set()
        self.not_before = self.jobs_at = math.inf
        self.used_at = -math.inf
        self.is_doubted = False
        self.new_since = math.inf
        self._read = read
        self._check = check
        self._mail_faults: MailFaults | None = None
        self._remembered = MissingCache()  # kept while it sleeps: finding it out takes longer than judging a message
        self._jobs_of = jobs_of
        self._retry = 0.0  # seconds that the last retry waited
        self._filled_by = math.inf  # hints of a new Maildir put its comparison off, until this time
        self._tools: ServiceTools
        self._opened: ExitStack  # while it is awake: what is open
        self._hints: list[tuple[float, Hint]] = []  # each with the time when it came

    # --- awake and asleep

    @property
    def is_awake(self) -> bool:
        """Whether the account's ledger and mailboxes are open."""
        return self.state is AccountState.AWAKE

    @property
    def is_new(self) -> bool:
        """Whether the account is awake, and the mail of a mailbox is not recorded yet."""
        return self.is_awake and self.awake.is_new

    @property
    def is_put_off(self) -> bool:
        """Whether the account keeps no hints, since its folders are compared at `not_before`."""
        return self.state in (AccountState.FILLING, AccountState.FAILED)

    def wake(self, tools: ServiceTools, *, is_examined: bool = False) -> None:
        """Claim and open the ledger, and lock the known mailboxes. Raises SpamnbError."""
        self._tools = tools
        self._check()
        self.config = self._read()
        common = tools.now, tools.alive, tools.measurements, tools.departures, tools.reading
        with ExitStack() as stack:
            ledger, record = _claim_and_open(
                stack, str(self.config.ledger), tools, is_examined=is_examined or self.is_doubted
            )
            self.is_doubted = False
            if (left := tools.reading.left.get(self.name)) is not None:
                remember(ledger, left)
                del tools.reading.left[self.name]
            if self.config.exchange.database is None:
                await_nobody(ledger)
            self._mail_faults = self._mail_faults or MailFaults(tools.measurements.fault)
            with ledger.without_fsync():  # after a power cut, the next waking makes the rows of a new mailbox again
                kept = self._remembered, self._mail_faults, self.new_since, tools.met
                context = Context(self.config, ledger, *common, *kept)
                stack.callback(context.met.clear)
                awake = AwakeAccount(context, self.faults, strict=tools.is_strict, watch=tools.watcher.watch)
                stack.callback(awake.close)
                awake.open_new()
            awake.take_jobs(self._jobs_of(awake, record))
            self._opened = stack.pop_all()
        self.awake, self.state, self.used_at = awake, AccountState.AWAKE, tools.running()
        if not tools.has_others:
            self.jobs_at = self.used_at

    def sleep(self, fault: Exception | None = None) -> Exception | None:
        """Release everything. Returns the fault that is the reason, as it should be reported.

        A fault from a value that spamnb never writes counts as damage of the ledger.
        """
        if self._mail_faults is not None and not self._mail_faults.text:
            self._mail_faults = None  # a host has thousands of accounts
        if Want.COMPARE not in self.wants:
            self.not_before = math.inf
        self.jobs_at = math.inf
        if self.is_awake:
            self.state = AccountState.ASLEEP
            del self.awake
            try:
                self._opened.__exit__(None if fault is None else type(fault), fault, None)
            except SpamnbError as worse:
                return worse
        return fault

    def may_sleep(self, *, is_compared: bool = False) -> bool:
        """Whether the account may sleep: no unfinished work would be forgotten.

        is_compared: its folders are compared as soon as it wakes, so a requested comparison need not be remembered.
        """
        is_wanted = Want.TURN in self.wants or (Want.COMPARE in self.wants and not is_compared)
        return self.is_awake and not is_wanted and self.awake.due() == math.inf and not self.awake.has_work

    def failed(self, fault: Exception) -> None:
        """Put the account to rest after a fault, and try it again after some seconds, each time after twice as many."""
        is_busy = isinstance(fault, LedgerBusyError)  # which seldom lasts
        first, longest = (_BUSY_SECONDS, _RETRY_SECONDS) if is_busy else (_RETRY_SECONDS, self._tools.longest_retry)
        self._put_off(first, longest)
        self._rest_until(self._tools.running() + (_FOR_A_PERSON if isinstance(fault, _LASTING) else self._retry))
        if isinstance(fault, LedgerUnavailableError):
            until_then = "Mail stays where it is until then" if self.used_at > -math.inf else "Waiting for it"
            self.faults.log(LEDGER, f"{fault}. {until_then}")
        else:
            self.is_doubted = isinstance(fault, LedgerError)
            self.faults.log(_ACCOUNT, str(fault))

    def _put_off(self, first: float, longest: float) -> None:
        """Wait `first` seconds before the next try, then each time twice as long, up to `longest`."""
        self._retry = min(max(2 * self._retry, first), longest)

    def let_go(self, running: float) -> None:
        """Do nothing while a command works with its ledger; it sleeps already. After that its folders are compared."""
        self._rest_until(running + _RELEASED_SECONDS)

    def _rest_until(self, not_before: float) -> None:
        self._hints.clear()
        self.wants.discard(Want.TURN)
        self.wants.add(Want.COMPARE)
        self.state, self.not_before = AccountState.FAILED, not_before

    # --- work

    @property
    def ledger(self) -> Ledger:
        """The ledger. Call it only while the account is awake."""
        return self.awake.context.ledger

    @property
    def fault(self) -> str:
        """One of the account's lasting faults, in words; "" for none."""
        return self.faults.text or ("" if self._mail_faults is None else self._mail_faults.text)

    @property
    def is_kept_from_mail(self) -> bool:
        """Whether a lasting fault keeps it from seeing or moving some mail: its folders are to be compared again."""
        return self._mail_faults is not None and bool(self._mail_faults.of_disk)

    def take(self, hint: Hint, running: float) -> None:
        """Keep a hint until the account has its turn."""
        if self.state is AccountState.FILLING:
            self.not_before = min(running + _QUIET_SECONDS, self._filled_by)
        elif self.state is AccountState.FAILED:
            return
        elif hint.entry is None:  # not at once: this would make a folder again while a program is deleting it
            self.compare_within(_SOON_SECONDS, running)
        elif len(self._hints) < _MOST_HINTS:
            self._hints.append((running, hint))
            self.wants.add(Want.TURN)
        else:
            self.compare_within(0.0, running)

    def wait_until_filled(self, running: float) -> None:
        """Mark the Maildir as new: compare it after a silence; mail that comes before then counts as already there."""
        self.wants.add(Want.COMPARE)
        self.state, self.not_before = AccountState.FILLING, running + _QUIET_SECONDS
        self._filled_by = running + _LONGEST_FILLING

    def compare_within(self, seconds: float, running: float) -> None:
        """Compare the folders with the ledger within that number of seconds."""
        self.wants.add(Want.COMPARE)
        self.not_before = min(self.not_before, running + seconds)

    def work(self, end: float) -> None:
        """Look at the files named by hints, until `end` on the running clock, and act on what is due."""
        awake, running = self.awake, self._tools.running
        try:
            while self._hints and running() < end:
                came, hint = self._hints.pop(0)
                self._tools.measurements.turn(running() - came)
                if hint.entry is not None:
                    awake.look(hint.root, hint.folder, hint.entry)
            awake.act_on_due()
        finally:
            if not self._hints:
                self.wants.discard(Want.TURN)
        self.used_at = running()
        if not awake.is_well:
            self.compare_within(_RETRY_SECONDS, self.used_at)

    def compare(self) -> None:
        """Compare the folders with the ledger, and act on files that have dwelt.

        If not all can be done, it is tried again after some seconds, each time after twice as many.
        """
        awake, tools = self.awake, self._tools
        self._check()
        self.wants.discard(Want.COMPARE)
        self.not_before = math.inf
        awake.compare()
        if self.faults.clear(LEDGER):
            _log.info("the ledger can be used again")
        is_over = self.faults.clear(_ACCOUNT)
        service = self.config.service
        is_watched = all(map(tools.watcher.is_watched, self.roots))
        period = service.reconcile_seconds if is_watched else service.poll_seconds
        if awake.is_well:
            if is_over:
                _log.info("the account can be used again")
            self._retry = 0.0
        else:
            self._put_off(_RETRY_SECONDS, tools.longest_retry)
            period = min(period, self._retry)
        self.not_before = min(self.not_before, tools.running() + period)

    def step_jobs(self) -> bool:
        """Make a step of each due job. Returns whether one has more steps to make."""
        has_more = self.awake.step_jobs()
        if not self._tools.has_others:
            seconds = min(self.awake.jobs_due_in(), _LONGEST_WITHOUT_JOBS)
            self.jobs_at = self._tools.running() + max(seconds, _BETWEEN_STEPS)
        return has_more

    def once(self, tools: ServiceTools, wait: Wait) -> None:
        """Do everything that is due now or in a moment. wait: waits for that number of seconds, or less."""
        self.wake(tools)
        awake = self.awake
        awake.compare()
        while (due := awake.due()) < math.inf:
            wait(min(1.0, due - tools.now()))
            awake.act_on_due()
        tools.departures.touch_all(wait)
        awake.finish_jobs()

    def due(self) -> float:
        """Return when files are due that dwell, by the running clock; infinity for never. Call it only while awake."""
        return self._tools.running() + self.awake.due() - self._tools.now()


def _claim_and_open(stack: ExitStack, path: str, tools: ServiceTools, *, is_examined: bool) -> tuple[Ledger, EndRecord]:
    """Return the open ledger, with which no other service works until the stack ends, and the record of that end.

    is_examined: examine it first, unless the record of the last service proves it sound. Otherwise it is examined only
    if the last service ended over damage. Raises SpamnbError.
    """
    alive = partial(tools.alive, "examining the ledger")
    lock = stack.enter_context(tools.claim(path))
    record = stack.enter_context(EndRecord(path, lock).kept())
    if is_examined:
        alive()
    open_ledger = partial(tools.open_ledger, alive=partial(tools.alive, "copying a ledger before its upgrade"))
    if is_examined or record.last.damage:
        opened = open_sound(path, tools.now(), record, alive, open_ledger)
    else:
        opened = open_ledger(path)
    return stack.enter_context(opened), record
