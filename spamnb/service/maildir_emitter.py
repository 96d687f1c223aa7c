"""What the kernel tells of any number of Maildirs, as events of watchdog: one instance of inotify, and one thread.

watchdog's own emitter takes an instance and a thread for each tree, watches all that lies in it, and is told of what
nobody asks for: each file that is opened, written or closed, by us too. Here it is said which directories are watched,
and what each of them means; the kernel is asked for no more than that.
"""

import contextlib
import os
import select
import threading
from typing import Any, NamedTuple

from watchdog.events import DirModifiedEvent, FileCreatedEvent, FileSystemEvent
from watchdog.observers.api import EventEmitter, EventQueue, ObservedWatch

from spamnb.maildir.folders import Directory
from spamnb.maildir.messages import KEYWORDS_FILE
from spamnb.service import inotify
from spamnb.service.inotify import Inotify

_APPEARED = inotify.CREATE | inotify.MOVED_TO
_ENDED = inotify.DELETE_SELF | inotify.MOVE_SELF
_OF_MESSAGES = _APPEARED | inotify.ONLYDIR
_OF_FOLDERS = _APPEARED | inotify.DELETE | inotify.MOVED_FROM | _ENDED | inotify.ONLYDIR
_KEYWORDS = os.fsencode(KEYWORDS_FILE)


class MessageCreatedEvent(FileCreatedEvent):
    """A file has appeared in the `new` or `cur` of a folder of the mailbox `root`."""

    def __init__(self, root: str, path: str) -> None:
        super().__init__(path)
        self.root = root


class EventsLostEvent(FileSystemEvent):
    """The kernel's queue was full: what happened then is told to nobody."""


class AllToldEvent(FileSystemEvent):
    """All that had happened when this was asked for was told before; the path is the number of the question."""


class _Watched(NamedTuple):
    """What a watch descriptor stands for; NamedTuple, since there may be 100,000 of them."""

    root: str
    folder: str
    subdir: str


class MaildirEmitter(EventEmitter):
    """watchdog's emitter for any number of Maildirs; `OSError` where there is no instance of inotify for it.

    It queues a `MessageCreatedEvent` for each file that appears in a `new` or `cur`; a `DirModifiedEvent` of the root
    where folders, or the list of keywords, may have changed in one of its other directories; `EventsLostEvent`; and an
    `AllToldEvent` where that is asked for.

    One directory that is in two places (mount --bind) is told of in the place that was added last.
    """

    def __init__(self, event_queue: EventQueue, watch: ObservedWatch, **named: Any) -> None:
        super().__init__(event_queue, watch, **named)
        self._inotify = Inotify()
        try:
            self._call = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        except OSError:
            self._inotify.close()
            raise
        self._poll = select.poll()
        self._poll.register(self._inotify.descriptor, select.POLLIN)
        self._poll.register(self._call, select.POLLIN)
        self._asked = self._answered = 0
        self._watched: dict[int, _Watched] = {}
        self._lock = threading.Lock()  # an event may be read before `add` has written down what it means

    def add(self, root: str, directory: Directory) -> int:
        """Watch a directory of that root; its watch descriptor. Raises OSError.

        Below the root no link is followed. A directory that is watched already keeps its descriptor.
        """
        path, mask = directory.path, _OF_MESSAGES if directory.subdir else _OF_FOLDERS
        if path != root:
            mask |= inotify.DONT_FOLLOW
        with self._lock:
            watch = self._inotify.add(path, mask)
            self._watched[watch] = _Watched(root, *directory)
        return watch

    def directory(self, watch: int) -> Directory | None:
        """The directory of a watch descriptor; None where its watch has ended."""
        watched = self._watched.get(watch)
        return None if watched is None else Directory(watched.folder, watched.subdir)

    def remove(self, watch: int) -> None:
        """Watch no longer; of what was already read an event may still come."""
        with self._lock:
            self._watched.pop(watch, None)
            self._inotify.remove(watch)

    def close(self) -> None:
        """Close what is open, once the thread has ended."""
        self._inotify.close()
        os.close(self._call)

    def on_thread_stop(self) -> None:
        """Called by `stop`, in the thread of who calls that."""
        os.eventfd_write(self._call, 1)

    def ask(self, number: int) -> None:
        """Ask for an `AllToldEvent` with this number, which is greater than any before, or a later one."""
        self._asked = number
        os.eventfd_write(self._call, 1)

    def queue_events(self, timeout: float) -> None:
        """Wait for the kernel, for as long as it takes, and queue what it tells. Called in the emitter's thread."""
        self._poll.poll()
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._call)  # before the number: who asks from here on wakes us again
        asked, is_all = self._asked, True  # before reading: what had happened by then waits in the kernel's queue
        for watch, mask, name in self._inotify.read():
            is_all = False
            with self._lock:
                event = self._meaning(watch, mask, name)
            if event is not None:
                self.queue_event(event)
        if asked > self._answered:
            if is_all:
                self._answered = asked
                self.queue_event(AllToldEvent(str(asked)))
            else:
                os.eventfd_write(self._call, 1)

    def _meaning(self, watch: int, mask: int, name: bytes) -> FileSystemEvent | None:
        """What has happened, or None for what is of no interest."""
        if mask & inotify.Q_OVERFLOW:
            return EventsLostEvent("")
        watched = self._watched.get(watch)
        if watched is None:
            return None
        if mask & inotify.IGNORED:
            del self._watched[watch]
            return None
        if mask & (_ENDED | inotify.UNMOUNT):
            return DirModifiedEvent(watched.root)
        if watched.subdir:
            is_message = not mask & inotify.ISDIR and not name.startswith(b".")
            path = os.path.join(watched.folder, watched.subdir, os.fsdecode(name))
            return MessageCreatedEvent(watched.root, path) if is_message else None
        is_told = mask & inotify.ISDIR or name == _KEYWORDS  # a keyword that a file has may have got its meaning
        return DirModifiedEvent(watched.root) if is_told else None
