"""Watching the folders, and why an event is only a hint.

A mail folder is changed by many programs at once: a delivery agent, an IMAP server, a synchroniser, a person's mail
reader, and this filter. The kernel tells us of names that come and go, not of what they mean, and there is no order
between what it tells and what we read. The races that follow, and what is done about each:

*A file is gone before we open it.* Delivery into `new/` and the client's rename into `cur/` may be microseconds
apart. A name is never trusted: the message is looked up by its base name, in both directories, and one
that cannot be found is left to its next hint.

*A move looks like a deletion and an arrival.* Inside one recursive watch a rename is one event, but an IMAP MOVE is a
copy under a new name and an expunge, seconds apart, and mbsync may do the two in two runs. So departures are not acted
on at all. An arrival is, after a short dwell; by then it is looked up where the same message was before, and where it
is no longer. Pairing events by their cookies was rejected: it cannot see a copy, nor what happened before the start.

*A file has two names.* An IMAP server copies by a hard link, and so a person rescues; but procmail delivers into two
folders in the same way, and programs that save space link what is the same. Which of these it was shows in when the
name appeared: the time of the file's status says that it was there by then, and so does our first look. Once we have
renamed the other name, the status is as new as that. So a linked file in the inbox is judged after its other names.

*A person changes their mind.* Into Junk and back within the dwell is one file that never left, or a new name in
the same folder: neither teaches anything.

*Our own moves come back as events.* The ledger has the new place, written with the move; a file that the ledger knows
in that folder is not an arrival. Suppressing our own events by a list of paths was rejected: a crash loses the list.

*The mailbox is being removed.* To `rm -r` a folder that we make again is one that it has not seen. So none is made for
ten seconds after one has vanished, and none where there is no inbox.

*Events are lost.* The kernel's queue overflows, a watch is added a moment after a directory was filled, network file
systems and some containers send nothing. So the folders are compared with the ledger at the start, after a burst that
may have filled the queue, and every few minutes; a directory that appears is scanned; and at the start a file made in
`tmp/` must be seen within two seconds, or the folders are polled instead.

*A folder is not watched.* The limit of watches was reached below the root, which watchdog ignores, or the disk was
unmounted and mounted again. The kernel lists what it watches for us (proc(5), fdinfo); each time the folders are
compared, each of them has to be in that list.

*readdir misses a file that is renamed while we list.* A name missing from one listing is looked for in a second one
before it counts as gone. A directory that cannot be listed at all (an unmounted disk) is unknown, never empty.
"""

import contextlib
import errno
import inspect
import logging
import os
import queue
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from watchdog import events
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from spamnb.base.errors import SpamnbError, next_step
from spamnb.config import Watch
from spamnb.maildir.messages import KEYWORDS_FILE, Entry
from spamnb.service import open_files

_log = logging.getLogger(__name__)
_PROBE_SECONDS = 2.0
_QUEUE_LIMIT = Path("/proc/sys/fs/inotify/max_queued_events")
_OPEN_FILES = Path("/proc/self/fdinfo")
_WATCHDOG_LOG = logging.getLogger("watchdog.observers")
_WATCHED = re.compile(r"^inotify wd:\S+ ino:([0-9a-f]+)", re.MULTILINE)
_EVENTS: tuple[type[events.FileSystemEvent], ...] = (
    events.FileCreatedEvent,
    events.FileMovedEvent,
    events.DirCreatedEvent,
    events.DirMovedEvent,
    events.DirDeletedEvent,
)
# watchdog before 4.0 cannot ask the kernel for some kinds of events alone: it tells of each file opened and closed too.
_CAN_CHOOSE = "event_filter" in inspect.signature(BaseObserver.schedule).parameters
_CHOSEN: dict[str, Any] = {"event_filter": list(_EVENTS)} if _CAN_CHOOSE else {}
_EVENTS_OF_A_DELIVERY = (
    4 if _CAN_CHOOSE else 8
)  # at most: create, modify, move; or also open and close, and our reading
_ADVICE = {
    errno.ENOSPC: "the limit of inotify watches is reached: raise the sysctl fs.inotify.max_user_watches",
    errno.EMFILE: "the limit of inotify instances is reached: raise the sysctl fs.inotify.max_user_instances",
}


def _advice(fault: OSError) -> str:
    usual = _ADVICE.get(fault.errno or 0, str(fault))
    if fault.errno == errno.EMFILE and open_files.are_used_up():  # the same error of another limit
        return f"too many files are open: {next_step(fault, usual)}"
    return usual


@dataclass(frozen=True, slots=True)
class Hint:
    """A file may have appeared in a folder; without a file, the folders below `root` may have changed."""

    root: str
    folder: str = ""
    entry: Entry | None = None


class Watcher:
    """A recursive watch for each mailbox root, or for a directory of them; hints come out of `next`."""

    def __init__(self, how: Watch) -> None:
        self._how = how
        # A SimpleQueue, since a signal handler puts into it, perhaps while `get` holds the lock that Queue has.
        self._hints: queue.SimpleQueue[Hint | None] = queue.SimpleQueue()
        self._observer: BaseObserver | None = None
        self._probed: dict[str, threading.Event] = {}
        # Counted in watchdog's thread and reset in ours, without a lock: it may be a few too low, and the limit that it
        # is compared with is a quarter of the kernel's queue.
        self._since_reconcile = 0
        self._burst = 4096
        with contextlib.suppress(OSError, ValueError):
            self._burst = int(_QUEUE_LIMIT.read_text()) // _EVENTS_OF_A_DELIVERY
        self._gave_up = how == "polling"
        self._kernel_tells = False
        self._overflow = _Overflow(self.wake)

    @property
    def polling(self) -> bool:
        """Whether no events are to be had, so that the folders have to be looked at often."""
        return self._observer is None

    def start(self, roots: Iterable[str], directories: Iterable[str] = ()) -> None:
        """Begin to watch. Falls back to polling, and says why, unless inotify was demanded (SpamnbError).

        `directories`: those below the roots that must be watched.
        """
        self.stop()
        roots = list(roots)
        if self._gave_up or not roots:
            return
        # QUIRK: watchdog 7 adds a directory twice that appeared within another new one, and warns. Both are one watch.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        observer: BaseObserver | None = None
        try:
            _WATCHDOG_LOG.addHandler(self._overflow)
            observer = Observer()
            for directory, some in _watches(roots).items():
                handler = _Handler(directory, some, self._hint)
                observer.schedule(handler, directory, recursive=True, **_CHOSEN)
            observer.start()
        except OSError as fault:
            self._cannot_watch(observer, _advice(fault))
            return
        self._observer = observer
        self._kernel_tells = not _unwatched(roots)  # else a file system whose inode numbers are not those of its files
        tried = [os.path.join(root, "tmp") for root in roots]
        if self.is_blind([*directories, *tried]):
            self._cannot_watch(observer, _ADVICE[errno.ENOSPC])
        elif silent := [root for root in roots if not self._probe(root)]:
            self._cannot_watch(observer, f"no events come from {silent[0]} (a network file system?)")

    def is_blind(self, directories: Iterable[str]) -> bool:
        """Whether some of these directories should be watched and are not, so that watching has to begin again."""
        if self._gave_up:
            return False
        if self._observer is None:
            return any(os.path.isdir(directory) for directory in directories)
        return self._kernel_tells and bool(_unwatched(directories))

    def stop(self) -> None:
        """Stop watching, and wait until the threads are gone."""
        _WATCHDOG_LOG.removeHandler(self._overflow)
        if self._observer is not None:
            _end(self._observer)
            self._observer = None

    def wake(self) -> None:
        """Make `next` return at once; safe in a signal handler."""
        self._hints.put(None)

    def next(self, seconds: float) -> Hint | None:
        """The next hint, or None after that many seconds or a call of `wake`."""
        try:
            return self._hints.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return None

    @property
    def overflow_likely(self) -> bool:
        """Whether so much has come since `reconciled` that the kernel's queue may have overflowed.

        watchdog reports an overflow only in its log, and older versions not at all.
        """
        return (self._overflow.seen or self._since_reconcile > self._burst) and self._hints.empty()

    def reconciled(self) -> None:
        """The folders have been compared with the ledger."""
        self._since_reconcile = 0
        self._overflow.seen = False

    def _hint(self, hint: Hint) -> None:
        if hint.entry is not None and hint.entry.subdir == "tmp":
            if (event := self._probed.get(hint.entry.name)) is not None:
                event.set()
            return
        self._since_reconcile += 1
        self._hints.put(hint)

    def _probe(self, root: str) -> bool:
        """Whether a file that is made in the root's `tmp/` is seen."""
        name = f"spamnb-probe.{os.getpid()}"
        path = os.path.join(root, "tmp", name)
        seen = self._probed.setdefault(name, threading.Event())
        seen.clear()
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        except OSError:
            return True  # no tmp/ to try it in: the reconcile passes will have to do
        try:
            return seen.wait(_PROBE_SECONDS)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(path)

    def _cannot_watch(self, observer: BaseObserver | None, why: str) -> None:
        self._observer = None
        self._gave_up = True
        if observer is not None:
            _end(observer)
        if self._how == "inotify":
            raise SpamnbError(f"cannot watch with inotify: {why}; or set service.watch to auto")
        _log.warning("polling the folders instead of watching them: %s", why)


class _Overflow(logging.Handler):
    """Learns from watchdog's log that events were lost: it drops those that it still holds, so none may come after."""

    def __init__(self, wake: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self.seen = False
        self._wake = wake

    def emit(self, record: logging.LogRecord) -> None:
        """Called in watchdog's thread."""
        if "overflow" in record.getMessage():
            self.seen = True
            self._wake()


class _Handler(events.FileSystemEventHandler):
    """watchdog's events to hints. roots: the one that is watched, or those in the directory that is."""

    def __init__(self, directory: str, roots: Sequence[str], hint: Callable[[Hint], None]) -> None:
        self._beginning = os.path.join(directory, "")
        self._roots = frozenset(roots)
        self._only = roots[0] if len(roots) == 1 else None
        self._hint = hint

    def on_any_event(self, event: events.FileSystemEvent) -> None:
        """Called in watchdog's thread."""
        if not isinstance(event, _EVENTS):
            return
        path = os.fsdecode(event.dest_path if isinstance(event, events.FileMovedEvent) else event.src_path)
        root = self._root_of(path)
        directory, name = os.path.split(path)
        folder, subdir = os.path.split(directory)
        if event.is_directory or name == KEYWORDS_FILE:  # a keyword that a file has already may have got its meaning
            self._hint(Hint(root))
        elif root in self._roots and subdir in {"new", "cur", "tmp"} and name and not name.startswith("."):
            self._hint(Hint(root, folder, Entry(subdir, name)))

    def _root_of(self, path: str) -> str:
        if self._only is not None:
            return self._only
        return self._beginning + path.removeprefix(self._beginning).partition(os.sep)[0]


def _watches(roots: Iterable[str]) -> dict[str, list[str]]:
    """What to watch: each root, or in the place of several a directory that holds nothing else; and the roots in it.

    A watch is a thread and an inotify instance, of which a user may have 128: see `benchmarks/mailboxes.py`.
    """
    siblings: dict[str, list[str]] = {}
    for root in roots:
        siblings.setdefault(os.path.dirname(root), []).append(root)
    found: dict[str, list[str]] = {}
    for directory, some in siblings.items():
        if len(some) > 1 and _directories_in(directory) == set(some):
            found[directory] = some
        else:
            found.update({root: [root] for root in some})
    return found


def _directories_in(directory: str) -> set[str]:
    """The directories in one, none where it cannot be listed; no links, which a watch does not follow."""
    try:
        with os.scandir(directory) as listing:
            return {entry.path for entry in listing if entry.is_dir(follow_symlinks=False)}
    except OSError:
        return set()


def _end(observer: BaseObserver) -> None:
    if observer.is_alive():
        observer.stop()
        observer.join()
    else:
        observer.unschedule_all()


def _unwatched(directories: Iterable[str]) -> list[str]:
    """Those of the directories that are there, and that the kernel does not watch for this process."""
    watched = set()
    for file in _OPEN_FILES.iterdir():
        with contextlib.suppress(OSError):  # one that was closed meanwhile
            watched |= {int(number, 16) for number in _WATCHED.findall(file.read_text())}
    missing = []
    for directory in directories:
        with contextlib.suppress(OSError):
            if os.stat(directory).st_ino not in watched:
                missing.append(directory)
    return missing
