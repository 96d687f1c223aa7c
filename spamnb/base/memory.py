"""Return free memory to the system. By default the C library keeps it for the process.

Only glibc has these calls; with another C library nothing changes.
"""

import ctypes

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
_LARGE = 1 << 20  # bytes


def share_arenas() -> None:
    """Let all threads share one pool of memory, instead of one pool for each thread."""
    _set(_M_ARENA_MAX, 1)


def give_back_large() -> None:
    """Return each large piece of memory to the system as soon as it is free, and enlarge it without a copy.

    Otherwise glibc keeps such pieces after the first one, up to 32 MB each, with the holes between them. 40 messages of
    30 MB at once: the server kept 93 MB, and 194 at its peak; with this, 48 and 117 (the connections alone).
    """
    _set(_M_MMAP_THRESHOLD, _LARGE)


def give_back() -> None:
    """Return all free memory to the system. This takes some milliseconds."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _set(parameter: int, value: int) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(parameter, value)
