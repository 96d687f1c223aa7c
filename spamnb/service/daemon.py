"""The service as a whole: start, the loop, reload, stop.

One loop works for one person, with one account (`one_person`), or for whoever else is `served`: a mail host has
thousands of accounts. `scheduler` gives the turns.
"""

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import chain

from spamnb.base.errors import SpamnbError
from spamnb.ledger import schema
from spamnb.maildir.departures import Departures
from spamnb.service.account import LEDGER, Claim, ServiceTools, SharingUser
from spamnb.service.awake_account import AwakeAccount
from spamnb.service.jobs import ServiceJob
from spamnb.service.log import LogOnce
from spamnb.service.measurements import Measurements
from spamnb.service.notify import Notifier
from spamnb.service.part import MakePart, Part, PartTools
from spamnb.service.reading_now import ReadingNow
from spamnb.service.scheduler import StoppedError
from spamnb.service.served import Accounts, LoopTools, Served
from spamnb.service.watcher import Watcher

_log = logging.getLogger(__name__)
_LONGEST_WAIT = 60.0
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
        load: Callable[[], Served],
        notifier: Notifier,
        now: Callable[[], float] = time.time,
        running: Callable[[], float] = time.monotonic,
        parts: Sequence[MakePart] = (),
        *,
        tells_faults: bool = False,
    ) -> None:
        self._load = load
        self._notify = notifier
        self._now = now
        self._running = running
        self._served = load()
        self._watcher = self._new_watcher()
        self._make_parts = parts
        self._parts: list[Part] = []
        self._forgotten: deque[SharingUser] = deque()  # on another host; grows in other threads
        self._measurements = Measurements()
        self._departures = Departures(now)
        self._reading = ReadingNow(tells_faults=tells_faults)
        self._faults = self._new_faults()
        self._former: Served | None = None  # the old one, until the new one after a reload has worked
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
            claim = stack.enter_context(self._served.alone())
            stack.enter_context(closing(self._reading))
            self._parts = [stack.enter_context(closing(make(tools))) for make in self._make_parts]
            yield claim

    def _new_watcher(self) -> Watcher:
        return Watcher(self._served.config.service.watch, self._served.most_watches)

    def _accounts(self, claim: Claim, *, is_strict: bool = False) -> Accounts:
        clocks = self._now, self._running
        common = *clocks, self._long_work, self._measurements, self._departures, self._reading, claim
        tools = ServiceTools(self._watcher, *common, is_strict=is_strict, is_replaced=self._is_replaced)
        loop = LoopTools(self._faults, self._new_faults, self._notify.alive, self._jobs_of_parts)
        return self._served.accounts(tools, loop)

    def _new_faults(self) -> LogOnce:
        return LogOnce(_log, logging.ERROR, self._count)

    def _jobs_of_parts(self, awake: AwakeAccount) -> Iterator[ServiceJob]:
        return chain.from_iterable(each.jobs(awake) for each in self._parts)

    def _is_replaced(self) -> bool:
        """Whether a different version of the program was installed since this one began."""
        return _program() != self._program

    def _work(self, accounts: Accounts) -> None:
        """Work until the service is told to stop or reload."""
        self._forgotten.clear()  # the part says it again
        accounts.open(self._wait_for_ledger)
        for each in self._parts:
            each.use(self._served)
        self._watcher.start()
        self._begin(accounts.watch())
        parts = [*accounts.loop, *(each for each in self._parts if each.is_wanted)]
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
            served = self._load()
        except SpamnbError as fault:
            _log.error("the configuration is faulty, the old one stays in force: %s", fault)
            return
        if (moved := self._served.moved(served)) is not None:
            _log.error("%s cannot be changed while the service runs: restart it", moved)
            return
        self._former = self._served
        self._use(served, "")
        _log.info("read the configuration again")

    def _go_back(self, former: Served, fault: SpamnbError) -> None:
        _log.error("cannot work with the new configuration, the old one stays in force: %s", fault)
        self._former = None
        self._watcher.stop()
        self._use(former, "; the new configuration cannot be used, the old one stays in force")

    def _use(self, served: Served, reservation: str) -> None:
        self._served, self._reservation = served, reservation
        self._watcher = self._new_watcher()


def _program() -> tuple[int, int] | None:
    """Return what changes when a different version of the program is installed; None if its files are away."""
    with suppress(OSError):
        found = os.stat(schema.__file__)
        return found.st_ino, found.st_mtime_ns
    return None
