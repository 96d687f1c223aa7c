"""The service as a whole: start, the loop, reload, stop.

One loop works for one person, with one account (`one_person`), or for the users of a mail host, with thousands
(`roster`). `scheduler` gives the turns.
"""

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from functools import partial
from itertools import chain

from spamnb.base.errors import SpamnbError
from spamnb.config import Config
from spamnb.host.host import Host
from spamnb.host.shares import Share, claimed
from spamnb.ledger import schema
from spamnb.ledger.file.locks import only_service
from spamnb.maildir.departures import Departures
from spamnb.service.account import LEDGER, Claim, ServiceTools, SharingUser
from spamnb.service.awake_account import AwakeAccount
from spamnb.service.jobs import ServiceJob
from spamnb.service.log import LogOnce
from spamnb.service.measurements import Measurements
from spamnb.service.notify import Notifier
from spamnb.service.one_person import OnePerson
from spamnb.service.part import MakePart, Part, PartTools
from spamnb.service.reading_now import ReadingNow
from spamnb.service.roster import Roster
from spamnb.service.scheduler import Scheduler, StoppedError
from spamnb.service.watcher import Watcher

_log = logging.getLogger(__name__)
_LONGEST_WAIT = 60.0
_MOST_WATCHES = 400  # per user of a host; a user with more folders is polled
_STEP_SECONDS = 120.0  # a step of long work may take this before the service manager loses patience
_REPORT_SECONDS = 1.0  # between reports of long work


class Daemon:
    """Watches the mailboxes of a configuration until `stop`.

    `load` reads the configuration, at the start and at each reload. `now` gives seconds since the epoch, `running`
    seconds of a clock that is never set. parts: what works beside the watching. tells_faults: a fault that ends the
    process is written down for the next process (`reading_now`).

    After a fault that may pass (a locked ledger, a full disk, an unmounted mailbox) the folders are compared again
    until all is well. So hints that come in the meantime need not be kept.
    """

    def __init__(
        self,
        load: Callable[[], Config | Host],
        notifier: Notifier,
        now: Callable[[], float] = time.time,
        running: Callable[[], float] = time.monotonic,
        parts: Sequence[MakePart] = (),
        instance: str = "",
        *,
        tells_faults: bool = False,
    ) -> None:
        self._load = load
        self._notify = notifier
        self._now = now
        self._running = running
        self._config = load()
        self._watcher = self._new_watcher()
        self._make_parts = parts
        self._instance = instance
        self._parts: list[Part] = []
        self._forgotten: deque[SharingUser] = deque()  # on another host; grows in other threads
        self._measurements = Measurements()
        self._departures = Departures(now)
        self._reading = ReadingNow(tells_faults=tells_faults)
        self._faults = LogOnce(_log, logging.ERROR, self._count)
        self._former: Config | Host | None = None  # the old one, until the new one after a reload has worked
        self._reservation = ""
        self._next_report = 0.0
        self._stop = False
        self._reload = False
        self._program = _program()

    def stop(self) -> None:
        """Make `run` end; safe in a signal handler."""
        self._stop = True
        self._wake()

    def reload(self) -> None:
        """Make `run` read the configuration again; safe in a signal handler."""
        self._reload = True
        self._wake()

    def _wake(self) -> None:
        self._watcher.wake()  # the current watcher: each reload makes a new one

    def run(self) -> None:
        """Watch until `stop`. Raises SpamnbError if it cannot begin, or cannot go on."""
        with self._alone() as claim:
            while not self._stop:
                try:
                    with suppress(StoppedError), closing(self._accounts(claim)) as accounts:
                        self._work(accounts)
                except SpamnbError as fault:
                    if self._former is None:
                        raise
                    self._go_back(self._former, fault)
                finally:
                    self._watcher.stop()
                if self._reload and not self._stop:
                    self._read_again()
            self._notify.stopping()
            _log.info("stopped")

    def run_once(self) -> None:
        """Compare the folders with the ledger, judge and learn new mail, and return."""
        with (
            self._alone() as claim,
            suppress(StoppedError),
            closing(self._accounts(claim, is_strict=True)) as accounts,
        ):
            accounts.once(self._wait)

    @contextmanager
    def _alone(self) -> Iterator[Claim]:
        """Be the only service, and have the parts, until the block ends. Yields how each ledger is claimed."""
        tools = PartTools(self._now, self._measurements, self._reading, self._wake)
        with ExitStack() as stack:
            claim = stack.enter_context(_only_service(self._config))
            stack.enter_context(closing(self._reading))
            self._parts = [stack.enter_context(closing(make(tools))) for make in self._make_parts]
            yield claim

    @property
    def _of_service(self) -> Config:
        """The configuration of the service itself: one person's, or the template of a host."""
        return self._config.template if isinstance(self._config, Host) else self._config

    def _new_watcher(self) -> Watcher:
        return Watcher(self._of_service.service.watch, _MOST_WATCHES if isinstance(self._config, Host) else None)

    def _accounts(self, claim: Claim, *, is_strict: bool = False) -> OnePerson | Roster:
        clocks = self._now, self._running
        common = *clocks, self._long_work, self._measurements, self._departures, self._reading, claim
        tools = ServiceTools(self._watcher, *common, is_strict=is_strict, is_replaced=self._is_replaced)
        if isinstance(self._config, Host):
            return Roster(self._config, tools, lambda: LogOnce(_log, logging.ERROR, self._count))
        return OnePerson(self._config, tools, self._faults, self._notify.alive, self._instance, self._jobs_of_parts)

    def _jobs_of_parts(self, awake: AwakeAccount) -> Iterator[ServiceJob]:
        return chain.from_iterable(each.jobs(awake) for each in self._parts)

    def _is_replaced(self) -> bool:
        """Whether a different version of the program was installed since this one began."""
        return _program() != self._program

    def _work(self, accounts: OnePerson | Roster) -> None:
        """Work until the service is told to stop or reload."""
        self._forgotten.clear()  # the part says it again
        accounts.open(self._wait_for_ledger)
        for each in self._parts:
            each.use(self._config)
        self._watcher.start()
        self._begin(accounts.watch())
        parts: list[Roster | Scheduler | Part] = [accounts] if isinstance(accounts, Roster) else []
        parts += [accounts.scheduler, *(each for each in self._parts if each.is_wanted)]
        longest = min(self._notify.watchdog_seconds or _LONGEST_WAIT, _LONGEST_WAIT)
        with ExitStack() as beside:
            for each in self._parts:
                beside.enter_context(each.beside(accounts.sharing, self._forget))
            while not (self._stop or self._reload):
                for part in parts:
                    if part.due_in() <= 0.0:
                        part.work()
                self._notify.alive()
                for hint in self._watcher.read(min(longest, *(part.due_in() for part in parts))):
                    accounts.scheduler.take(hint)
                while self._forgotten:
                    accounts.forget(self._forgotten.popleft())

    def _forget(self, user: SharingUser) -> None:
        self._forgotten.append(user)
        self._wake()

    def _begin(self, watched: str) -> None:
        status = f"{'watching' if self._watcher.number else 'polling'} {watched}"
        status = ", ".join(filter(None, (status, *(each.status for each in self._parts))))
        _log.info("%s", status)
        self._former = None
        self._notify.ready(status + self._reservation)

    def _wait(self, seconds: float) -> None:
        """Wait for that number of seconds, or for a signal."""
        if self._stop or self._reload:
            raise StoppedError
        self._watcher.next(seconds)

    def _wait_for_ledger(self, seconds: float) -> None:
        self._notify.working("waiting for the ledger", _STEP_SECONDS)
        self._wait(seconds)

    def _count(self, subject: Hashable) -> None:
        self._measurements.fault("ledger" if subject == LEDGER else "disk")

    def _long_work(self, status: str) -> None:
        """Report one finished step of long work. Raises StoppedError if no further step is wanted."""
        if self._stop:
            raise StoppedError
        if (running := self._running()) >= self._next_report:
            self._notify.working(status, _STEP_SECONDS)
            self._next_report = running + _REPORT_SECONDS

    def _read_again(self) -> None:
        """Read the configuration again; report a faulty one, and keep the old one."""
        self._reload = False  # before it is read: another signal may mean another change
        self._notify.reloading()
        self._reservation = "; the new configuration is faulty, the old one stays in force"
        try:
            config = self._load()
        except SpamnbError as fault:
            _log.error("the configuration is faulty, the old one stays in force: %s", fault)
            return
        if (moved := _moved(self._config, config)) is not None:
            _log.error("%s cannot be changed while the service runs: restart it", moved)
            return
        self._former = self._config
        self._use(config, "")
        _log.info("read the configuration again")

    def _go_back(self, former: Config | Host, fault: SpamnbError) -> None:
        _log.error("cannot work with the new configuration, the old one stays in force: %s", fault)
        self._former = None
        self._watcher.stop()
        self._use(former, "; the new configuration cannot be used, the old one stays in force")

    def _use(self, config: Config | Host, reservation: str) -> None:
        self._config, self._reservation = config, reservation
        self._watcher = self._new_watcher()


@contextmanager
def _only_service(config: Config | Host) -> Iterator[Claim]:
    """Be the only service of a person or of a host's share. Yields how each ledger is claimed."""
    if isinstance(config, Host):
        with claimed(config.directory, config.share or Share()):
            yield partial(only_service, patience=0.0)
    else:
        with only_service(str(config.ledger)) as lock:  # held over a reload, so that `status` knows since when it runs
            yield lambda _: nullcontext(lock)


def _program() -> tuple[int, int] | None:
    """Return what changes when a different version of the program is installed; None if its files are away."""
    with suppress(OSError):
        found = os.stat(schema.__file__)
        return found.st_ino, found.st_mtime_ns
    return None


def _moved(before: Config | Host, after: Config | Host) -> str | None:
    """Return the changed setting that a running service cannot change, or None."""
    if isinstance(before, Config) and isinstance(after, Config):
        return "the ledger" if before.ledger != after.ledger else None
    if isinstance(before, Host) and isinstance(after, Host):
        is_same = before.directory == after.directory
        return None if is_same else "the directory of the ledgers"
    return "the kind of configuration (one person's or a host's)"
