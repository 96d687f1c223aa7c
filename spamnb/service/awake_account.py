"""An account while it is awake: its configuration, open ledger, mailboxes and repeated jobs.

A fault of one mailbox is logged once, and does not stop the others.
"""

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from spamnb.base.errors import LedgerError, SpamnbError
from spamnb.config import Config
from spamnb.ledger.file.locks import only_service
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import Directory, FolderNameError, find_directories
from spamnb.maildir.messages import Entry
from spamnb.service.context import Context
from spamnb.service.inotify import CannotWatchError
from spamnb.service.jobs import ServiceJob
from spamnb.service.log import LogOnce, about
from spamnb.service.mailbox.lock import MailboxLockedError
from spamnb.service.mailbox.watched import WatchedMailbox

_log = logging.getLogger(__name__)


class AwakeAccount:
    """The mail of one account, from waking until it sleeps or gets a new configuration.

    Its mailboxes are locked until `close`. Faults of a mailbox that may pass are logged in `faults`; if `strict`, they
    are raised. `watch` is called with the root and the directories of a mailbox before each comparison.
    """

    def __init__(
        self,
        context: Context,
        faults: LogOnce,
        *,
        strict: bool = False,
        watch: Callable[[str, Iterable[Directory]], object] = lambda _, __: None,
    ) -> None:
        self.context = context
        self._ledger = context.ledger
        self._faults = faults
        self._strict = strict
        self._watch = watch
        self._watched = {str(mailbox.path): WatchedMailbox(mailbox, context) for mailbox in context.config.mailboxes}
        self._jobs: Sequence[ServiceJob] = ()

    # --- its parts

    @property
    def directories(self) -> list[str]:
        """The `new` and `cur` of each folder, as of the last look."""
        folders = (folder for mailbox in self._watched.values() for folder in mailbox.folders)
        return [folder.subdir(subdir) for folder in folders for subdir in ("new", "cur")]

    @property
    def is_new(self) -> bool:
        """Whether the mail of a mailbox is not recorded yet."""
        return any(mailbox.folders.started_at is None for mailbox in self._watched.values())

    @property
    def is_well(self) -> bool:
        """Whether the mailboxes have no fault that may pass."""
        return not any(root in self._faults for root in self._watched)

    def mailbox(self, root: str) -> WatchedMailbox:
        """Return the mailbox at that path."""
        return self._watched[root]

    def present(self) -> dict[int, set[str]]:
        """Return the names of the readable folders of each mailbox, by its id in the ledger."""
        names = {}
        for root, mailbox in self._watched.items():
            if mailbox.is_ready and root not in self._faults and not mailbox.folders.is_bare():
                names[mailbox.folders.id] = {folder.name for folder in mailbox.folders}
        return names

    # --- its mail

    def open_new(self) -> None:
        """Lock the mailboxes that were never seen before.

        Raises SpamnbError if one is not there: its path is probably mistyped.
        """
        for root, mailbox in self._watched.items():
            if mailbox.folders.started_at is None:
                with self._about(root):
                    mailbox.find_and_lock()

    def compare(self) -> None:
        """Compare the folders with the ledger, act on files that have dwelt long enough, and empty the ledger's log."""
        for root, mailbox in self._watched.items():
            with self._guarded(root):
                self._ledger.check()
                self.context.reading.load_skipped()
                self._watch(root, find_directories(root, mailbox.folders.mailbox.layout))
                if mailbox.is_ready:
                    mailbox.lock_inbox()
                else:
                    mailbox.find_and_lock()
                    mailbox.make_ready()
                mailbox.compare()
                mailbox.act_on_due()
                if self._faults.clear(root):
                    _log.info("%s can be used again", root)
        self._ledger.empty_log()  # commands may have learned a lot

    def look(self, root: str, path: str, entry: Entry) -> None:
        """Look at a file that may have appeared in the folder at that path.

        In a mailbox that was never seen before, the mail is recorded first.
        """
        mailbox = self._watched[root]
        with self._guarded(root):
            if not mailbox.is_ready:
                self.context.reading.load_skipped()
                mailbox.find_and_lock()
                mailbox.make_ready()
            folder = mailbox.folders.by_path.get(path)
            if folder is None:
                mailbox.compare()
            else:
                mailbox.look(folder, entry)

    def act_on_due(self) -> None:
        """Act on the files that have dwelt long enough."""
        for root, mailbox in self._watched.items():
            if mailbox.is_ready:
                with self._guarded(root):
                    mailbox.act_on_due()

    def learn_by_tag(self, paths: Sequence[str], *, is_tagged: bool) -> bool:
        """Learn the message in these files, which has got the tag for spam in notmuch, or has lost it.

        Returns whether one of them is in a mailbox. A stranger can write the Message-ID of any message, and notmuch
        shows both as one: if the files hold different messages, nobody knows which one a person has seen.
        """
        found = []
        for root, mailbox in self._watched.items():
            if mailbox.is_ready:
                with self._guarded(root):
                    found += [(root, unread) for unread in mailbox.read_files(paths)]
        if len({unread.digest for _, unread in found}) > 1:
            names = ", ".join(self.context.name_of(unread) for _, unread in found)
            _log.info("notmuch shows different messages as one, so its tag teaches nothing about them: %s", names)
        elif found:
            root, unread = found[0]
            with self._guarded(root):
                self._watched[root].learn_tag(unread, is_tagged=is_tagged)
        return bool(found)

    def due(self) -> float:
        """Return when files are due that dwell, in seconds since the epoch; infinity for never."""
        usable = (mailbox for root, mailbox in self._watched.items() if root not in self._faults)
        dues = (mailbox.due(departures=False) for mailbox in usable)
        return min((due for due in dues if due is not None), default=math.inf)

    # --- its repeated jobs

    def take_jobs(self, jobs: Sequence[ServiceJob]) -> None:
        """Do these jobs from now on, in this order."""
        self._jobs = jobs

    @property
    def has_work(self) -> bool:
        """Whether a job has more steps to make."""
        return any(job.under_way for job in self._jobs)

    def jobs_due_in(self) -> float:
        """Return the seconds until a job is due; infinity for never."""
        return min((job.due_in(self.context.now()) for job in self._jobs), default=math.inf)

    def step_jobs(self) -> bool:
        """Make a step of each job that is due. Returns whether one has more steps to make."""
        steps = [job.step_if_due(self.context.now()) for job in self._jobs]
        return any(steps)

    def finish_jobs(self) -> None:
        """Make all steps of each job that is due."""
        for job in self._jobs:
            while job.step_if_due(self.context.now()):
                self.context.alive(job.doing)

    # --- faults

    @contextmanager
    def _guarded(self, root: str) -> Iterator[None]:
        """Log a fault of this mailbox that may pass. Raise any other fault."""
        is_done = False
        try:
            with self._about(root):
                try:
                    yield
                    is_done = True
                finally:
                    self.context.reading.end(is_done=is_done)
        except (LedgerError, MailboxLockedError, FolderNameError, CannotWatchError):
            raise
        except SpamnbError as fault:
            if self._strict:
                raise
            with self._about(root):
                self._faults.log(root, str(fault))

    def _about(self, root: str) -> AbstractContextManager[None]:
        """Add the mailbox's name to each log line within, if there are several."""
        return about(root) if len(self._watched) > 1 else nullcontext()

    def close(self) -> None:
        """Release the mailboxes for other services."""
        for mailbox in self._watched.values():
            mailbox.lock.release()


def record_existing(config: Config, now: Callable[[], float] = time.time) -> None:
    """Record the mail in mailboxes never seen before: it is never moved. Mail that comes later is new.

    Raises SpamnbError if a service runs, or a mailbox or the ledger cannot be used.
    """
    with only_service(str(config.ledger)), Ledger(str(config.ledger)) as ledger:
        context = Context(config, ledger, now)
        for mailbox in config.mailboxes:
            WatchedMailbox(mailbox, context).make_ready()
