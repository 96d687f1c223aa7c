"""Verifying a ledger: its pages can be read, its rows refer to rows, and its counts are the sums they should be."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from spamnb.errors import LedgerError
from spamnb.label import Label
from spamnb.ledger.connection import Connection
from spamnb.ledger.lessons.counts import ONE, of_class
from spamnb.ledger.lessons.imports import imported
from spamnb.ledger.lessons.known_counts import faults_of_known
from spamnb.ledger.lessons.token_blob import unpacked

_COUNTED = "SELECT token, ham_messages, spam_messages, ham_occurrences, spam_occurrences FROM count ORDER BY token"


def faults(db: Connection, totals: Sequence[int]) -> Iterator[str]:
    """What is wrong with a ledger, whose seven totals are kept as that; nothing if all is well.

    To be read in one snapshot: other processes learn meanwhile.
    """
    yield from (row[0] for row in db.rows("PRAGMA quick_check") if row[0] != "ok")
    for table, row, other, *_ in db.rows("PRAGMA foreign_key_check"):
        yield f"row {row} of {table} refers to nothing in {other}"
    try:
        counted = _numbers(db, _COUNTED, 5)
        named = _numbers(db, "SELECT id FROM token", 1)[:, 0]
    except LedgerError as fault:
        yield str(fault)
        return
    sums = _Sums(counted[:, 0])
    yield from _add_messages(db, sums)
    try:
        for one in imported(db):
            sums.add(one.ids, one.counts, one.messages)
    except LedgerError as fault:
        yield str(fault)
    yield from faults_of_known(db)
    yield from _wrong_ids(named, sums.ids)
    yield from _wrong_counts(sums, counted[:, 1:])
    if list(totals) != sums.totals():
        yield f"totals: counted {list(totals)}, learned messages give {sums.totals()}"


class _Sums:
    """What the counts should be: int64 (n, 4), a row for each of the ids, and the ids that have none."""

    def __init__(self, ids: NDArray[np.int64]) -> None:
        self.ids = ids
        self.rows = np.zeros((len(ids), 4), dtype=np.int64)
        self.uncounted: set[int] = set()
        self._total = np.zeros(6, dtype=np.int64)

    def add(self, ids: NDArray[np.int64], counts: NDArray[np.int64], messages: NDArray[np.int64]) -> None:
        """As `Sum.add_counts`. A message holds a token once: twice, by damage, it differs from the counts."""
        rows, there = self._rows_of(ids)
        self.rows[rows] += counts[there]
        self._total[:2] += messages
        self._total[2:] += counts.sum(axis=0)

    def _rows_of(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The rows of those ids that have one, and which these are, bool (n,)."""
        rows = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        there = self.ids[rows] == ids if len(self.ids) else np.zeros(len(ids), dtype=np.bool_)
        if there.all():
            return rows, there
        self.uncounted.update(ids[~there].tolist())
        return rows[there], there

    def totals(self) -> list[int]:
        """As the ledger keeps them, the vocabulary last."""
        return [*self._total.tolist(), int(self.rows[:, :2].any(axis=1).sum()) + len(self.uncounted)]


def _numbers(db: Connection, select: str, columns: int) -> NDArray[np.int64]:
    """The rows of a statement, int64 (n, columns). Raises LedgerError where damage has made something else of them."""
    try:
        # a list of all rows takes more memory; (np.int64, 1) is a plain number to numpy 1.24
        return np.fromiter(db.rows(select), np.dtype((np.int64, (columns,))))
    except (TypeError, ValueError, OverflowError) as fault:
        raise LedgerError(
            f"the ledger holds something other than numbers in ({select}): restore a copy of the ledger"
        ) from fault


def _add_messages(db: Connection, sums: _Sums) -> Iterator[str]:
    for message, label, blob in db.rows("SELECT id, label, tokens FROM lesson WHERE label IS NOT NULL"):
        try:
            ids, occurrences = unpacked(message, blob)
        except LedgerError as fault:
            yield str(fault)
            continue
        sums.add(ids, of_class(Label(label), 1, occurrences), ONE[label])


def _wrong_ids(named: NDArray[np.int64], counted: NDArray[np.int64]) -> Iterator[str]:
    """Each id should have one text and one row of counts."""
    ids, texts = np.unique(named, return_counts=True)
    yield from (f"token {token}: it has several texts" for token in ids[texts > 1].tolist())
    yield from (f"token {token}: it has no text" for token in np.setdiff1d(counted, ids, assume_unique=True).tolist())
    yield from (f"token {token}: it has no counts" for token in np.setdiff1d(ids, counted, assume_unique=True).tolist())


def _wrong_counts(sums: _Sums, kept: NDArray[np.int64]) -> Iterator[str]:
    for place in np.flatnonzero((sums.rows != kept).any(axis=1)).tolist():
        expected, counted = sums.rows[place].tolist(), kept[place].tolist()
        yield f"token {sums.ids[place]}: counted {counted}, learned messages give {expected}"
    yield from (f"token {token}: learned, but not counted" for token in sorted(sums.uncounted))
