"""One person's mail: one account with one ledger. It rests only after a fault. A mail host has a `roster` instead."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from spamnb.base.wording import plural
from spamnb.config import Config
from spamnb.ledger.file.last_end import EndRecord
from spamnb.ledger.file.locks import only_service
from spamnb.service.account import Account, Claim, ServiceTools, SharingUser, Wait
from spamnb.service.awake_account import AwakeAccount
from spamnb.service.jobs import DailyCopies, Forgetting, OutdatedLessons, ServiceJob, metrics_of_ledger
from spamnb.service.letters import Letters
from spamnb.service.scheduler import Scheduler, StoppedError
from spamnb.service.served import OTHER_KIND, Accounts, Due, LoopTools, Served


@dataclass(frozen=True, slots=True)
class Person:
    """One person, as the one for whom a service works. instance: which of several services of a machine this is."""

    config: Config
    instance: str = ""

    @property
    def most_watches(self) -> None:
        """All directories are watched."""

    @contextmanager
    def alone(self) -> Iterator[Claim]:
        """Be the only service of this person. It lasts over a reload, so that `status` knows since when it runs."""
        with only_service(str(self.config.ledger)) as lock:
            yield lambda _: nullcontext(lock)

    def accounts(self, tools: ServiceTools, loop: LoopTools) -> Accounts:
        """Return the only account."""
        return OnePerson(self.config, tools, loop, self.instance)

    def moved(self, after: Served) -> str | None:
        """Return the setting that a reload changes, though a running service cannot change it."""
        if not isinstance(after, Person):
            return OTHER_KIND
        return None if self.config.ledger == after.config.ledger else "the ledger"


class OnePerson:
    """One person's account. scheduler: gives it its turns."""

    def __init__(self, config: Config, tools: ServiceTools, loop: LoopTools, instance: str) -> None:
        self._config = config
        self._tools = tools
        self._loop_tools = loop
        self._instance = instance
        roots = [str(mailbox.path) for mailbox in config.mailboxes]
        self._account = account = Account("", roots, lambda: config, self._jobs, loop.faults)
        account.is_doubted = True  # for the first time, since it has no daily look
        # A hint without a mailbox says that hints were lost.
        self.scheduler = Scheduler(tools, lambda _: self.scheduler.compare(account))
        self.scheduler.add(account)

    @property
    def loop(self) -> Sequence[Due]:
        """The account has its turns, and nothing else is done."""
        return (self.scheduler,)

    def open(self, wait: Wait) -> None:
        """Open the ledger, once it can be used, and lock the mailboxes."""
        self._tools.reading.open(str(self._config.ledger))
        while not self.scheduler.wake(self._account):
            wait(max(0.0, self._account.not_before - self._tools.running()))

    def watch(self) -> str:
        """Compare the folders for the first time, each after its mailbox is watched. Returns them in words."""
        self.scheduler.compare_now(self._account)
        directories = self._account.awake.directories if self._account.is_awake else []  # else its ledger is away
        number = len(self._account.roots)
        return f"{plural(len(directories) // 2, 'folder')} in {number} mailbox{'' if number == 1 else 'es'}"

    def sharing(self) -> Sequence[SharingUser]:
        """Return this person, if lessons are shared; safe in another thread."""
        name = self._config.account
        return [] if name is None else [SharingUser(name, str(self._config.ledger))]

    def forget(self, user: SharingUser) -> None:
        """Remove the ledger, and begin a new one."""
        self.scheduler.forget(self._account, user.ledger)

    def once(self, wait: Wait) -> None:
        """Compare the folders with the ledger, judge and learn new mail. Raises SpamnbError if a part of it fails."""
        try:
            self._account.once(self._tools, wait)
        except StoppedError:
            raise
        except Exception as fault:
            if (told := self._account.sleep(fault)) is not None and told is not fault:
                raise told from fault
            raise

    def close(self) -> None:
        """Release the mailboxes and the ledger."""
        self.scheduler.close()

    def _jobs(self, awake: AwakeAccount, record: EndRecord) -> Sequence[ServiceJob]:
        """Return the repeated jobs beside the mail, in their order."""
        context = awake.context
        return (
            DailyCopies(context, self._loop_tools.alive, record),
            Forgetting(context.ledger, context.config.retention_days, awake.present),
            OutdatedLessons(context),
            Letters(awake),
            metrics_of_ledger(context, lambda: len(awake.directories), self._instance),
            *self._loop_tools.jobs(awake),
        )
