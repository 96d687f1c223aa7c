"""Letting an IMAP server see that messages have left a folder.

QUIRK: Dovecot counts a message as gone only after it has listed `cur/`, which it does when the mtime of that directory
is not the one it has noted (maildir-sync.c). A message that is renamed straight out of `new/` leaves `cur/` as it is,
and is shown, without content, for ever. So `cur/` is touched.

QUIRK: Dovecot notes the mtime that `cur/` has at the end of a delivery, or of a look at `new/`, without listing it
(maildir-sync-index.c): a touch in the midst of that is lost, which with bursts by LMTP happened to one in about fifty
folders. So `cur/` is touched again: a delivery ends 1 to 50 ms after the file has come, and a session in IDLE looks
0.5 s after that; on a machine that is short of time, or with a synchroniser beside, all of it takes longer.
"""

import contextlib
import os
from collections.abc import Callable

_AGAIN_SECONDS = (0.25, 1.0)  # after the last message has left


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
        self._due: dict[str, list[float]] = {}  # when each folder is to be touched, the next time first

    def add(self, folder: str) -> None:
        """A message has left the folder of that path, and its `cur/` was touched."""
        now = self._now()
        self._due[folder] = [now + seconds for seconds in _AGAIN_SECONDS]

    def due(self) -> float | None:
        """When `touch` has something to do, in seconds since the epoch, or None."""
        return min((times[0] for times in self._due.values()), default=None)

    def touch(self) -> None:
        """Touch the folders that are due."""
        now = self._now()
        for folder, times in list(self._due.items()):
            if now < times[0] <= now + _AGAIN_SECONDS[-1]:  # later than that: the clock was set back
                continue
            touch_cur(folder)
            later = [time for time in times if now < time <= now + _AGAIN_SECONDS[-1]]
            if later:
                self._due[folder] = later
            else:
                del self._due[folder]

    def touch_all(self, wait: Callable[[float], object]) -> None:
        """Touch all folders, each when it is due; `wait` pauses for a number of seconds. For a program that ends."""
        while (due := self.due()) is not None:
            wait(max(0.0, due - self._now()))
            self.touch()
