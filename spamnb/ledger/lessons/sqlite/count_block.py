"""The counts of some tokens with consecutive ids, as one row of the ledger in as few bytes as they need.

A block has the counts of `TOKENS` ids, in four columns: ham messages, spam messages, occurrences in ham, occurrences in
spam. First come the widths of the columns, one byte each: the bytes that the largest number of the column needs. Then
come the columns, of unsigned numbers, the lowest byte first. A column of zeros has width 0 and is one byte. Worker
processes load this module: no numpy.

Tokens that a message is the first to hold have consecutive ids, few occurrences, and one class. So 32 tokens take 120
bytes; one row for each took 460 (csdmc2010, `benchmarks/footprint.py`).
"""

import struct
from functools import lru_cache

from spamnb.base.errors import LedgerDamagedError, LedgerError

TOKENS = 32
COLUMNS = 4
CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}  # by the number of bytes, as in `struct`


def counts_in(block: bytes, place: int) -> tuple[int, int, int, int]:
    """Return the counts of the id at that place of a block, from 0. Raises LedgerError for damaged bytes.

    >>> counts_in(bytes([1, 0, 2, 0, *range(32), 0, *bytes(62), 0, 1, 0]), 31)
    (31, 0, 256, 0)
    """
    try:
        ham, spam, in_ham, in_spam = _of_one(block[:COLUMNS], place).unpack(block)
    except (TypeError, KeyError, ValueError, struct.error) as fault:
        raise damaged() from fault
    return ham, spam, in_ham, in_spam


def damaged() -> LedgerError:
    """Return the error for unreadable counts."""
    return LedgerDamagedError("the counts in the ledger are damaged: see `spamnb verify`, and restore a copy of it")


@lru_cache(maxsize=1024)
def _of_one(widths: bytes, place: int) -> struct.Struct:
    """Return the struct that reads one id's counts out of a block with these column widths."""
    if len(widths) != COLUMNS:
        raise ValueError("a block of counts is cut short")
    columns = (
        f"{place * width}x{CODES[width]}{(TOKENS - 1 - place) * width}x" if width else CODES[1] for width in widths
    )
    return struct.Struct(f"<{COLUMNS}x{''.join(columns)}")
