"""The C library's memory, which keeps what is free for the process unless it is told otherwise.

glibc alone has these calls; another C library is left as it is.
"""

import ctypes

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
_LARGE = 1 << 20  # bytes


def share_arenas() -> None:
    """Let all threads take memory from one place, where each would keep one of its own."""
    _set(_M_ARENA_MAX, 1)


def give_back_large() -> None:
    """Let each large piece of memory go back to the system as soon as it is free, and grow without a copy of it.

    Otherwise glibc keeps them after the first one, up to 32 MB each, and holes between them. 40 messages of 30 MB at
    once left a server with 93 MB and had taken 194; so they leave 48 and take 117 (the connections alone).
    """
    _set(_M_MMAP_THRESHOLD, _LARGE)


def give_back() -> None:
    """Give back to the system what is free: some milliseconds."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _set(parameter: int, value: int) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(parameter, value)
