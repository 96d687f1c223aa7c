"""How many files the service may have open: each mailbox takes one, as its lock, and each connection to spamd.

A process begins with a soft limit, mostly of 1,024, since select(2) knows no more, and may raise it to the hard one,
with systemd 524,288. The service uses no select(2), and starts no other program, which would inherit the limit.
"""

import contextlib
import errno
import os
import resource

_INSTANCE = 2  # files that an instance of inotify takes: itself, and what ends its thread
_KEPT = 64  # files that connections leave to all else: mail, ledgers, copies


def raise_limit() -> None:
    """Let this process open as many files as it may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # ValueError: the sysctl fs.nr_open has become lower than the hard limit. OSError: a sandbox forbids the call.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def are_used_up() -> bool:
    """Whether it is this limit that leaves no room for an instance of inotify, and not the limit on instances."""
    try:
        return _open_now() + _INSTANCE > _limit()
    except OSError as fault:
        return fault.errno == errno.EMFILE


def for_connections() -> int:
    """How many files may be open before connections take more than their part of them."""
    most = _limit()
    return most - min(_KEPT, most // 4)


def open_now() -> int:
    """How many files are open."""
    try:
        return _open_now()
    except OSError as fault:  # without /proc nobody knows
        return _limit() if fault.errno == errno.EMFILE else 0


def _open_now() -> int:
    return len(os.listdir("/proc/self/fd")) - 1  # one is the listing's own


def _limit() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
