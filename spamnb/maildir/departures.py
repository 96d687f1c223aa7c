"""Letting an IMAP server see that messages have left a folder.

QUIRK: Dovecot counts a message as gone only after it has listed `cur/`, which it does when the mtime of that directory
is not the one it has noted (maildir-sync.c). A message that is renamed straight out of `new/` leaves `cur/` as it is,
and is shown, without content, for ever. So `cur/` is touched.

QUIRK: Dovecot notes the mtime that `cur/` has at the end of a delivery, or of a look at `new/`, without listing it
(maildir-sync-index.c): a touch in the midst of that is lost. On a busy machine 4 of 24 runs of tests/imap/test_ghosts
ended with messages without a file after one touch, and none after two. So `cur/` is touched once more, a moment later:
a delivery ends 1 to 50 ms after the file has come, and a session in IDLE looks 0.5 s after that. As long as Dovecot's
lock says that it is at work, it is touched again.
"""

import contextlib
import os
from collections.abc import Callable

_AGAIN_SECONDS = 0.25
_LOCKED_SECONDS = 10.0  # a lock that a crash has left is not waited for
_DOVECOT_LOCK = "dovecot-uidlist.lock"


def touch_cur(folder: str) -> None:
    """Change the mtime of a folder's `cur/`; a refusal is no fault."""
    cur = os.path.join(folder, "cur")
    with contextlib.suppress(OSError):
        before = os.lstat(cur).st_mtime_ns
        os.utime(cur, follow_symlinks=False)  # to "now": the right to write there is enough, one need not own it
        if os.lstat(cur).st_mtime_ns == before:  # the kernel's clock has a grain of 1 to 10 ms
            os.utime(cur, ns=(before, before + 1), follow_symlinks=False)


class Departures:
    """Folders that messages have left, and that are to be touched again. `now` gives seconds since the epoch."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._left: dict[str, tuple[float, float]] = {}  # when next, and when for the last time

    def add(self, folder: str) -> None:
        """A message has left the folder of that path, and its `cur/` was touched."""
        now = self._now()
        self._left[folder] = now + _AGAIN_SECONDS, now + _LOCKED_SECONDS

    def due(self) -> float | None:
        """When `touch` has something to do, in seconds since the epoch, or None."""
        return min((at for at, _ in self._left.values()), default=None)

    def touch(self) -> None:
        """Touch the folders that are due."""
        now = self._now()
        for folder, (at, last) in list(self._left.items()):
            if now < at <= now + _AGAIN_SECONDS:  # later than that: the clock was set back
                continue
            touch_cur(folder)
            if now < last <= now + _LOCKED_SECONDS and os.path.lexists(os.path.join(folder, _DOVECOT_LOCK)):
                self._left[folder] = now + _AGAIN_SECONDS, last
            else:
                del self._left[folder]

    def touch_all(self, wait: Callable[[float], object]) -> None:
        """Touch all folders, each when it is due; `wait` pauses for a number of seconds. For a program that ends."""
        while (due := self.due()) is not None:
            wait(max(0.0, due - self._now()))
            self.touch()
