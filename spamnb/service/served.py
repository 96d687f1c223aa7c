"""Whom a service works for: one person, or the users of a mail host. The loop knows no more of either than this."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from spamnb.config import Config
from spamnb.service.account import Claim, ServiceTools, SharingUser, Wait
from spamnb.service.awake_account import AwakeAccount
from spamnb.service.jobs import ServiceJob
from spamnb.service.log import LogOnce
from spamnb.service.scheduler import Scheduler

OTHER_KIND = "the kind of configuration (one person's or a host's)"


class Due(Protocol):
    """What the loop calls again and again."""

    def due_in(self) -> float:
        """Return the seconds until the next call of `work`."""

    def work(self) -> None:
        """Do what is due."""


class Accounts(Protocol):
    """The accounts of a service, from a start or a reload to the next. scheduler: gives them their turns."""

    scheduler: Scheduler

    @property
    def loop(self) -> Sequence[Due]:
        """What the loop calls, in this order."""

    def open(self, wait: Wait) -> None:
        """Make ready to watch. Raises SpamnbError if it cannot begin."""

    def watch(self) -> str:
        """Compare the folders for the first time. Returns what is watched, in words."""

    def sharing(self) -> Sequence[SharingUser]:
        """Return who may share lessons with other hosts; safe in another thread."""

    def forget(self, user: SharingUser) -> None:
        """Remove a ledger, and begin a new one."""

    def once(self, wait: Wait) -> None:
        """Do everything that is due now. Raises SpamnbError if a part of it fails."""

    def close(self) -> None:
        """Release all accounts."""


class LoopTools(NamedTuple):
    """What the loop gives to the accounts beside `ServiceTools`.

    faults: those of one person that may pass, kept over a reload. new_faults: makes those of one more user. alive:
    called during a copy of one person's ledger. jobs: makes that person's jobs of what one can do without.
    """

    faults: LogOnce
    new_faults: Callable[[], LogOnce]
    alive: Callable[[], None]
    jobs: Callable[[AwakeAccount], Iterable[ServiceJob]]


class Served(Protocol):
    """Whom a service works for, by a configuration that was read.

    config: that of the service itself, which for a mail host is the template of all users. most_watches: how many
    directories of one account are watched; None for all.
    """

    @property
    def config(self) -> Config:
        """See above."""

    @property
    def most_watches(self) -> int | None:
        """See above."""

    def alone(self) -> AbstractContextManager[Claim]:
        """Be the only service that works for them, until the block ends. Gives how each ledger is claimed."""

    def accounts(self, tools: ServiceTools, loop: LoopTools) -> Accounts:
        """Return the accounts."""

    def moved(self, after: "Served") -> str | None:
        """Return the setting that a reload changes, though a running service cannot change it; None for none."""
