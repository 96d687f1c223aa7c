"""Whose mail a service works for: one person's, or that of the users of a mail host (`roster`)."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

from spamnb.base.wording import plural
from spamnb.config import Config
from spamnb.ledger.file.last_end import EndRecord
from spamnb.service.account import Account, ServiceTools
from spamnb.service.awake_account import AwakeAccount
from spamnb.service.jobs import DailyCopies, Forgetting, MetricsFile, OutdatedLessons, ServiceJob
from spamnb.service.log import LogOnce
from spamnb.service.notmuch_tag import NotmuchTag
from spamnb.service.scheduler import Scheduler
from spamnb.service.watcher import Hint, Watcher

_BETWEEN_STEPS = 0.1  # of jobs: SQLite waits as long before it checks again whether another process may write
Configuration = TypeVar("Configuration")  # one person's, or a host's
Wait = Callable[[float], object]
"""Waits for that number of seconds, or less; raises StoppedError if waiting is pointless."""


class SharingUser(NamedTuple):
    """A user who shares lessons with other hosts. name: in the shared log. ledger: its path. about: in our log.

    A missing ledger is not created here: it exists once the service has looked at the mail.
    """

    name: str
    ledger: str
    about: str = ""


class Tenants(ABC, Generic[Configuration]):
    """Those whose mail a service works for, until the block ends. They keep their claims over a reload."""

    @abstractmethod
    def open(self, config: Configuration, tools: ServiceTools, wait: Wait) -> None:
        """Begin to work by a configuration. Raises SpamnbError if that is impossible."""

    @abstractmethod
    def watch(self) -> str:
        """Begin to watch. Returns how many folders, and whose, in words."""

    @abstractmethod
    def take(self, hint: Hint) -> None:
        """Keep a hint until it is worked on."""

    @abstractmethod
    def work(self) -> None:
        """Do the due work, or a part of it."""

    @abstractmethod
    def due_in(self) -> float:
        """Return the seconds until there is work without a hint; infinity for never."""

    @abstractmethod
    def sharing(self) -> Sequence[SharingUser]:
        """Return those who share lessons, if any do; safe in another thread."""

    @abstractmethod
    def forget(self, user: SharingUser) -> None:
        """Remove the ledger of a user who was forgotten on another host, and begin a new one, if that is possible."""

    @abstractmethod
    def once(self, config: Configuration, tools: ServiceTools, wait: Wait) -> None:
        """Do everything that is due now. Raises SpamnbError if a part of it fails."""

    @abstractmethod
    def rest(self) -> None:
        """Release what belongs to this configuration: a new one comes."""

    @abstractmethod
    def close(self, fault: Exception | None) -> None:
        """Release everything. fault: the reason. Raises a different fault if the person should hear of that instead."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release everything."""
        self.close(fault if isinstance(fault, Exception) else None)


class OnePerson(Tenants[Config]):
    """One person, with one ledger, whose account does not sleep.

    alive: called during a copy of the ledger. instance: which of several services of a host this is.
    """

    def __init__(self, config: Config, faults: LogOnce, alive: Callable[[], None], instance: str) -> None:
        self._config = config
        self._alive = alive
        self._instance = instance
        self._account = Account("", (), lambda: self._config, self._jobs, faults)
        self._scheduler: Scheduler
        self._watcher: Watcher

    def open(self, config: Config, tools: ServiceTools, wait: Wait) -> None:
        """Open the ledger, once it can be used, and lock the mailboxes."""
        self._config, self._watcher = config, tools.watcher
        self._account.roots = tuple(str(mailbox.path) for mailbox in config.mailboxes)
        self._scheduler = Scheduler(tools)
        self._scheduler.add(self._account)
        while not self._scheduler.wake(self._account):
            wait(max(0.0, self._account.not_before - tools.running()))
        self._account.interrupted += tools.reading.open(str(config.ledger))

    def watch(self) -> str:
        """Compare the folders for the first time, each after its mailbox is watched."""
        self._scheduler.compare_now(self._account)
        awake = self._account.awake
        number = len(awake.roots)
        folders = plural(len(awake.directories) // 2, "folder")
        return f"{folders} in {number} mailbox{'' if number == 1 else 'es'}"

    def take(self, hint: Hint) -> None:
        """Keep a hint until the account has its turn."""
        self._scheduler.take(hint)

    def work(self) -> None:
        """Give a turn, do work that can wait, and make a step of each job."""
        if self._watcher.overflowed:
            self._watcher.overflowed = False
            self._scheduler.compare(self._account)
        self._scheduler.work()
        self._scheduler.step_jobs()

    def due_in(self) -> float:
        """Return the seconds until a file has dwelt long enough, the folders are compared, or a job goes on."""
        has_work = self._account.is_awake and self._account.awake.has_work
        until_step = _BETWEEN_STEPS if has_work else math.inf
        return min(until_step, self._scheduler.due_in())

    def sharing(self) -> Sequence[SharingUser]:
        """Return this person."""
        name = self._config.account
        return [] if name is None else [SharingUser(name, str(self._config.ledger))]

    def forget(self, user: SharingUser) -> None:
        """Remove the ledger, and begin a new one."""
        self._scheduler.forget(self._account, user.ledger)

    def once(self, config: Config, tools: ServiceTools, wait: Wait) -> None:
        """Compare the folders with the ledger, judge and learn new mail."""
        self._account.once(tools, wait)

    def rest(self) -> None:
        """Release the mailboxes."""
        self._account.rest()

    def close(self, fault: Exception | None) -> None:
        """Release the mailboxes and the ledger."""
        told = self._account.sleep(fault)
        if told is not None and told is not fault:
            raise told from fault

    def _jobs(self, awake: AwakeAccount, record: EndRecord) -> Sequence[ServiceJob]:
        """Return the repeated jobs beside the mail, in their order."""
        context = awake.context
        return (
            DailyCopies(context, self._alive, record),
            Forgetting(context.ledger, context.config.retention_days, awake.present),
            OutdatedLessons(context),
            MetricsFile(context, lambda: len(awake.directories), self._instance),
            *([] if context.config.notmuch_tag is None else [NotmuchTag(awake, context.config.notmuch_tag)]),
        )
