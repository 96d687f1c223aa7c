"""The service as a whole: start, the loop, reload, stop."""

import fcntl
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from spamnb.config import Config, Role
from spamnb.errors import LedgerDamagedError, LedgerError, SpamnbError
from spamnb.ledger.copies import of_day, roll
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.restoring import recover
from spamnb.moves import bases_now
from spamnb.service.notify import Notifier
from spamnb.service.sorter import Sorter
from spamnb.service.watcher import Hint, Watcher

_log = logging.getLogger(__name__)
_LONGEST_WAIT = 60.0
_AGAIN_SECONDS = 3600.0  # after which a copy that failed is tried again
_STEP_SECONDS = 120.0  # what a step of long work may take before the service manager loses patience
_SIGN_SECONDS = 1.0  # long work is told of so often


class _StoppedError(Exception):
    """Long work was cut short: the service has been told to stop."""


class Daemon:
    """Watches the mailboxes of a configuration until it is told to stop.

    `load` reads the configuration, at the start and at each reload. `now` gives seconds since the epoch.
    """

    def __init__(self, load: Callable[[], Config], notifier: Notifier, now: Callable[[], float] = time.time) -> None:
        self._load = load
        self._notify = notifier
        self._now = now
        self._config = load()
        self._watcher = Watcher(self._config.service.watch)
        self._sorters: dict[str, Sorter] = {}
        self._former: Config | None = None  # the one before a reload, until the new one has proven itself
        self._status = self._reservation = ""
        self._next_sign = 0.0
        self._next_reconcile = 0.0
        self._next_copy = 0.0
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
                with suppress(_StoppedError), self._open() as ledger:
                    try:
                        self._begin(ledger)
                        self._loop()
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
        with alone(str(self._config.ledger)), suppress(_StoppedError), self._open() as ledger:
            self._sorters = self._make_sorters(ledger)
            for sorter in self._sorters.values():
                sorter.start()
                sorter.reconcile()
            while (due := self._due()) is not None and not self._stop:
                self._watcher.next(min(1.0, due - self._now()))
                for sorter in self._sorters.values():
                    sorter.settle()
            self._copy_if_due()

    def take_note(self) -> None:
        """Take note of the mail that lies in mailboxes never seen before: it is never moved."""
        with alone(str(self._config.ledger)), Ledger(str(self._config.ledger)) as ledger:
            for sorter in self._make_sorters(ledger).values():
                sorter.start()

    def _open(self) -> Ledger:
        """The ledger, once it is sound; where it is not, its newest sound copy takes its place."""
        path = str(self._config.ledger)
        self._long_work("examining the ledger")
        restored = recover(path, self._now())
        if restored is not None:
            made = time.strftime("%Y-%m-%d %H:%M", time.localtime(restored.made_at))
            _log.warning(
                "the ledger %s could not be used (%s): its copy of %s is in its place%s. What was learned since then is"
                " missing, and the mail that lies in the folders now stays where it is. See `spamnb history`",
                path,
                restored.why,
                made,
                "" if restored.aside is None else f", and the damaged one is kept as {restored.aside}",
            )
        return Ledger(path)

    def _copy_if_due(self) -> None:
        """Make the copy of the day, once a day; where that fails the service goes on, and tries again later.

        Mail waits for it: 173 MB took 2.5 s on two cores that were busy with other work, in steps of at most 0.1 s.
        """
        now, keep, path = self._now(), self._config.service.copies, str(self._config.ledger)
        if not keep or now < self._next_copy or os.path.exists(of_day(path, now)):
            return
        try:
            roll(path, now, keep, self._notify.alive)
        except LedgerError as fault:
            _log.warning("there is no new copy of the ledger, the older ones stay: %s", fault)
            self._next_copy = now + _AGAIN_SECONDS

    def _begin(self, ledger: Ledger) -> None:
        self._sorters = self._make_sorters(ledger)
        folders = sum(len(sorter.refresh()) for sorter in self._sorters.values())
        self._watcher.start(list(self._sorters))
        for sorter in self._sorters.values():
            sorter.start()
        self._reconcile()
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

    def _make_sorters(self, ledger: Ledger) -> dict[str, Sorter]:
        bases = bases_now()
        mailboxes = {ledger.files.mailbox(str(mailbox.path))[0]: mailbox for mailbox in self._config.mailboxes}

        def role_of(mailbox: int, folder: str) -> tuple[Role, bool]:
            of = mailboxes.get(mailbox)
            if of is None:
                return Role.NEUTRAL, False
            return of.roles.get(folder, of.other_folders), folder == of.unsure_folder

        return {
            str(mailbox.path): Sorter(
                mailbox, self._config, ledger, now=self._now, bases=bases, role_of=role_of, alive=self._long_work
            )
            for mailbox in self._config.mailboxes
        }

    def _loop(self) -> None:
        while not (self._stop or self._reload):
            hint = self._watcher.next(self._patience())
            if hint is not None:
                self._follow(hint)
            for sorter in self._sorters.values():
                sorter.settle()
            if self._now() >= self._next_reconcile or self._watcher.overflow_likely:
                self._reconcile()
            self._copy_if_due()
            self._notify.alive(self._status if self._next_sign else None)
            self._next_sign = 0.0

    def _follow(self, hint: Hint) -> None:
        sorter = self._sorters[hint.root]
        if hint.entry is None:
            sorter.reconcile()
        else:
            sorter.hint(hint.folder, hint.entry)

    def _reconcile(self) -> None:
        for sorter in self._sorters.values():
            try:
                sorter.reconcile()
            except LedgerDamagedError:
                raise  # the service manager starts us again, and a copy takes its place
            except SpamnbError as fault:
                _log.error("%s", fault)
        self._watcher.reconciled()
        service = self._config.service
        period = service.poll_seconds if self._watcher.polling else service.reconcile_seconds
        self._next_reconcile = self._now() + period

    def _patience(self) -> float:
        """Seconds until something has to be done whether or not a hint comes."""
        times = [self._next_reconcile, *filter(None, [self._due()])]
        wait = min(min(times) - self._now(), self._notify.watchdog_seconds or _LONGEST_WAIT, _LONGEST_WAIT)
        return max(0.0, wait)

    def _due(self) -> float | None:
        return min((due for sorter in self._sorters.values() if (due := sorter.due()) is not None), default=None)

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


@contextmanager
def alone(ledger: str) -> Iterator[None]:
    """Hold the lock that says a service works with this ledger; SpamnbError where another one holds it."""
    path = ledger + ".lock"
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as fault:
        raise SpamnbError(f"cannot make {path}: {fault.strerror}; check the directory and its owner") from fault
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as fault:
            raise SpamnbError(f"another spamnb service already works with {ledger}: stop that one first") from fault
        yield
    finally:
        os.close(lock)


def is_running(ledger: str) -> bool:
    """Whether a service works with this ledger; makes no file."""
    try:
        lock = os.open(ledger + ".lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False
