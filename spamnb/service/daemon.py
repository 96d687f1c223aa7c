"""The service as a whole: start, the loop, reload, stop."""

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TypeVar

from spamnb.config import Config
from spamnb.errors import LedgerUnavailableError, SpamnbError
from spamnb.ledger.ledger import Ledger
from spamnb.service.alone import alone
from spamnb.service.mailboxes import LEDGER, Mailboxes
from spamnb.service.notify import Notifier
from spamnb.service.once import Once
from spamnb.service.upkeep import DailyCopies, Forgetting, open_sound
from spamnb.service.watcher import Hint, Watcher

_Wanted = TypeVar("_Wanted")
_log = logging.getLogger(__name__)
_LONGEST_WAIT = 60.0
_SOON_SECONDS = 0.5
_RETRY_SECONDS = 10.0  # after a fault that may pass by itself
_STEP_SECONDS = 120.0  # what a step of long work may take before the service manager loses patience
_BETWEEN_STEPS = 0.1  # as long as SQLite waits before it looks again whether another process may write
_SIGN_SECONDS = 1.0  # long work is told of so often


class _StoppedError(Exception):
    """Long work was cut short: the service has been told to stop."""


class Daemon:
    """Watches the mailboxes of a configuration until it is told to stop.

    `load` reads the configuration, at the start and at each reload. `now` gives seconds since the epoch, `running`
    those of a clock that nobody sets.

    A fault that may pass (a ledger that is locked or on a full disk, a mailbox that is not mounted) is said once;
    the folders are then compared anew until all is well, so no notice of what happened meanwhile need be kept.
    """

    def __init__(
        self,
        load: Callable[[], Config],
        notifier: Notifier,
        now: Callable[[], float] = time.time,
        running: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load = load
        self._notify = notifier
        self._now = now
        self._running = running
        self._config = load()
        self._watcher = Watcher(self._config.service.watch)
        self._mailboxes: Mailboxes
        self._forgetting: Forgetting
        self._faults = Once(_log, logging.ERROR)
        self._copies = DailyCopies(str(self._config.ledger), notifier.alive)
        self._former: Config | None = None  # the one before a reload, until the new one has proven itself
        self._status = self._reservation = ""
        self._next_sign = 0.0
        self._next_reconcile = 0.0
        self._stop = False
        self._reload = False

    def stop(self) -> None:
        """Make `run` end; safe in a signal handler."""
        self._stop = True
        self._watcher.wake()

    def reload(self) -> None:
        """Make `run` read the configuration again; safe in a signal handler."""
        self._reload = True
        self._watcher.wake()

    def run(self) -> None:
        """Watch until `stop`. Raises SpamnbError where it cannot begin, or cannot go on."""
        with alone(str(self._config.ledger)), ExitStack() as stack:
            ledger: Ledger | None = None  # it stays open over a reload: to examine it takes long, and others use it
            while not self._stop:
                try:
                    with suppress(_StoppedError):
                        if ledger is None and (ledger := self._waited_for(self._open)) is not None:
                            stack.enter_context(ledger)
                        if ledger is not None:
                            self._work(ledger)
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

    def _work(self, ledger: Ledger) -> None:
        """Work until we are told to stop or reload."""
        if self._waited_for(lambda: self._meet(ledger)):
            with self._held():
                self._begin()
                self._loop()

    def _meet(self, ledger: Ledger) -> bool:
        """Begin with the mailboxes, or leave them."""
        self._use(ledger)
        try:
            self._mailboxes.meet()
        except BaseException:
            self._mailboxes.let_go()
            raise
        return True

    def _waited_for(self, wanted: Callable[[], _Wanted]) -> _Wanted | None:
        """What is wanted of the ledger, once it can be used; None where we are told to stop or reload before."""
        while not (self._stop or self._reload):
            try:
                return wanted()
            except LedgerUnavailableError as fault:
                self._faults.say(LEDGER, f"{fault}. Waiting for it")
                self._notify.working("waiting for the ledger", _STEP_SECONDS)
                self._watcher.next(_RETRY_SECONDS)
        return None

    @contextmanager
    def _over(self, ledger: Ledger) -> Iterator[None]:
        """Work with the mailboxes over a ledger, which is closed in the end."""
        with ledger:
            self._use(ledger)
            with self._held():
                yield

    def _use(self, ledger: Ledger) -> None:
        self._mailboxes = Mailboxes(self._config, ledger, self._faults, now=self._now, alive=self._long_work)
        self._forgetting = Forgetting(ledger, self._mailboxes.present)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Leave the mailboxes to other services in the end."""
        try:
            yield
        finally:
            self._mailboxes.let_go()

    def run_once(self) -> None:
        """Compare the folders with the ledger, judge and learn what is new, and return."""
        with alone(str(self._config.ledger)), suppress(_StoppedError):
            with self._over(self._open()):
                self._mailboxes.start()
                while (due := self._mailboxes.due()) is not None and not self._stop:
                    self._watcher.next(min(1.0, due - self._now()))
                    self._mailboxes.settle_or_raise()
                while self._forgetting.step_if_due(self._now(), self._config.retention):
                    self._long_work("forgetting what is long gone")
            self._copy_if_due()

    def take_note(self) -> None:
        """Take note of the mail that lies in mailboxes never seen before: it is never moved."""
        with alone(str(self._config.ledger)), self._over(Ledger(str(self._config.ledger))):
            self._mailboxes.take_note()

    def _open(self) -> Ledger:
        self._long_work("examining the ledger")
        return open_sound(str(self._config.ledger), self._now())

    def _copy_if_due(self) -> None:
        self._copies.make_if_due(self._now(), self._config.service.copies)

    def _begin(self) -> None:
        self._watch()
        self._reconcile()
        folders, mailboxes = len(self._mailboxes.folders), len(self._mailboxes.roots)
        how = "polling" if self._watcher.polling else "watching"
        self._status = f"{how} {folders} folder{'s' if folders != 1 else ''} in {mailboxes} mailbox" + (
            "es" if mailboxes != 1 else ""
        )
        _log.info("%s", self._status)
        self._status += self._reservation
        self._former = None
        self._next_sign = 0.0
        self._notify.ready(self._status)
        self._copy_if_due()

    def _watch(self) -> None:
        self._watcher.start([root for root in self._mailboxes.roots if os.path.isdir(root)], self._directories())

    def _directories(self) -> list[str]:
        """Where events have to come from."""
        return [folder.subdir(which) for folder in self._mailboxes.folders for which in ("new", "cur")]

    def _loop(self) -> None:
        while not (self._stop or self._reload):
            hint = self._watcher.next(self._patience())
            if LEDGER not in self._faults:  # until it is back, hints are dropped: the folders are compared then
                if hint is not None:
                    self._follow(hint)
                if not self._mailboxes.settle():
                    self._reconcile_within(_RETRY_SECONDS)
            if self._running() >= self._next_reconcile or self._watcher.overflow_likely:
                self._reconcile()
            if LEDGER not in self._faults:
                self._copy_if_due()
                self._forgetting.step_if_due(self._now(), self._config.retention)
            self._notify.alive(self._status if self._next_sign else None)
            self._next_sign = 0.0

    def _follow(self, hint: Hint) -> None:
        if hint.entry is None:  # soon, not at once: whoever deletes a folder would find parts of it made again
            self._reconcile_within(_SOON_SECONDS)
        elif not self._mailboxes.hint(hint.root, hint.folder, hint.entry):
            self._reconcile_within(_RETRY_SECONDS)

    def _reconcile_within(self, seconds: float) -> None:
        self._next_reconcile = min(self._next_reconcile, self._running() + seconds)

    def _reconcile(self) -> None:
        well = self._mailboxes.compare()
        if self._watcher.is_blind(self._directories()):
            self._watch()
            well = self._mailboxes.compare()  # what happened before it was watched
        self._watcher.reconciled()
        self._mailboxes.empty_log()
        service = self._config.service
        period = service.poll_seconds if self._watcher.polling else service.reconcile_seconds
        self._next_reconcile = self._running() + (period if well else min(period, _RETRY_SECONDS))

    def _patience(self) -> float:
        """Seconds until something has to be done whether or not a hint comes."""
        waits = [self._next_reconcile - self._running(), self._notify.watchdog_seconds or _LONGEST_WAIT, _LONGEST_WAIT]
        if (due := self._mailboxes.due()) is not None and LEDGER not in self._faults:
            waits.append(due - self._now())
        if self._forgetting.under_way and LEDGER not in self._faults:
            waits.append(_BETWEEN_STEPS)
        return max(0.0, min(waits))

    def _long_work(self, status: str) -> None:
        """One step of long work is done. Raises _StoppedError where no further one is wanted."""
        if self._stop:
            raise _StoppedError
        if (now := time.monotonic()) >= self._next_sign:
            self._notify.working(status, _STEP_SECONDS)
            self._next_sign = now + _SIGN_SECONDS

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
        self._reservation = ""
        self._former, self._config = self._config, config
        self._watcher = Watcher(config.service.watch)
        _log.info("read the configuration again")

    def _go_back(self, former: Config, fault: SpamnbError) -> None:
        _log.error("cannot work with the new configuration, the old one stays in force: %s", fault)
        self._reservation = "; the new configuration cannot be used, the old one stays in force"
        self._config, self._former = former, None
        self._watcher.stop()
        self._watcher = Watcher(self._config.service.watch)
