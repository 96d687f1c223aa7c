"""The tokens of one learned message as bytes: what they were, exactly, in as few bytes as zlib makes of them."""

import zlib

import numpy as np
from numpy.typing import NDArray

from spamnb.errors import LedgerError

_ID_BITS = 32
_LEVEL = 3  # of zlib: 18 bytes a message more than with its default of 6, in two thirds of the time
OCCURRENCES_MAX = 0xFFFF  # what is kept of a token's occurrences in one message, and what is counted


def pack(ids: NDArray[np.int64], occurrences: NDArray[np.int64]) -> bytes:
    """Bytes for token ids (int64 (n,), distinct) and their occurrences (int64 (n,), 1 to 65,535).

    The ids are sorted and written as differences, and equal bytes of all numbers stand together: frequent
    tokens have low ids, so most high bytes are zero and cost next to nothing.
    """
    return pack_all(ids, occurrences, np.array([len(ids)]))[0]


def pack_all(ids: NDArray[np.int64], occurrences: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[bytes]:
    """Bytes for each of several messages, whose tokens follow one another: int64 (n_messages,), tokens of each."""
    message = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    order = np.argsort(message << _ID_BITS | ids)
    ids = ids[order]
    steps = np.diff(ids, prepend=0)
    ends = np.cumsum(lengths)
    starts = (ends - lengths)[lengths > 0]
    steps[starts] = ids[starts]
    planes = np.empty((6, len(ids)), np.uint8)
    planes[:4] = steps.astype("<u4").view(np.uint8).reshape(-1, 4).T
    planes[4:] = np.minimum(occurrences[order], OCCURRENCES_MAX).astype("<u2").view(np.uint8).reshape(-1, 2).T
    bounds = zip((ends - lengths).tolist(), ends.tolist(), strict=True)
    return [zlib.compress(planes[:, start:end].tobytes(), _LEVEL) for start, end in bounds]


def unpack(blob: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The ids, sorted, and the occurrences. Raises ValueError or zlib.error for damaged bytes."""
    planes = np.frombuffer(zlib.decompress(blob), np.uint8)
    n = len(planes) // 6
    if len(planes) != 6 * n:
        raise ValueError("the tokens of a message are damaged")
    steps = planes[: 4 * n].reshape(4, n).T.copy().view("<u4").reshape(n)
    counts = planes[4 * n :].reshape(2, n).T.copy().view("<u2").reshape(n)
    return np.cumsum(steps, dtype=np.int64), counts.astype(np.int64)


def unpacked(message: int, blob: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """As `unpack`, for a message of the ledger. Raises LedgerError for damaged bytes."""
    try:
        return unpack(blob)
    except (ValueError, zlib.error) as fault:
        raise LedgerError(
            f"the tokens of message {message} in the ledger are damaged: see `spamnb verify`, and restore a copy of it"
        ) from fault
