"""The kernel's reports on any number of Maildirs, as events of watchdog: one instance of inotify, and one thread.

watchdog's own emitter takes an instance and a thread per tree, and watches everything in it. The kernel then reports
events that nobody needs: each file that any program, also this one, opens, writes or closes. Here the caller names the
directories to watch and what each one means, and the kernel reports nothing else.

A program may rename files all the time, 100,000 per second. If each event became an object that is handed from thread
to thread, these threads would take the interpreter from all other work, and memory would grow without a limit. So the
thread rests after it has worked, while the kernel collects events. If one directory then has very many, most of them
become one event, after which the folders are compared.
"""

import contextlib
import os
import select
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from watchdog.events import DirModifiedEvent, FileCreatedEvent, FileSystemEvent
from watchdog.observers.api import EventEmitter, EventQueue, ObservedWatch

from spamnb.maildir.folders import Directory
from spamnb.maildir.messages import KEYWORDS_FILE
from spamnb.service import inotify
from spamnb.service.inotify import Inotify

_APPEARED = inotify.CREATE | inotify.MOVED_TO
_IN_DIRECTORY = _APPEARED | inotify.DELETE | inotify.MOVED_FROM
_ENDED = inotify.DELETE_SELF | inotify.MOVE_SELF
_OF_MESSAGES = _APPEARED | inotify.ONLYDIR
_OF_FOLDERS = _IN_DIRECTORY | _ENDED | inotify.ONLYDIR
_KEYWORDS = os.fsencode(KEYWORDS_FILE)
_MOST_EVENTS = 100  # in one directory that are read together and queued one by one
_REST = 4.0  # times as long as the thread has just worked; watchdog's other thread works as long as this one
_LONGEST_REST = 0.02  # seconds; the kernel's queue has room for 16,384 events


class MessageCreatedEvent(FileCreatedEvent):
    """A file has appeared in the `new` or `cur` of a folder of the mailbox `root`."""

    def __init__(self, root: str, path: str) -> None:
        super().__init__(path)
        self.root = root


class EventsLostEvent(FileSystemEvent):
    """The kernel's queue was full: it has dropped the events of that time."""


class AllToldEvent(FileSystemEvent):
    """Everything that had happened at the question has been reported; the path is the number of the question."""


class _Watched(NamedTuple):
    """What a watch descriptor means; a NamedTuple, since there may be 100,000 of them."""

    root: str
    folder: str
    subdir: str


class MaildirEmitter(EventEmitter):
    """watchdog's emitter for any number of Maildirs; raises `OSError` if it gets no instance of inotify.

    It queues a `MessageCreatedEvent` for each file that appears in a `new` or `cur`; a `DirModifiedEvent` of the root
    if folders, or the list of keywords, may have changed in one of its other directories; `EventsLostEvent`; and an
    `AllToldEvent` if that is asked for.

    A directory that is in two places (mount --bind) is reported in the place that was added last.
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
        self._rest = select.poll()
        self._rest.register(self._call, select.POLLIN)
        self._asked = self._answered = 0
        self._watched: dict[int, _Watched] = {}
        self._lock = threading.Lock()  # an event may be read before `add` has recorded its meaning

    def add(self, root: str, directory: Directory) -> int:
        """Watch a directory of that root. Returns its watch descriptor. Raises OSError.

        Below the root it follows no link. A directory that is already watched keeps its descriptor.
        """
        path, mask = directory.path, _OF_MESSAGES if directory.subdir else _OF_FOLDERS
        if path != root:
            mask |= inotify.DONT_FOLLOW
        with self._lock:
            watch = self._inotify.add(path, mask)
            self._watched[watch] = _Watched(root, *directory)
        return watch

    def directory(self, watch: int) -> Directory | None:
        """Return the directory of a watch descriptor; None if its watch has ended."""
        watched = self._watched.get(watch)
        return None if watched is None else Directory(watched.folder, watched.subdir)

    def remove(self, root: str, watch: int) -> None:
        """Stop watching a directory of that root. Events that were already read may still come.

        A directory that was renamed keeps its descriptor: if another root has it since, that root keeps its watch.
        """
        with self._lock:
            watched = self._watched.get(watch)
            if watched is None or watched.root == root:
                self._watched.pop(watch, None)
                self._inotify.remove(watch)

    def close(self) -> None:
        """Close what is open, after the thread has ended."""
        self._inotify.close()
        os.close(self._call)

    def on_thread_stop(self) -> None:
        """Called by `stop`, in the caller's thread."""
        os.eventfd_write(self._call, 1)

    def ask(self, number: int) -> None:
        """Ask for an `AllToldEvent` with this number or a greater. Each call has a greater number than the last."""
        self._asked = number
        os.eventfd_write(self._call, 1)

    def queue_events(self, timeout: float) -> None:
        """Wait for the kernel as long as it takes, and queue its reports. Called in the emitter's thread."""
        self._poll.poll()
        began = time.thread_time()
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._call)  # before the number: a later question wakes us again
        asked = self._asked  # before reading: earlier events are in the kernel's queue by now
        events = [*self._inotify.read()]
        with self._lock:
            for event in self._meanings(events):
                self.queue_event(event)
        if asked > self._answered:
            self._answered = asked
            self.queue_event(AllToldEvent(str(asked)))
        self._rest.poll(1000 * min(_LONGEST_REST, _REST * (time.thread_time() - began)))

    def _meanings(self, events: Iterable[tuple[int, int, bytes]]) -> Iterator[FileSystemEvent]:
        """Return what has happened, without what does not matter. A directory with very many events has changed."""
        numbers = Counter[int]()
        for watch, mask, name in events:
            if mask & _IN_DIRECTORY:
                numbers[watch] += 1
                if numbers[watch] > _MOST_EVENTS:
                    continue
            event = self._meaning(watch, mask, name)
            if event is not None:
                yield event
        for watch, number in numbers.items():
            if number > _MOST_EVENTS and (watched := self._watched.get(watch)) is not None:
                yield DirModifiedEvent(watched.root)

    def _meaning(self, watch: int, mask: int, name: bytes) -> FileSystemEvent | None:
        """Return what has happened, or None if it does not matter."""
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
