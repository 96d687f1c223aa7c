"""Blocks of counts: many at once, and one token's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from spamnb.base.errors import LedgerError
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.sqlite import count_table
from spamnb.ledger.lessons.sqlite.count_block import COLUMNS, TOKENS, counts_in
from spamnb.ledger.lessons.sqlite.count_table import add, all_counts, packed, read, sums, unpacked

MOST = 2**63 - 1
NUMBERS = st.sampled_from([0, 0, 0, 1, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, MOST])


def table(rows: list[tuple[int, int, int]]) -> NDArray[np.int64]:
    """Two blocks with these numbers, each with its place and column."""
    blocks = np.zeros((2 * TOKENS, COLUMNS), dtype=np.int64)
    for place, column, number in rows:
        blocks[place, column] = number
    return blocks.reshape(2, TOKENS, COLUMNS)


@given(st.lists(st.tuples(st.integers(0, 2 * TOKENS - 1), st.integers(0, COLUMNS - 1), NUMBERS)))
def test_all_numbers_come_back(rows: list[tuple[int, int, int]]) -> None:
    """Packed counts can be unpacked unchanged, all blocks at once or one token alone."""
    blocks = table(rows)
    blobs = packed(blocks)
    assert (unpacked(blobs) == blocks).all()
    for place, _, _ in rows:
        block, at = divmod(place, TOKENS)
        assert list(counts_in(blobs[block], at)) == blocks[block, at].tolist()


@given(st.binary(max_size=300), st.integers(0, 300), st.integers(0, 255), st.integers(0, TOKENS - 1))
def test_damaged_bytes_are_an_error(blob: bytes, where: int, what: int, place: int) -> None:
    """Bytes that are not a block are reported as damage, or read as some counts; nothing worse happens."""
    good = bytearray(packed(table([(3, 0, 70_000), (4, 2, 1)]))[0])
    good[min(where, len(good) - 1)] = what
    for damaged in (blob, bytes(good), bytes(good[:where])):
        for look in (lambda one: unpacked([one]), lambda one: counts_in(one, place)):
            try:
                look(damaged)
            except LedgerError as fault:
                assert "damaged" in str(fault)


def test_few_small_counts_take_few_bytes() -> None:
    """A block of tokens that one spam message holds takes two bytes a token, and a few."""
    blocks = table([])[:1]
    blocks[0, :, [1, 3]] = 1
    assert len(packed(blocks)[0]) == 2 * TOKENS + 6


def test_changes_are_added_up(ledger: Ledger) -> None:
    """Counts of any ids are changed and read, and the vocabulary grows by those that were in no message."""
    db, ids = ledger._connection, np.array([1, 31, 32, 5000])
    assert read(db, ids).tolist() == [[0] * 4] * 4
    assert add(db, ids, np.tile([1, 0, 3, 0], (4, 1))) == 4
    assert add(db, ids[1:], np.tile([-1, 1, -3, 300], (3, 1))) == 0
    assert add(db, ids[:1], np.array([[-1, 0, -3, 0]])) == -1
    assert read(db, ids[::-1]).tolist() == [[0, 1, 0, 300]] * 3 + [[0] * 4]
    assert sums(db.rows(count_table.ALL)) == [0, 3, 0, 900, 3]
    assert [(first, len(counts)) for first, counts in all_counts(db.rows(count_table.ALL))] == [(0, 64), (4992, 32)]


def test_less_than_nothing_is_damage(ledger: Ledger) -> None:
    """A count that would fall below 0 was not the sum of what was learned: nothing is written."""
    with pytest.raises(LedgerError, match="damaged"):
        add(ledger._connection, np.array([7]), np.array([[-1, 0, -1, 0]]))
    assert sums(ledger._connection.rows(count_table.ALL)) == [0, 0, 0, 0, 0]
