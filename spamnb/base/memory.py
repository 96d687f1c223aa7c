"""The C library's memory, which keeps what is free for the process unless it is told otherwise.

glibc alone has these calls; another C library is left as it is.
"""

import ctypes

_M_ARENA_MAX = -8


def share_arenas() -> None:
    """Let all threads take memory from one place, where each would keep one of its own."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)


def give_back() -> None:
    """Give back to the system what is free: some milliseconds."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
