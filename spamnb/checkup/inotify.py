"""How much the kernel lets a user watch, and how much of it is in use."""

import contextlib
import os
from pathlib import Path

_LIMITS = Path("/proc/sys/fs/inotify")
_PROCESSES = Path("/proc")


def limit(name: str) -> int | None:
    """The sysctl `fs.inotify.NAME`; None where the kernel does not tell."""
    try:
        return int((_LIMITS / name).read_text())
    except (OSError, ValueError):
        return None


def instances_in_use() -> int:
    """How many inotify instances the processes of this user have; those that may not be looked at do not count."""
    user, number = os.geteuid(), 0
    for process in _PROCESSES.glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            if process.stat().st_uid == user:
                number += sum(map(_is_inotify, (process / "fd").iterdir()))
    return number


def _is_inotify(descriptor: Path) -> bool:
    try:
        return os.readlink(descriptor) == "anon_inode:inotify"
    except OSError:
        return False  # closed meanwhile
