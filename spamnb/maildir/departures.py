"""Show an IMAP server that messages have left a folder.

QUIRK: Dovecot counts a message as gone only after it has listed `cur/`. It lists `cur/` when the mtime of that
directory differs from the recorded one (maildir-sync.c). A message that is renamed directly out of `new/` leaves `cur/`
unchanged: Dovecot would show it forever, without content. So `cur/` is touched.

QUIRK: Dovecot records the mtime of `cur/` at the end of a delivery, or after it read `new/`, without listing it
(maildir-sync-index.c). A touch during that time is lost, for example in bursts by LMTP. So `cur/` is touched again. A
delivery ends soon after the file has come, and a session in IDLE looks 0.5 s later. On a busy machine, or beside a
synchroniser, all this takes longer.

QUIRK: a session in IDLE waits for inotify's events of files, not for a touch (its mask lacks IN_ATTRIB). Otherwise it
looks again after 30 s (`mailbox_idle_check_interval`). So an empty file is made in `cur/` too, and removed at once. Its
name begins with a dot: no reader of a Maildir takes it for a message.
"""

import contextlib
import os
from collections.abc import Callable

from spamnb.maildir.folders import Folder

_AGAIN_SECONDS = (0.25, 1.0, 5.0)  # after the last message has left; the last one is for a busy machine
_END_SECONDS = 1.0  # how long a program waits for them at its end
_WAKING = ".spamnb-look"  # the empty file


def touch_cur(folder: Folder) -> None:
    """Change the mtime of a folder's `cur/`; a refusal is not an error."""
    with contextlib.suppress(OSError), folder.opened("") as directory:
        touch("cur", directory)


def touch(path: str, directory: int | None = None) -> None:
    """Change the mtime of a directory; follows no link. directory: what the path begins at, open. Raises OSError."""
    before = os.stat(path, dir_fd=directory, follow_symlinks=False).st_mtime_ns
    os.utime(path, dir_fd=directory, follow_symlinks=False)  # to "now": write permission is enough, without owning it
    if os.stat(path, dir_fd=directory, follow_symlinks=False).st_mtime_ns == before:  # within one tick of the clock
        os.utime(path, ns=(before, before + 1), dir_fd=directory, follow_symlinks=False)


def wake(folder: Folder) -> None:
    """Let programs that wait for events in a folder's `cur/` look at it; a refusal is not an error."""
    with contextlib.suppress(OSError), folder.opened("cur") as cur:  # a file that a killed process has left is reused
        os.close(os.open(_WAKING, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=cur))
        os.unlink(_WAKING, dir_fd=cur)


class Departures:
    """Folders that messages have left, and that have to be touched again. `now` gives seconds since the epoch."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._due: dict[str, tuple[Folder, list[float]]] = {}  # by path: when to touch it, the next time first
        self._next: float | None = None  # the earliest of all: a host has hundreds, and asks at each turn

    def add(self, folder: Folder) -> None:
        """Record that a message has left the folder, and that its `cur/` was touched."""
        now = self._now()
        self._due[folder.path] = folder, [now + seconds for seconds in _AGAIN_SECONDS]
        self._next = now + _AGAIN_SECONDS[0] if self._next is None else min(self._next, now + _AGAIN_SECONDS[0])

    def due(self) -> float | None:
        """Return when `touch` has work to do, in seconds since the epoch, or None."""
        return self._next

    def touch(self) -> None:
        """Touch the folders that are due."""
        now = self._now()
        latest = now + _AGAIN_SECONDS[-1]  # later than that: the clock was set back
        if self._next is None or now < self._next <= latest:
            return
        for path, (folder, times) in list(self._due.items()):
            if not now < times[0] <= latest:
                touch_cur(folder)
                wake(folder)
                times[:] = [time for time in times if now < time <= latest]
                if not times:
                    del self._due[path]
        self._next = min((times[0] for _, times in self._due.values()), default=None)

    def touch_all(self, wait: Callable[[float], object]) -> None:
        """Touch all folders, each at its time; `wait` pauses for a number of seconds. For a program that ends."""
        end = self._now() + _END_SECONDS
        while (due := self.due()) is not None and due <= end:
            wait(max(0.0, due - self._now()))
            self.touch()
