"""The counts of some tokens as one row of the ledger: those of consecutive ids, in as few bytes as they need.

A block has the counts of `TOKENS` ids, in four columns: ham messages, spam messages, occurrences in ham, occurrences in
spam. First come the widths of the columns, a byte each: how many bytes each number of the column takes, as the largest
of them needs. Then come the columns, of unsigned numbers, the lowest byte first. A column of zeros has width 0 and is
one byte. Worker processes load this module: no numpy.

What a message is the first to hold has consecutive ids, few occurrences, and one class, so that 32 tokens take 120
bytes; a row for each of them took 460 (csdmc2010, `benchmarks/footprint.py`).
"""

import struct
from functools import lru_cache

from spamnb.base.errors import LedgerDamagedError, LedgerError

TOKENS = 32
COLUMNS = 4
CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}  # of numbers of so many bytes, as `struct` has them


def counts_in(block: bytes, place: int) -> tuple[int, int, int, int]:
    """The counts of the id at that place of a block, from 0. Raises LedgerError for damaged bytes.

    >>> counts_in(bytes([1, 0, 2, 0, *range(32), 0, *bytes(62), 0, 1, 0]), 31)
    (31, 0, 256, 0)
    """
    try:
        ham, spam, in_ham, in_spam = _of_one(block[:COLUMNS], place).unpack(block)
    except (TypeError, KeyError, ValueError, struct.error) as fault:
        raise damaged() from fault
    return ham, spam, in_ham, in_spam


def damaged() -> LedgerError:
    """What is said of counts that cannot be read."""
    return LedgerDamagedError("the counts in the ledger are damaged: see `spamnb verify`, and restore a copy of it")


@lru_cache(maxsize=1024)
def _of_one(widths: bytes, place: int) -> struct.Struct:
    """What reads one id's counts out of a block whose columns are that wide."""
    if len(widths) != COLUMNS:
        raise ValueError("a block of counts is cut short")
    columns = (
        f"{place * width}x{CODES[width]}{(TOKENS - 1 - place) * width}x" if width else CODES[1] for width in widths
    )
    return struct.Struct(f"<{COLUMNS}x{''.join(columns)}")
