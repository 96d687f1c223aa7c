"""Find out how much the kernel lets a user watch, and how much of it is in use."""

import contextlib
import os
from pathlib import Path

_LIMITS = Path("/proc/sys/fs/inotify")
_PROCESSES = Path("/proc")


def limit(name: str) -> int | None:
    """Return the sysctl `fs.inotify.NAME`; None if the kernel does not report it."""
    try:
        return int((_LIMITS / name).read_text())
    except (OSError, ValueError):
        return None


def instances_in_use() -> int:
    """Return how many inotify instances this user's processes have; those that cannot be read do not count."""
    user, number = os.geteuid(), 0
    for process in _PROCESSES.glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended, or belongs to another user
            if process.stat().st_uid == user:
                number += sum(map(_is_inotify, (process / "fd").iterdir()))
    return number


def _is_inotify(descriptor: Path) -> bool:
    try:
        return os.readlink(descriptor) == "anon_inode:inotify"
    except OSError:
        return False  # closed in the meantime
