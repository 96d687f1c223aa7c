"""The tokens of one learned message as bytes: what they were, exactly, in as few bytes as zlib makes of them."""

import zlib

import numpy as np
from numpy.typing import NDArray

OCCURRENCES_MAX = 0xFFFF  # what is kept of a token's occurrences in one message, and what is counted


def pack(ids: NDArray[np.int64], occurrences: NDArray[np.int64]) -> bytes:
    """Bytes for token ids (int64 (n,), distinct) and their occurrences (int64 (n,), 1 to 65,535).

    The ids are sorted and written as differences, and equal bytes of all numbers stand together: frequent
    tokens have low ids, so most high bytes are zero and cost next to nothing.
    """
    order = np.argsort(ids)
    steps = np.diff(ids[order], prepend=0).astype("<u4")
    counts = np.minimum(occurrences[order], OCCURRENCES_MAX).astype("<u2")
    planes = steps.view(np.uint8).reshape(-1, 4).T.tobytes() + counts.view(np.uint8).reshape(-1, 2).T.tobytes()
    return zlib.compress(planes)


def unpack(blob: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The ids, sorted, and the occurrences. Raises ValueError or zlib.error for damaged bytes."""
    planes = np.frombuffer(zlib.decompress(blob), np.uint8)
    n = len(planes) // 6
    if len(planes) != 6 * n:
        raise ValueError("the tokens of a message are damaged")
    steps = planes[: 4 * n].reshape(4, n).T.copy().view("<u4").reshape(n)
    counts = planes[4 * n :].reshape(2, n).T.copy().view("<u2").reshape(n)
    return np.cumsum(steps, dtype=np.int64), counts.astype(np.int64)
