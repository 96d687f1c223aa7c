"""Letting an IMAP server see that messages have left a folder.

QUIRK: Dovecot counts a message as gone only after it has listed `cur/`, which it does when the mtime of that directory
is not the one it has recorded (maildir-sync.c). A message that is renamed straight out of `new/` leaves `cur/` as it
is, and is shown, without content, for ever. So `cur/` is touched.

QUIRK: Dovecot records the mtime that `cur/` has at the end of a delivery, or after it read `new/`, without listing it
(maildir-sync-index.c): a touch during that is lost, as with bursts by LMTP. So `cur/` is touched again: a delivery
ends soon after the file has come, and a session in IDLE looks 0.5 s after that; on a busy machine, or with a
synchroniser beside, all of it takes longer.

QUIRK: a session in IDLE waits for inotify's events of files (its mask lacks IN_ATTRIB), not of a touch: it looks
again after 30 s (`mailbox_idle_check_interval`). So an empty file is made in `cur/` too, and removed at once. Its name
begins with a dot, which no reader of a Maildir takes for a message.
"""

import contextlib
import os
from collections.abc import Callable

_AGAIN_SECONDS = (0.25, 1.0, 5.0)  # after the last message has left; the last is for a machine that is short of time
_END_SECONDS = 1.0  # how long a program that ends waits for them
_WAKING = ".spamnb-look"  # the empty file


def touch_cur(folder: str) -> None:
    """Change the mtime of a folder's `cur/`; a refusal is no fault."""
    cur = os.path.join(folder, "cur")
    with contextlib.suppress(OSError):
        before = os.lstat(cur).st_mtime_ns
        os.utime(cur, follow_symlinks=False)  # to "now": the right to write there is enough, one need not own it
        if os.lstat(cur).st_mtime_ns == before:  # within one tick of the kernel's clock
            os.utime(cur, ns=(before, before + 1), follow_symlinks=False)


def wake(folder: str) -> None:
    """Let programs that wait for events in a folder's `cur/` look at it; a refusal is no fault."""
    path = os.path.join(folder, "cur", _WAKING)
    with contextlib.suppress(OSError):  # one that a killed process has left is used again
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        os.unlink(path)


class Departures:
    """Folders that messages have left, and that are to be touched again. `now` gives seconds since the epoch."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._due: dict[str, list[float]] = {}  # when each folder is to be touched, the next time first
        self._next: float | None = None  # of all of them: a host has hundreds, and asks at each turn

    def add(self, folder: str) -> None:
        """A message has left the folder of that path, and its `cur/` was touched."""
        now = self._now()
        self._due[folder] = [now + seconds for seconds in _AGAIN_SECONDS]
        self._next = now + _AGAIN_SECONDS[0] if self._next is None else min(self._next, now + _AGAIN_SECONDS[0])

    def due(self) -> float | None:
        """When `touch` has something to do, in seconds since the epoch, or None."""
        return self._next

    def touch(self) -> None:
        """Touch the folders that are due."""
        now = self._now()
        latest = now + _AGAIN_SECONDS[-1]  # later than that: the clock was set back
        if self._next is None or now < self._next <= latest:
            return
        for folder, times in list(self._due.items()):
            if not now < times[0] <= latest:
                touch_cur(folder)
                wake(folder)
                times[:] = [time for time in times if now < time <= latest]
                if not times:
                    del self._due[folder]
        self._next = min((times[0] for times in self._due.values()), default=None)

    def touch_all(self, wait: Callable[[float], object]) -> None:
        """Touch all folders, each when it is due; `wait` pauses for a number of seconds. For a program that ends."""
        end = self._now() + _END_SECONDS
        while (due := self.due()) is not None and due <= end:
            wait(max(0.0, due - self._now()))
            self.touch()
