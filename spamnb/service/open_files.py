"""How many files the service may have open: each mailbox takes one, as its lock, and each connection to spamd.

A process begins with a soft limit, usually 1,024, the most that select(2) can handle. It may raise this to the hard
limit, 524,288 with systemd. The service does not use select(2), and starts no program that would inherit the limit.
"""

import contextlib
import errno
import os
import resource

_INSTANCE = 2  # files that an instance of inotify takes: itself, and the one that ends its thread
_KEPT = 64  # files that connections leave for everything else: mail, ledgers, copies


def raise_limit() -> None:
    """Let this process open as many files as it may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # ValueError: the sysctl fs.nr_open is now lower than the hard limit. OSError: a sandbox forbids the call.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def are_used_up() -> bool:
    """Whether this limit, and not the limit on instances, leaves no room for an instance of inotify."""
    try:
        return _open_now() + _INSTANCE > _limit()
    except OSError as fault:
        return fault.errno == errno.EMFILE


def for_connections() -> int:
    """Return how many files may be open before connections take more than their part."""
    most = _limit()
    return most - min(_KEPT, most // 4)


def open_now() -> int:
    """Return how many files are open."""
    try:
        return _open_now()
    except OSError as fault:  # without /proc the number is unknown
        return _limit() if fault.errno == errno.EMFILE else 0


def _open_now() -> int:
    return len(os.listdir("/proc/self/fd")) - 1  # one is the listing's own


def _limit() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
