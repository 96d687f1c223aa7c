"""A watcher without threads: a test need not wait for the reports of the kernel."""

from unittest import mock

from watchdog.observers.api import BaseObserver

from spamnb.service import maildir_emitter
from spamnb.service.watcher import Hint, Watcher


class Prompt(Watcher):
    """A watcher that reads what the kernel has to report whenever it is asked for hints."""

    def start(self) -> None:
        """Begin, as the service does, but start no thread."""
        with mock.patch.object(BaseObserver, "start"):
            super().start()

    def stop(self) -> None:
        """Stop watching; there is no thread to wait for."""
        with mock.patch.object(BaseObserver, "join"):
            super().stop()

    def next(self, seconds: float) -> Hint | None:
        """Return the next hint, or None; it never waits."""
        self.listen()
        return super().next(0.0)

    def listen(self) -> None:
        """Do what both threads of watchdog would do by now."""
        if self._emitter is None or self._observer is None:
            return
        while self._emitter._poll.poll(0):
            with mock.patch.object(maildir_emitter, "_REST", 0.0):
                self._emitter.queue_events(0.0)
        while not self._observer.event_queue.empty():
            self._observer.dispatch_events(self._observer.event_queue)
