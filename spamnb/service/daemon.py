"""The service as a whole: start, the loop, reload, stop."""

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from spamnb.config import Config, Role
from spamnb.errors import LedgerError, LedgerUnavailableError, SpamnbError
from spamnb.ledger.ledger import Ledger
from spamnb.moves import bases_now
from spamnb.service.alone import alone
from spamnb.service.claim import Claim, ClaimedError
from spamnb.service.notify import Notifier
from spamnb.service.once import Once
from spamnb.service.sorter import Sorter
from spamnb.service.upkeep import DailyCopies, open_sound
from spamnb.service.watcher import Hint, Watcher

_log = logging.getLogger(__name__)
_LEDGER = "the ledger"  # of which a fault is said
_LONGEST_WAIT = 60.0
_SOON_SECONDS = 0.5
_RETRY_SECONDS = 10.0  # after a fault that may pass by itself
_STEP_SECONDS = 120.0  # what a step of long work may take before the service manager loses patience
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
        self._sorters: dict[str, Sorter] = {}
        self._begun: set[str] = set()  # the mailboxes that were there since the start, or came later
        self._claims: dict[str, Claim] = {}
        self._faults = Once(_log, logging.ERROR)
        self._ledger_failed = False
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
        with alone(str(self._config.ledger)):
            while not self._stop:
                self._reload = False
                try:
                    with suppress(_StoppedError), self._opened() as ledger:
                        if ledger is not None:
                            self._begin(ledger)
                            self._loop()
                except SpamnbError as fault:
                    if self._former is None:
                        raise
                    self._go_back(self._former, fault)
                finally:
                    self._watcher.stop()
                    self._let_go()
                if self._reload and not self._stop:
                    self._read_again()
            self._notify.stopping()
            _log.info("stopped")

    @contextmanager
    def _opened(self) -> Iterator[Ledger | None]:
        """The ledger, once it can be used; None where we are told to stop or to reload before that."""
        with ExitStack() as stack:
            while not (self._stop or self._reload):
                try:
                    ledger = stack.enter_context(self._open())
                    self._make_acquaintance(ledger)
                except LedgerUnavailableError as fault:
                    stack.close()
                    self._faults.say(_LEDGER, f"{fault}. Waiting for it")
                    self._notify.working("waiting for the ledger", _STEP_SECONDS)
                    self._watcher.next(_RETRY_SECONDS)
                else:
                    yield ledger
                    return
            yield None

    def _make_acquaintance(self, ledger: Ledger) -> None:
        self._sorters = self._make_sorters(ledger)
        for root, sorter in self._sorters.items():
            if not sorter.is_started:  # a person waits for the outcome: a fault is rather a mistyped path
                sorter.refresh()
                self._claim(root, sorter)

    def run_once(self) -> None:
        """Compare the folders with the ledger, judge and learn what is new, and return."""
        with alone(str(self._config.ledger)), suppress(_StoppedError), self._open() as ledger:
            self._sorters = self._make_sorters(ledger)
            try:
                for root, sorter in self._sorters.items():
                    self._start(root, sorter)
                    sorter.reconcile()
                while (due := self._due()) is not None and not self._stop:
                    self._watcher.next(min(1.0, due - self._now()))
                    for sorter in self._sorters.values():
                        sorter.settle()
            finally:
                self._let_go()
            self._copy_if_due()

    def take_note(self) -> None:
        """Take note of the mail that lies in mailboxes never seen before: it is never moved."""
        with alone(str(self._config.ledger)), Ledger(str(self._config.ledger)) as ledger:
            for sorter in self._make_sorters(ledger).values():
                sorter.start()

    def _open(self) -> Ledger:
        self._long_work("examining the ledger")
        return open_sound(str(self._config.ledger), self._now())

    def _copy_if_due(self) -> None:
        self._copies.make_if_due(self._now(), self._config.service.copies)

    def _begin(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._begun = set()
        self._watch()
        self._reconcile()
        folders = sum(len(sorter.folders) for sorter in self._sorters.values())
        how = "polling" if self._watcher.polling else "watching"
        self._status = f"{how} {folders} folder{'s' if folders != 1 else ''} in {len(self._sorters)} mailbox" + (
            "es" if len(self._sorters) != 1 else ""
        )
        _log.info("%s", self._status)
        self._status += self._reservation
        self._former = None
        self._next_sign = 0.0
        self._notify.ready(self._status)
        self._copy_if_due()

    def _start(self, root: str, sorter: Sorter) -> None:
        sorter.refresh()
        self._claim(root, sorter)
        sorter.start()

    def _claim(self, root: str, sorter: Sorter) -> None:
        self._claims.setdefault(root, Claim()).take(sorter.inbox)

    def _let_go(self) -> None:
        for claim in self._claims.values():
            claim.release()

    def _watch(self) -> None:
        self._watcher.start([root for root in self._sorters if os.path.isdir(root)], self._directories())

    def _directories(self) -> list[str]:
        """Where events have to come from."""
        folders = [folder for sorter in self._sorters.values() for folder in sorter.folders]
        return [folder.subdir(which) for folder in folders for which in ("new", "cur")]

    def _make_sorters(self, ledger: Ledger) -> dict[str, Sorter]:
        bases = bases_now()
        mailboxes = {ledger.files.mailbox(str(mailbox.path))[0]: mailbox for mailbox in self._config.mailboxes}

        def role_of(mailbox: int, folder: str) -> tuple[Role, bool]:
            of = mailboxes.get(mailbox)
            if of is None:
                return Role.NEUTRAL, False
            return of.role_of(folder), folder == of.unsure_folder

        return {
            str(mailbox.path): Sorter(
                mailbox, self._config, ledger, now=self._now, bases=bases, role_of=role_of, alive=self._long_work
            )
            for mailbox in self._config.mailboxes
        }

    def _loop(self) -> None:
        while not (self._stop or self._reload):
            hint = self._watcher.next(self._patience())
            if _LEDGER not in self._faults:  # until it is back, hints are dropped: the folders are compared then
                if hint is not None:
                    self._try(hint.root, lambda hint=hint: self._follow(hint))  # type: ignore[misc]  # bound now
                for root, sorter in self._sorters.items():
                    if root in self._begun:
                        self._try(root, sorter.settle)
            if self._running() >= self._next_reconcile or self._watcher.overflow_likely:
                self._reconcile()
            if _LEDGER not in self._faults:
                self._copy_if_due()
            self._notify.alive(self._status if self._next_sign else None)
            self._next_sign = 0.0

    def _follow(self, hint: Hint) -> None:
        sorter = self._sorters[hint.root]
        if hint.root not in self._begun:
            return
        if hint.entry is None:  # soon, not at once: whoever deletes a folder would find parts of it made again
            self._next_reconcile = min(self._next_reconcile, self._running() + _SOON_SECONDS)
        else:
            sorter.hint(hint.folder, hint.entry)

    def _reconcile(self) -> None:
        well = self._compare()
        if self._watcher.is_blind(self._directories()):
            self._watch()
            well = self._compare()  # what happened before it was watched
        self._watcher.reconciled()
        service = self._config.service
        period = service.poll_seconds if self._watcher.polling else service.reconcile_seconds
        self._next_reconcile = self._running() + (period if well else min(period, _RETRY_SECONDS))

    def _compare(self) -> bool:
        """Compare the folders with the ledger; False where something could not be done."""
        self._ledger_failed = False
        done = [self._try(root, lambda root=root: self._compare_one(root)) for root in self._sorters]  # type: ignore[misc]
        if not self._ledger_failed and self._faults.over(_LEDGER):
            _log.info("the ledger can be used again")
        return all(done)

    def _compare_one(self, root: str) -> None:
        sorter = self._sorters[root]
        with self._ledger.transaction():
            pass  # is it still in its place, and can it be written?
        if root in self._begun:
            sorter.refresh()
            self._claim(root, sorter)  # another directory may have come in its place
        else:
            self._start(root, sorter)
            self._begun.add(root)
        sorter.reconcile()
        sorter.settle()
        if self._faults.over(root):
            _log.info("%s can be used again", root)

    def _try(self, root: str, work: Callable[[], object]) -> bool:
        """Do something for a mailbox; False where it could not be done for now. Raises what will not pass."""
        try:
            work()
        except LedgerUnavailableError as fault:
            self._ledger_failed = True
            self._faults.say(_LEDGER, f"{fault}. Mail stays where it is until then")
        except (LedgerError, ClaimedError):
            raise
        except SpamnbError as fault:
            self._faults.say(root, str(fault))
        else:
            return True
        self._next_reconcile = min(self._next_reconcile, self._running() + _RETRY_SECONDS)
        return False

    def _patience(self) -> float:
        """Seconds until something has to be done whether or not a hint comes."""
        waits = [self._next_reconcile - self._running(), self._notify.watchdog_seconds or _LONGEST_WAIT, _LONGEST_WAIT]
        if (due := self._due()) is not None and _LEDGER not in self._faults:
            waits.append(due - self._now())
        return max(0.0, min(waits))

    def _due(self) -> float | None:
        return min(
            (
                due
                for root, sorter in self._sorters.items()
                if root not in self._faults and (due := sorter.due()) is not None
            ),
            default=None,
        )

    def _long_work(self, status: str) -> None:
        """One step of long work is done. Raises _StoppedError where no further one is wanted."""
        if self._stop:
            raise _StoppedError
        if (now := time.monotonic()) >= self._next_sign:
            self._notify.working(status, _STEP_SECONDS)
            self._next_sign = now + _SIGN_SECONDS

    def _read_again(self) -> None:
        """Read the configuration again; a faulty one is reported, and the old one stays."""
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
