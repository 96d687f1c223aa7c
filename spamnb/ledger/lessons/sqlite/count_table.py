"""The table of counts, read and changed for many tokens at once: blocks (`count_block`) as arrays."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from spamnb.ledger.connection import Connection
from spamnb.ledger.lessons.sqlite.count_block import CODES, COLUMNS, TOKENS, damaged

ALL = "SELECT block, numbers FROM counts ORDER BY block"
_SELECT = "SELECT block, numbers FROM counts WHERE block IN (SELECT value FROM json_each(?)) ORDER BY block"
_REPLACE = "ON CONFLICT (block) DO UPDATE SET numbers = excluded.numbers"
_TOGETHER = 256  # blocks, in 256 KB; computing them takes several times as much
_LIMITS = np.array([0, *((1 << 8 * width) - 1 for width in CODES if width < 8)], dtype=np.int64)
_WIDTHS = np.array([0, *CODES], dtype=np.int64)  # with the limits of the narrower ones


def read(db: Connection, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the counts of tokens, int64 (n, 4), by their ids, int64 (n,); zeros for tokens without counts.

    Raises LedgerError if the counts are damaged.
    """
    blocks, rows, places = _places(ids)
    return _read_blocks(db, blocks)[rows, places]


def add(db: Connection, ids: NDArray[np.int64], changes: NDArray[np.int64]) -> int:
    """Change the counts of distinct tokens, int64 (n,), by int64 (n, 4). Returns the growth of the vocabulary.

    Raises LedgerError if the counts are damaged, or if one would become negative.
    """
    blocks, rows, places = _places(ids)
    table = _read_blocks(db, blocks)
    before = table[rows, places]
    after = before + changes
    if after.min(initial=0) < 0:
        raise damaged()
    table[rows, places] = after
    written = zip(blocks.tolist(), packed(table), strict=True)
    db.insert("INSERT INTO counts VALUES", 2, list(chain.from_iterable(written)), _REPLACE)
    return int(after[:, :2].any(axis=1).sum() - before[:, :2].any(axis=1).sum())


def all_counts(rows: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield the counts in rows of `ALL` in parts: an id, and int64 (n, 4), the counts of it and of the ids after it.

    The ids rise; missing ids have no counts. Raises LedgerError for damaged counts.
    """
    waiting = iter(rows)
    while some := list(islice(waiting, _TOGETHER)):
        try:
            numbers = np.array([block for block, _ in some], dtype=np.int64)
        except (TypeError, ValueError, OverflowError) as fault:
            raise damaged() from fault
        table = unpacked([blob for _, blob in some])
        starts = np.flatnonzero(np.diff(numbers, prepend=-2) != 1).tolist()
        for start, end in zip(starts, [*starts[1:], len(some)], strict=True):
            yield int(numbers[start]) * TOKENS, table[start:end].reshape(-1, COLUMNS)


def sums(rows: Iterable[tuple[int, bytes]]) -> list[int]:
    """Return the sums of the counts in rows of `ALL` by column, and how many tokens are in some message."""
    total, vocabulary = np.zeros(COLUMNS, dtype=np.int64), 0
    for _, counts in all_counts(rows):
        total += counts.sum(axis=0)
        vocabulary += int(counts[:, :2].any(axis=1).sum())
    return [*total.tolist(), vocabulary]


def _places(ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the blocks of ids, distinct and sorted; and for each id the index of its block, and its place in it."""
    blocks, rows = np.unique(ids // TOKENS, return_inverse=True)
    return blocks, rows, ids % TOKENS


def _read_blocks(db: Connection, blocks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the counts of blocks, sorted: int64 (n, TOKENS, 4); zeros for a missing block."""
    table = np.zeros((len(blocks), TOKENS, COLUMNS), dtype=np.int64)
    rows = db.all(_SELECT, (str(blocks.tolist()),)) if len(blocks) else []
    there = np.searchsorted(blocks, np.array([block for block, _ in rows], dtype=np.int64))
    table[there] = unpacked([blob for _, blob in rows])
    return table


def packed(table: NDArray[np.int64]) -> list[bytes]:
    """Return the bytes of blocks, int64 (n, TOKENS, 4), none negative.

    >>> [len(block) for block in packed(np.arange(256).reshape(2, 32, 4) * [0, 1, 1, 1000])]
    [197, 197]
    >>> bool((unpacked(packed(np.arange(256).reshape(2, 32, 4))) == np.arange(256).reshape(2, 32, 4)).all())
    True
    """
    widths = _WIDTHS[np.searchsorted(_LIMITS, table.max(axis=1, initial=0))]
    starts, ends = _columns(widths)
    written = np.zeros(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    written[starts[:, :1] - COLUMNS + np.arange(COLUMNS)] = widths
    for column in range(COLUMNS):
        for width in CODES:
            wide = widths[:, column] == width
            numbers = np.ascontiguousarray(table[wide, :, column].astype(f"<u{width}"))
            written[_bytes(starts[wide, column], width)] = numbers.view(np.uint8).reshape(-1, TOKENS * width)
    whole = written.tobytes()
    begins = (starts[:, 0] - COLUMNS).tolist()
    return [whole[begin:end] for begin, end in zip(begins, ends.tolist(), strict=True)]


def unpacked(blobs: Sequence[bytes]) -> NDArray[np.int64]:
    """Return the counts of blocks from their bytes: int64 (n, TOKENS, 4). Raises LedgerError for damaged ones."""
    table = np.zeros((len(blobs), TOKENS, COLUMNS), dtype=np.int64)
    try:
        whole = np.frombuffer(b"".join(blobs), dtype=np.uint8)
        ends = np.cumsum(np.fromiter(map(len, blobs), np.int64, len(blobs)))
        begins = ends - np.fromiter(map(len, blobs), np.int64, len(blobs))
        widths = whole[begins[:, np.newaxis] + np.arange(COLUMNS)].astype(np.int64)
    except (TypeError, IndexError) as fault:
        raise damaged() from fault
    starts, should_end = _columns(widths)
    if not (np.isin(widths, _WIDTHS).all() and np.array_equal(ends, should_end)):
        raise damaged()
    for column in range(COLUMNS):
        for width in CODES:
            wide = widths[:, column] == width
            numbers = whole[_bytes(starts[wide, column], width)].view(f"<u{width}")
            table[wide, :, column] = numbers.astype(np.int64)
    if table.min(initial=0) < 0:  # numbers of eight bytes
        raise damaged()
    return table


def _columns(widths: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the start of each column, int64 (n, 4), and the end of each block, int64 (n,), in concatenated blocks.

    widths: int64 (n, 4).
    """
    lengths = np.where(widths == 0, 1, widths * TOKENS)
    ends = np.cumsum(lengths.sum(axis=1) + COLUMNS)
    after = np.cumsum(lengths, axis=1)
    return ends[:, np.newaxis] - after[:, -1:] + after - lengths, ends


def _bytes(starts: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Return the places of the bytes of columns with these starts: int64 (n, TOKENS * width)."""
    return starts[:, np.newaxis] + np.arange(TOKENS * width)
