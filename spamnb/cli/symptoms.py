"""What a look at one thing finds, and what is asked of files and disks."""

import os
import pwd
import shutil
import stat
from dataclasses import dataclass

OK, WARNING, FAULT = "ok", "warning", "fault"

# File systems whose changes by other machines the kernel is not told of, and whose locks SQLite cannot trust.
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "glusterfs", "lustre", "virtiofs"})


@dataclass(frozen=True, slots=True)
class Finding:
    """`state` is ok, warning or fault; what was looked at, what it means, and what to do next ("" for nothing)."""

    state: str
    what: str
    means: str
    next: str = ""


def network_file_system(path: str, mounts: str = "/proc/self/mounts") -> str:
    """The type of the file system that holds a path, if it is one over the network; else ""."""
    best, kind = "", ""
    real = os.path.realpath(path)
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                _, place, type_, *_ = line.split(" ")
                place = place.replace("\\040", " ")
                inside = real == place or real.startswith(place.rstrip("/") + "/")
                if inside and len(place) >= len(best):
                    best, kind = place, type_
    except (OSError, ValueError):
        return ""
    return kind if kind in _NETWORK or kind.startswith("fuse.") else ""


def owner_of(path: str) -> int:
    """The user id of a file's owner."""
    return os.stat(path).st_uid


def name_of(user: int) -> str:
    """A user's name, for a person; the number where nobody has it."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def mode_of(path: str) -> int:
    """A file's permission bits."""
    return stat.S_IMODE(os.stat(path).st_mode)


def free_space(path: str) -> int:
    """Free bytes on the disk of a path."""
    return shutil.disk_usage(path).free


def days(seconds: float) -> str:
    """An age in words.

    >>> days(90_000), days(3 * 86_400), days(60)
    ('1 day', '3 days', 'less than a day')
    """
    number = int(seconds // 86_400)
    return "less than a day" if number < 1 else f"{number} day{'' if number == 1 else 's'}"
