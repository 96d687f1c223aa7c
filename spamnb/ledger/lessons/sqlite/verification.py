"""Verify a ledger: its pages are readable, its rows refer to existing rows, and its counts are the right sums."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from spamnb.base.errors import LedgerDamagedError, LedgerError
from spamnb.base.label import Label
from spamnb.ledger.connection import Connection
from spamnb.ledger.lessons.sqlite import count_table
from spamnb.ledger.lessons.sqlite.count_block import TOKENS
from spamnb.ledger.lessons.sqlite.counts import ONE, of_class
from spamnb.ledger.lessons.sqlite.imports import imported
from spamnb.ledger.lessons.sqlite.lookup import total
from spamnb.ledger.lessons.sqlite.token_blob import unpacked

_MOST_UNCOUNTED = 100_000  # ids in the report; a forged copy may have any number of them


def verification(db: Connection, totals: Sequence[int]) -> Iterator[list[str]]:
    """Yield the faults of a ledger, step by step, given its seven kept totals; nothing if all is well.

    It makes a step for each learned message, and one before and after them. Read it in one snapshot: other processes
    learn at the same time.
    """
    yield list(_wrong_pages(db))
    try:
        sums = _Sums(_numbers(db, "SELECT block FROM counts ORDER BY block"))
        named = _numbers(db, "SELECT id FROM token")
    except LedgerError as fault:
        yield [str(fault)]
        return
    yield from _add_messages(db, sums)
    yield list(_wrong_sums(db, sums, named, totals))


def _wrong_pages(db: Connection) -> Iterator[str]:
    yield from (row[0] for row in db.rows("PRAGMA integrity_check") if row[0] != "ok")
    for table, row, other, *_ in db.rows("PRAGMA foreign_key_check"):
        yield f"row {row} of {table} refers to nothing in {other}"


def _wrong_sums(db: Connection, sums: "_Sums", named: NDArray[np.int64], totals: Sequence[int]) -> Iterator[str]:
    """Yield where counts, dictionary ids and totals differ from the sums over messages and imports."""
    try:
        for one in imported(db):
            sums.add(one.ids, one.counts, one.messages)
    except LedgerError as fault:
        yield str(fault)
    yield from _wrong_ids(named, total(db, "last_token")[0], sums)
    try:
        yield from _wrong_counts(sums, count_table.all_counts(db.rows(count_table.ALL)))
    except LedgerError as fault:
        yield str(fault)
    if list(totals) != sums.totals():
        yield f"totals: counted {list(totals)}, learned messages give {sums.totals()}"


class _Sums:
    """The expected counts: int64 (n, 4), a row for each id of the blocks, and the ids that have no row."""

    def __init__(self, blocks: NDArray[np.int64]) -> None:
        self._blocks = blocks
        self.rows = np.zeros((len(blocks) * TOKENS, 4), dtype=np.int64)
        self.uncounted: set[int] = set()
        self._total = np.zeros(6, dtype=np.int64)

    def add(self, ids: NDArray[np.int64], counts: NDArray[np.int64], messages: NDArray[np.int64]) -> None:
        """Add, as `Sum.add_counts` does. A message holds a token once; if damage made it two, the counts differ."""
        rows, there = self._rows_of(ids)
        self.rows[rows] += counts[there]
        self._total[:2] += messages
        self._total[2:] += counts.sum(axis=0)

    def _rows_of(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the rows of the ids that have one, and which ids these are, bool (n,)."""
        of = ids // TOKENS
        blocks = np.minimum(np.searchsorted(self._blocks, of), len(self._blocks) - 1)
        there = self._blocks[blocks] == of if len(self._blocks) else np.zeros(len(ids), dtype=np.bool_)
        rows = blocks * TOKENS + ids % TOKENS
        if there.all():
            return rows, there
        if len(self.uncounted) < _MOST_UNCOUNTED:
            self.uncounted.update(ids[~there].tolist())
        return rows[there], there

    def rows_from(self, first: int, number: int) -> NDArray[np.int64]:
        """Return the rows of `number` ids in consecutive blocks, from the first id of a block."""
        start = int(np.searchsorted(self._blocks, first // TOKENS)) * TOKENS
        return self.rows[start : start + number]

    def have_counts(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which ids are in a block, bool (n,)."""
        return np.isin(ids // TOKENS, self._blocks)

    def met(self) -> NDArray[np.int64]:
        """Return the ids that learned messages hold."""
        rows = np.flatnonzero(self.rows[:, :2].any(axis=1))
        return self._blocks[rows // TOKENS] * TOKENS + rows % TOKENS

    def totals(self) -> list[int]:
        """Return the totals in the ledger's order, the vocabulary last."""
        return [*self._total.tolist(), int(self.rows[:, :2].any(axis=1).sum()) + len(self.uncounted)]


def _numbers(db: Connection, select: str) -> NDArray[np.int64]:
    """Return the only column of a statement, int64 (n,). Raises LedgerError if damage has left other values there."""
    try:
        return np.fromiter((row[0] for row in db.rows(select)), np.int64)
    except (TypeError, ValueError, OverflowError) as fault:
        raise LedgerDamagedError(
            f"the ledger holds something other than numbers in ({select}): restore a copy of the ledger"
        ) from fault


def _add_messages(db: Connection, sums: _Sums) -> Iterator[list[str]]:
    for message, label, blob in db.rows("SELECT id, label, tokens FROM lesson WHERE label IS NOT NULL"):
        try:
            ids, occurrences = unpacked(message, blob)
        except LedgerError as fault:
            yield [str(fault)]
            continue
        sums.add(ids, of_class(Label(label), 1, occurrences), ONE[label])
        yield []


def _wrong_ids(named: NDArray[np.int64], last: int, sums: _Sums) -> Iterator[str]:
    """Yield each id that does not have exactly one text and counts, and each that would be given again."""
    ids, texts = np.unique(named, return_counts=True)
    yield from (f"token {token}: it has several texts" for token in ids[texts > 1].tolist())
    without = np.setdiff1d(sums.met(), ids, assume_unique=True)
    yield from (f"token {token}: it has no text" for token in without.tolist())
    yield from (f"token {token}: it has no counts" for token in ids[~sums.have_counts(ids)].tolist())
    if len(ids) and ids[-1] > last:
        yield f"totals: the last token should be {last}, but it is {ids[-1]}"


def _wrong_counts(sums: _Sums, kept: Iterable[tuple[int, NDArray[np.int64]]]) -> Iterator[str]:
    for first, counts in kept:
        expected = sums.rows_from(first, len(counts))
        for place in np.flatnonzero((expected != counts).any(axis=1)).tolist():
            differing = f"counted {counts[place].tolist()}, learned messages give {expected[place].tolist()}"
            yield f"token {first + place}: {differing}"
    yield from (f"token {token}: learned, but not counted" for token in sorted(sums.uncounted))
