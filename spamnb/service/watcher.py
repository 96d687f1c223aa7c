"""Watching the folders, and why an event is only a hint.

Many programs change a mail folder at once: a delivery agent, an IMAP server, a synchroniser, a person's mail reader,
and this filter. The kernel reports names that come and go, not their meaning, and its reports and our reads have no
common order. These are the races, and the answer to each:

*A file is gone before we open it.* Delivery into `new/` and the client's rename into `cur/` may be microseconds apart.
A name is never trusted: the message is looked up by its base name, in both directories. If it cannot be found, it is
left to its next hint.

*A move looks like a deletion and an arrival.* The kernel gives both halves of a rename one cookie. But an IMAP MOVE is
a copy under a new name and an expunge, seconds apart, and mbsync may do the two in two runs. So we do not even ask for
departures. We act on an arrival after a short dwell; then we look up where the same message was before, and where it is
gone. We rejected pairing events by their cookies: it sees neither a copy nor anything from before the start.

*A file has two names.* An IMAP server copies by a hard link, and so does a person's rescue. But procmail delivers into
two folders in the same way, and programs that save space link equal files. The time when the name appeared tells them
apart: the time of the file's status says that the name was there by then, and so does our first look. Once we have
renamed the other name, the status is as new as that. So a linked file in the inbox is judged after its other names.

*A person changes their mind.* A file that goes into Junk and back within the dwell has never left, or has a new name in
the same folder: neither teaches anything.

*Our own moves come back as events.* The ledger has the new place, written with the move; a file that the ledger knows
in that folder is not an arrival. We rejected a list of our own paths to suppress: a crash loses the list.

*The mailbox is being removed.* `rm -r` does not expect that we make a folder again. So we make no folder for ten
seconds after one has vanished, and none without an inbox.

*Events are lost.* The kernel's queue overflows; network file systems and some containers send nothing. So we compare
the folders with the ledger at the start, after an overflow, and every few minutes. Before the first directory of a file
system is watched, a file made in `tmp/` must be seen within two seconds; otherwise the folders there are polled.

*A directory is filled before it is watched.* A folder may be there, with mail in it and folders below it, before we
have read that it was made. So each directory is watched before it is listed, and its mail is compared after that.

*A directory has been replaced.* It was deleted and made again, or its disk was unmounted; the watch is still on the old
one. So each comparison watches all directories of the folders again: the kernel answers with the number of the watch,
the same number for the same directory. We rejected asking the kernel for its list of watches (proc(5), fdinfo): it
names inodes, and on some file systems those are not the inodes of the files.

*Not everything can be watched.* The limit of watches was reached. A mailbox is watched as a whole or polled as a whole.
Watching is tried again each time, since other watches may have ended, or the limit may have been raised.

*readdir misses a file that is renamed during the listing.* A name missing from one listing is looked for in a second
one before it counts as gone. A directory that cannot be listed at all (an unmounted disk) is unknown, never empty.
"""

import errno
import logging
import os
import queue
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from watchdog.events import DirModifiedEvent, FileSystemEvent, FileSystemEventHandler
from watchdog.observers.api import BaseObserver

from spamnb.base.errors import next_step
from spamnb.config import Watch
from spamnb.maildir.folders import Directory
from spamnb.maildir.messages import Entry
from spamnb.service import inotify, open_files
from spamnb.service.inotify import CannotWatchError
from spamnb.service.log import LogOnce
from spamnb.service.maildir_emitter import AllToldEvent, EventsLostEvent, MaildirEmitter, MessageCreatedEvent

_log = logging.getLogger(__name__)
# Any other fault belongs to the directory alone: it is gone, a link has taken its place, or we may not read it.
_LIMITS = {errno.ENOSPC, errno.ENOMEM}
_ADVICE = {
    errno.ENOSPC: "the limit of inotify watches is reached: raise the sysctl fs.inotify.max_user_watches",
    errno.EMFILE: "the limit of inotify instances is reached: raise the sysctl fs.inotify.max_user_instances",
}


def _advice(fault: OSError) -> str:
    usual = _ADVICE.get(fault.errno or 0, str(fault))
    if fault.errno == errno.EMFILE and open_files.are_used_up():  # another limit with the same error
        return f"too many files are open: {next_step(fault, usual)}"
    return usual


@dataclass(frozen=True, slots=True)
class Hint:
    """A file may have appeared in a folder; without a file, the directories of `root` may have changed.

    Without a root, hints were lost.
    """

    root: str
    folder: str = ""
    entry: Entry | None = None


class _Refusal(NamedTuple):
    """Why something is polled: the subject, the reason in words, and whether it is an error if inotify is demanded."""

    about: Hashable
    why: str
    is_error: bool = True


class Watcher:
    """Watches the directories of any number of roots by one instance of inotify; hints come out of `next` and `read`.

    A root is a mailbox, or any other name for directories where something comes and goes. `most`: a root with more
    directories than this is polled. overflowed: the kernel has lost events since this was last set to False, which is
    done before the folders are compared. told: the number of the last `ask` that was answered.
    """

    def __init__(self, how: Watch, most: int | None = None) -> None:
        self._how = how
        self._most = most
        self.overflowed = False
        self.told = self._asked = 0
        # A SimpleQueue: a signal handler puts into it, perhaps while `get` holds the lock that a Queue has.
        self._hints: queue.SimpleQueue[Hint | int | None] = queue.SimpleQueue()
        self._observer: BaseObserver | None = None
        self._emitter: MaildirEmitter | None = None
        self._watches: dict[str, tuple[int, ...]] = {}  # by root
        self._polled: set[str] = set()  # roots that cannot be watched
        self._is_refused = False  # no instance of inotify was available, so nothing can be watched
        self._silent: dict[int, str] = {}  # by device: a root on it that sends no events, or ""
        self._said = LogOnce(_log)

    @property
    def polling(self) -> bool:
        """Whether some root sends no events, so that its directories must be looked at often."""
        return self._emitter is None or bool(self._polled)

    def is_watched(self, root: str) -> bool:
        """Whether all directories of a root are watched; otherwise they must be polled."""
        return root in self._watches

    def is_polled(self, root: str) -> bool:
        """Whether a root is polled although inotify is wanted: its directories cannot all be watched."""
        return self._is_refused or root in self._polled

    @property
    def number(self) -> int:
        """How many directories are watched."""
        return sum(map(len, self._watches.values()))

    def directories(self, root: str) -> list[Directory]:
        """Return the watched directories of a root; none if it is polled."""
        if self._emitter is None:
            return []
        return [found for watch in self._watches.get(root, ()) if (found := self._emitter.directory(watch)) is not None]

    def start(self) -> None:
        """Begin, with nothing watched yet. Without an instance of inotify it polls everything, and logs why.

        Raises CannotWatchError if inotify is demanded.
        """
        self.stop()
        if self._how == "polling":
            return
        observer = BaseObserver(MaildirEmitter)
        try:
            observer.schedule(_Handler(self), os.sep)
        except OSError as fault:
            self._is_refused = True
            self._refused(_Refusal(fault.errno, _advice(fault)))
            return
        self._emitter = next(made for made in observer.emitters if isinstance(made, MaildirEmitter))
        self._observer = observer
        observer.start()

    def stop(self) -> None:
        """Stop watching, and wait until the threads have ended."""
        if self._observer is not None and self._emitter is not None:
            self._observer.stop()
            self._observer.join()
            self._emitter.close()
        self._observer = self._emitter = None
        self._is_refused = False
        self._watches.clear()
        self._polled.clear()

    def watch(self, root: str, directories: Iterable[Directory], *, is_limited: bool = True) -> bool:
        """Watch these directories of a root, and no others. Returns whether they are watched; otherwise poll them.

        Call this before the folders are compared, with `find_directories`. It skips a directory that does not exist.
        is_limited: not more than `most`. Raises CannotWatchError if inotify is demanded.
        """
        if self._emitter is None:
            return False
        before, watched = set(self._watches.get(root, ())), set[int]()
        try:
            refusal = self._add(self._emitter, root, directories, watched, self._most if is_limited else None)
        finally:
            self._watches[root] = tuple(before | watched)
        if refusal is not None:
            self.unwatch(root)
            self._polled.add(root)
            self._refused(refusal)
            return False
        for watch in before - watched:
            self._emitter.remove(root, watch)
        self._watches[root] = tuple(watched)
        self._polled.discard(root)
        return True

    def _add(
        self,
        emitter: MaildirEmitter,
        root: str,
        directories: Iterable[Directory],
        watched: set[int],
        most: int | None,
    ) -> _Refusal | None:
        """Add the watches of these directories to `watched`. Returns None, or why some cannot be watched."""
        if silent := self._silent_on_device_of(root):
            return _Refusal(silent, f"no events come from {silent} (a network file system?)")
        for directory in directories:
            if len(watched) == most:
                return _Refusal(root, f"{root} has more than {most} directories", is_error=False)
            try:
                watched.add(emitter.add(root, directory))
            except OSError as fault:
                if fault.errno in _LIMITS:
                    return _Refusal(fault.errno, _advice(fault))
        return None

    def _silent_on_device_of(self, root: str) -> str:
        """Return the root whose file system was found to send no events, or ""; tried once per disk, if possible."""
        try:
            device = os.stat(root).st_dev
        except OSError:
            return ""  # it does not exist
        if device not in self._silent:
            tells = inotify.tells(os.path.join(root, "tmp"))
            if tells is None:
                return ""  # then only the comparisons find new mail
            self._silent[device] = "" if tells else root
        return self._silent[device]

    def unwatch(self, root: str) -> None:
        """Stop watching a root. A hint that was given before may still come."""
        for watch in self._watches.pop(root, ()):
            if self._emitter is not None:
                self._emitter.remove(root, watch)
        self._polled.discard(root)

    def wake(self) -> None:
        """Make `next` or `read` return at once; safe in a signal handler."""
        self._hints.put(None)

    def next(self, seconds: float) -> Hint | None:
        """Return the next hint, or None after that number of seconds, a call of `wake`, or an answer to `ask`."""
        try:
            told = self._hints.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return None
        if isinstance(told, int):
            self.told, told = told, None
        return told

    def read(self, seconds: float) -> list[Hint]:
        """Return all waiting hints; wait for the first one that number of seconds, or until a call of `wake`."""
        first = self.next(seconds)
        rest = [self.next(0.0) for _ in range(self._hints.qsize())]
        return [hint for hint in (first, *rest) if hint is not None]

    def tell(self, hint: Hint | int) -> None:
        """Give a hint, or the number of an answered `ask`, after all its hints; safe in any thread."""
        self._hints.put(hint)

    def ask(self) -> int:
        """Ask for the hints of everything until now: all are read when `told` reaches the returned number."""
        self._asked += 1
        if self._emitter is not None:
            self._emitter.ask(self._asked)
        return self._asked

    def _refused(self, refusal: _Refusal) -> None:
        if refusal.is_error and self._how == "inotify":
            raise CannotWatchError(f"cannot watch with inotify: {refusal.why}; or set service.watch to auto")
        self._said.log(refusal.about, f"polling the folders instead of watching them: {refusal.why}")


class _Handler(FileSystemEventHandler):
    """Turns watchdog's events into hints."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def dispatch(self, event: FileSystemEvent) -> None:
        """Turn one event into a hint; called in watchdog's thread."""
        if isinstance(event, MessageCreatedEvent):
            directory, name = os.path.split(os.fsdecode(event.src_path))
            folder, subdir = os.path.split(directory)
            self._watcher.tell(Hint(event.root, folder, Entry(subdir, name)))
        elif isinstance(event, DirModifiedEvent):
            self._watcher.tell(Hint(os.fsdecode(event.src_path)))
        elif isinstance(event, AllToldEvent):
            self._watcher.tell(int(os.fsdecode(event.src_path)))
        elif isinstance(event, EventsLostEvent):
            _log.warning("the kernel's queue of events was full, and some are lost: the folders are compared")
            self._watcher.overflowed = True
            self._watcher.tell(Hint(""))
