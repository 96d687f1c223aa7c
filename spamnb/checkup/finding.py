"""The result of one check, and questions about files and disks."""

import os
import pwd
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

OK, WARNING, FAULT = "ok", "warning", "fault"

# File systems on which the kernel does not report changes by other machines, and SQLite cannot trust locks.
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "glusterfs", "lustre", "virtiofs"})


@dataclass(frozen=True, slots=True)
class Finding:
    """`state` is ok, warning or fault. Then: what was checked, what was found, what to do next ("" for nothing).

    command: the part of the next step that can be typed unchanged, or "".
    """

    state: str
    what: str
    means: str
    next: str = ""
    command: str = ""


ok, warning, fault = (partial(Finding, state) for state in (OK, WARNING, FAULT))


def network_file_system(path: str, mounts: str = "/proc/self/mounts") -> str:
    """Return the type of the file system that holds a path, if it is a network file system; else ""."""
    best, kind = "", ""
    real = os.path.realpath(path)
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                _, point, type_, *_ = line.split(" ")
                point = point.replace("\\040", " ")
                inside = real == point or real.startswith(point.rstrip("/") + "/")
                if inside and len(point) >= len(best):
                    best, kind = point, type_
    except (OSError, ValueError):
        return ""
    return kind if kind in _NETWORK or kind.startswith("fuse.") else ""


def owner_of(path: str) -> int:
    """Return the user id of a file's owner."""
    return os.stat(path).st_uid


def name_of(user: int) -> str:
    """Return a user's name, for a person; the number if nobody has it."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def some(names: Sequence[str]) -> str:
    """Return the first of many names, and the number of the others."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
