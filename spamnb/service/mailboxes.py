"""The mailboxes that a service works with: a fault of one is logged once, and does not stop the others."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from spamnb.base.errors import LedgerError, LedgerUnavailableError, SpamnbError
from spamnb.config import Config
from spamnb.ledger.file.locks import only_service
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import Directory, FolderNameError, find_directories
from spamnb.maildir.messages import Entry
from spamnb.service.context import Context
from spamnb.service.inotify import CannotWatchError
from spamnb.service.log import LogOnce, about
from spamnb.service.mailbox.lock import MailboxLockedError
from spamnb.service.mailbox.watched import WatchedMailbox

_log = logging.getLogger(__name__)
LEDGER = "the ledger"  # as what a fault is about, like the root of a mailbox


class Mailboxes:
    """All mailboxes of a configuration, over one ledger, which are locked until `close`.

    Faults that may pass, of a mailbox or of the ledger, are logged in `faults`; if `strict`, they are raised. `watch`
    is called with the root and the directories of a mailbox each time before it is compared. ledger_fault: the last
    one of the ledger that may pass, or None.
    """

    def __init__(
        self,
        context: Context,
        faults: LogOnce,
        *,
        strict: bool = False,
        watch: Callable[[str, Iterable[Directory]], object] = lambda _, __: None,
    ) -> None:
        self._ledger = context.ledger
        self._faults = faults
        self._strict = strict
        self._watch = watch
        self._context = context
        self._departures = context.departures
        self._watched = {str(mailbox.path): WatchedMailbox(mailbox, context) for mailbox in context.config.mailboxes}
        self._ledger_failed = False
        self.ledger_fault: LedgerUnavailableError | None = None

    @property
    def roots(self) -> list[str]:
        """The directories of the mailboxes."""
        return list(self._watched)

    @property
    def directories(self) -> list[str]:
        """The `new` and `cur` of each folder, as they were when last looked at."""
        folders = (folder for mailbox in self._watched.values() for folder in mailbox.folders)
        return [folder.subdir(subdir) for folder in folders for subdir in ("new", "cur")]

    @property
    def are_well(self) -> bool:
        """Whether nothing that may pass is wrong with the ledger or a mailbox."""
        return not any(subject in self._faults for subject in (LEDGER, *self._watched))

    def present(self) -> dict[int, set[str]]:
        """The names of the folders of each mailbox that can be looked at, by its id in the ledger."""
        names = {}
        for root, mailbox in self._watched.items():
            if mailbox.has_begun and root not in self._faults and not mailbox.folders.is_bare():
                names[mailbox.folders.id] = {folder.name for folder in mailbox.folders}
        return names

    def open_new(self) -> None:
        """Raise SpamnbError for a mailbox that was never seen before and is not there: its path is rather mistyped."""
        for root, mailbox in self._watched.items():
            if mailbox.folders.started_at is None:
                with self._about(root):
                    mailbox.open()

    def compare(self) -> None:
        """Compare the folders with the ledger, and act on what has dwelt long enough."""
        self._ledger_failed = False
        for root, mailbox in self._watched.items():
            with self._guarded(root):
                self._ledger.check()
                self._context.look_up_skipped()
                self._watch(root, find_directories(root, mailbox.folders.mailbox.layout))
                if mailbox.has_begun:
                    mailbox.lock_again()
                else:
                    mailbox.open()
                    mailbox.start()
                mailbox.reconcile()
                mailbox.act_on_due()
                if self._faults.over(root):
                    _log.info("%s can be used again", root)
        if not self._ledger_failed and self._faults.over(LEDGER):
            _log.info("the ledger can be used again")

    def look(self, root: str, path: str, entry: Entry) -> None:
        """Look at a file that may have appeared in the folder of that path.

        In a mailbox that was never seen before, mail is recorded when its folders are compared.
        """
        mailbox = self._watched[root]
        if mailbox.folders.started_at is None:
            return
        with self._guarded(root):
            if not mailbox.has_begun:
                self._context.look_up_skipped()
                mailbox.open()
                mailbox.begin()
            folder = mailbox.folders.by_path.get(path)
            if folder is None:
                mailbox.reconcile()
            else:
                mailbox.look(folder, entry)

    def act_on_due(self) -> None:
        """Act on the files that have dwelt long enough."""
        for root, mailbox in self._watched.items():
            if mailbox.has_begun:
                with self._guarded(root):
                    mailbox.act_on_due()

    def due(self, *, departures: bool = True) -> float | None:
        """When `act_on_due` has something to do, in seconds since the epoch, or None; `departures`: these count too."""
        usable = [mailbox for root, mailbox in self._watched.items() if root not in self._faults]
        dues = [mailbox.due(departures=False) for mailbox in usable]
        if departures:
            dues.append(self._departures.due())
        return min((due for due in dues if due is not None), default=None)

    def touch_departed(self, wait: Callable[[float], object]) -> None:
        """Touch what messages have left, as `Departures.touch_all` does."""
        self._departures.touch_all(wait)

    @contextmanager
    def _guarded(self, root: str) -> Iterator[None]:
        """Log a fault that may pass, as one of this mailbox or of the ledger. Raises what will not pass."""
        is_done = False
        try:
            with self._about(root):
                try:
                    yield
                    is_done = True
                finally:
                    self._context.end_reading(is_done=is_done)
        except SpamnbError as fault:
            if self._strict:
                raise
            if isinstance(fault, LedgerUnavailableError):
                self._ledger_failed, self.ledger_fault = True, fault
                self._faults.log(LEDGER, f"{fault}. Mail stays where it is until then")
                return
            if isinstance(fault, LedgerError | MailboxLockedError | FolderNameError | CannotWatchError):
                raise
            with self._about(root):
                self._faults.log(root, str(fault))

    def _about(self, root: str) -> AbstractContextManager[None]:
        """What is logged within names the mailbox, where there are several."""
        return about(root) if len(self._watched) > 1 else nullcontext()

    def close(self) -> None:
        """Leave the mailboxes to other services."""
        for mailbox in self._watched.values():
            mailbox.lock.release()


def record_existing(config: Config, now: Callable[[], float] = time.time) -> None:
    """Record the mail in mailboxes never seen before: it is never moved; what comes from now on is new.

    Raises SpamnbError where a service runs, or a mailbox or the ledger cannot be used.
    """
    with only_service(str(config.ledger)), Ledger(str(config.ledger)) as ledger:
        context = Context(config, ledger, now)
        for mailbox in config.mailboxes:
            WatchedMailbox(mailbox, context).start()
