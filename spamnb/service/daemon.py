"""The service as a whole: start, the loop, reload, stop."""

import logging
import os
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TypeVar

from spamnb.base.errors import LedgerUnavailableError, SpamnbError
from spamnb.base.sockets import Listener
from spamnb.base.wording import escaped, plural
from spamnb.config import Config
from spamnb.ledger.copies.recovery import open_sound
from spamnb.ledger.file.last_end import EndRecord
from spamnb.ledger.file.locks import only_service
from spamnb.ledger.ledger import Ledger
from spamnb.service.context import Context
from spamnb.service.jobs import DailyCopies, Forgetting, MetricsFile, ServiceJob
from spamnb.service.log import LogOnce
from spamnb.service.mailboxes import LEDGER, Mailboxes
from spamnb.service.measurements import Measurements
from spamnb.service.notify import Notifier
from spamnb.service.spamd.service import SpamdService
from spamnb.service.untouched import OutdatedLessons
from spamnb.service.watcher import Watcher

_Wanted = TypeVar("_Wanted")
_log = logging.getLogger(__name__)
_LONGEST_WAIT = 60.0
_SOON_SECONDS = 0.5
_RETRY_SECONDS = 10.0  # after a fault that may pass by itself
_STEP_SECONDS = 120.0  # what a step of long work may take before the service manager loses patience
_BETWEEN_STEPS = 0.1  # as long as SQLite waits before it looks again whether another process may write
_REPORT_SECONDS = 1.0  # long work is reported so often


class _StoppedError(Exception):
    """Work was cut short: the service has been told to stop, or to reload while it waited."""


class Daemon:
    """Watches the mailboxes of a configuration until it is told to stop.

    `load` reads the configuration, at the start and at each reload. `now` gives seconds since the epoch, `running`
    those of a clock that is never set. `handed`: sockets from the service manager, on which it answers the spamd
    protocol too.

    After a fault that may pass (a ledger that is locked or on a full disk, a mailbox that is not mounted) the folders
    are compared again until all is well, so hints of what happened meanwhile need not be kept.
    """

    def __init__(
        self,
        load: Callable[[], Config],
        notifier: Notifier,
        now: Callable[[], float] = time.time,
        running: Callable[[], float] = time.monotonic,
        handed: Sequence[Listener] = (),
        instance: str = "",
    ) -> None:
        self._load = load
        self._notify = notifier
        self._now = now
        self._running = running
        self._config = load()
        self._watcher = Watcher(self._config.service.watch)
        self._handed = handed
        self._instance = instance
        self._spamd: SpamdService
        self._mailboxes: Mailboxes
        self._jobs: list[ServiceJob]
        self._measurements = Measurements()
        self._faults = LogOnce(_log, logging.ERROR, self._count)
        self._former: Config | None = None  # the one before a reload, until the new one has proven itself
        self._reservation = ""
        self._next_report = 0.0
        self._next_reconcile = 0.0
        self._stop = False
        self._reload = False

    def stop(self) -> None:
        """Make `run` end; safe in a signal handler."""
        self._stop = True
        self._wake()

    def reload(self) -> None:
        """Make `run` read the configuration again; safe in a signal handler."""
        self._reload = True
        self._wake()

    def _wake(self) -> None:
        self._watcher.wake()  # of this moment: each reload makes another

    def run(self) -> None:
        """Watch until `stop`. Raises SpamnbError where it cannot begin, or cannot go on."""
        with self._alone() as end, ExitStack() as stack:
            spamd = SpamdService(self._handed, self._now, self._measurements, on_end=self._wake)
            self._spamd = stack.enter_context(closing(spamd))
            ledger: Ledger | None = None  # it stays open over a reload: to examine it takes long, and others use it
            while not self._stop:
                try:
                    with suppress(_StoppedError):
                        ledger = ledger or stack.enter_context(self._when_usable(lambda: self._open(end)))
                        self._work(ledger, end)
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
        """Compare the folders with the ledger, judge and learn what is new, and return."""
        with self._alone() as end, suppress(_StoppedError), self._open(end) as ledger:
            context = self._context(ledger)
            with closing(Mailboxes(context, self._faults, strict=True)) as mailboxes:
                mailboxes.compare()
                while (due := mailboxes.due(departures=False)) is not None and not self._stop:
                    self._watcher.next(min(1.0, due - self._now()))
                    mailboxes.act_on_due()
                mailboxes.touch_departed(self._watcher.next)
                for job in self._jobs_of(context, mailboxes, end):
                    while job.step_if_due(self._now()):
                        self._long_work(job.doing)

    def _work(self, ledger: Ledger, end: EndRecord) -> None:
        """Work until the service is told to stop or reload."""
        context = self._when_usable(lambda: self._context(ledger))
        with closing(self._when_usable(lambda: Mailboxes(context, self._faults))) as self._mailboxes:
            self._when_usable(self._mailboxes.open_new)
            self._jobs = self._jobs_of(context, self._mailboxes, end)
            self._spamd.use(self._config)
            self._begin(ledger)
            while not (self._stop or self._reload):
                self._next(ledger)

    @contextmanager
    def _alone(self) -> Iterator[EndRecord]:
        """Be the one service of the ledger, and record how that ends."""
        path = str(self._config.ledger)
        with only_service(path) as lock, EndRecord(path, lock).kept() as record:
            yield record

    def _open(self, end: EndRecord) -> Ledger:
        def alive() -> None:
            self._long_work("examining the ledger")

        alive()
        return open_sound(str(self._config.ledger), self._now(), end, alive)

    def _context(self, ledger: Ledger) -> Context:
        return Context(self._config, ledger, self._now, self._long_work, self._measurements)

    def _jobs_of(self, context: Context, mailboxes: Mailboxes, end: EndRecord) -> list[ServiceJob]:
        """What is done again and again beside the mail, in the order in which it is done."""
        return [
            DailyCopies(context, self._notify.alive, end),
            Forgetting(context.ledger, self._config.retention, mailboxes.present),
            OutdatedLessons(context),
            MetricsFile(context, lambda: len(mailboxes.directories), self._instance),
        ]

    def _when_usable(self, wanted: Callable[[], _Wanted]) -> _Wanted:
        """What is wanted of the ledger, once it can be used. Raises _StoppedError where nothing is to be waited for."""
        while not (self._stop or self._reload):
            try:
                return wanted()
            except LedgerUnavailableError as fault:
                self._faults.log(LEDGER, f"{fault}. Waiting for it")
                self._notify.working("waiting for the ledger", _STEP_SECONDS)
                self._watcher.next(_RETRY_SECONDS)
        raise _StoppedError

    def _step_jobs(self) -> None:
        if LEDGER not in self._faults:  # else they would be put off for longer than it may be away
            for job in self._jobs:
                job.step_if_due(self._now())

    def _begin(self, ledger: Ledger) -> None:
        self._watch()
        self._reconcile(ledger)
        how, number = "polling" if self._watcher.polling else "watching", len(self._mailboxes.roots)
        folders = plural(len(self._mailboxes.directories) // 2, "folder")
        status = f"{how} {folders} in {number} mailbox{'' if number == 1 else 'es'}"
        if self._spamd.addresses:
            status += f", answering on {escaped(' and '.join(self._spamd.addresses))}"
        _log.info("%s", status)
        self._former = None
        self._notify.ready(status + self._reservation)
        self._step_jobs()

    def _watch(self) -> None:
        self._watcher.start(filter(os.path.isdir, self._mailboxes.roots), self._mailboxes.directories)

    def _next(self, ledger: Ledger) -> None:
        """Wait for a hint or for something that is due, and act on it."""
        hint = self._watcher.next(self._patience())
        if LEDGER not in self._faults:  # until it is back, hints are dropped: the folders are compared then
            if hint is not None and hint.entry is not None:
                self._mailboxes.look(hint.root, hint.folder, hint.entry)
            elif hint is not None:  # not at once: a program that is deleting a folder would find it made again
                self._reconcile_within(_SOON_SECONDS)
            self._mailboxes.act_on_due()
            if not self._mailboxes.are_well:
                self._reconcile_within(_RETRY_SECONDS)
        if self._running() >= self._next_reconcile or self._watcher.overflow_likely:
            self._reconcile(ledger)
        self._step_jobs()
        self._spamd.check()  # where nobody answers any more, the service manager starts all of it again
        self._notify.alive()

    def _count(self, subject: Hashable) -> None:
        self._measurements.fault("ledger" if subject == LEDGER else "disk")

    def _reconcile_within(self, seconds: float) -> None:
        self._next_reconcile = min(self._next_reconcile, self._running() + seconds)

    def _reconcile(self, ledger: Ledger) -> None:
        self._mailboxes.compare()
        if self._watcher.is_blind(self._mailboxes.directories):
            self._watch()
            self._mailboxes.compare()  # what happened before it was watched
        self._watcher.reconciled()
        ledger.empty_log()  # commands may have learned a lot
        service = self._config.service
        period = service.poll_seconds if self._watcher.polling else service.reconcile_seconds
        self._next_reconcile = self._running() + (period if self._mailboxes.are_well else min(period, _RETRY_SECONDS))

    def _patience(self) -> float:
        """Seconds until something has to be done whether or not a hint comes."""
        waits = [self._next_reconcile - self._running(), self._notify.watchdog_seconds or _LONGEST_WAIT, _LONGEST_WAIT]
        if LEDGER not in self._faults:
            if (due := self._mailboxes.due()) is not None:
                waits.append(due - self._now())
            if any(job.under_way for job in self._jobs):
                waits.append(_BETWEEN_STEPS)
        return max(0.0, min(waits))

    def _long_work(self, status: str) -> None:
        """One step of long work is done. Raises _StoppedError where no further one is wanted."""
        if self._stop:
            raise _StoppedError
        if (running := self._running()) >= self._next_report:
            self._notify.working(status, _STEP_SECONDS)
            self._next_report = running + _REPORT_SECONDS

    def _read_again(self) -> None:
        """Read the configuration again; a faulty one is reported, and the old one stays."""
        self._reload = False  # before it is read: a further signal may come of a further change
        self._notify.reloading()
        self._reservation = "; the new configuration is faulty, the old one stays in force"
        try:
            config = self._load()
        except SpamnbError as fault:
            _log.error("the configuration is faulty, the old one stays in force: %s", fault)
            return
        if config.ledger != self._config.ledger:
            _log.error("the ledger cannot be changed while the service runs: restart it")
            return
        self._former = self._config
        self._use(config, "")
        _log.info("read the configuration again")

    def _go_back(self, former: Config, fault: SpamnbError) -> None:
        _log.error("cannot work with the new configuration, the old one stays in force: %s", fault)
        self._former = None
        self._watcher.stop()
        self._use(former, "; the new configuration cannot be used, the old one stays in force")

    def _use(self, config: Config, reservation: str) -> None:
        self._config, self._reservation = config, reservation
        self._watcher = Watcher(config.service.watch)
