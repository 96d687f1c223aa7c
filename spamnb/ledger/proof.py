"""The proof of a ledger: its pages can be read, its rows refer to rows, and its counts are the sums they should be."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from spamnb.errors import LedgerError
from spamnb.ledger.blob import unpacked
from spamnb.ledger.connection import Connection
from spamnb.ledger.faults import plain_faults
from spamnb.ledger.imports import Import, imported

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
            sums.add_import(one)
    except LedgerError as fault:
        yield str(fault)
    yield from _wrong_ids(named, sums.ids)
    yield from _wrong_counts(sums, counted[:, 1:])
    if list(totals) != sums.totals():
        yield f"totals: counted {list(totals)}, learned messages say {sums.totals()}"


class _Sums:
    """What the counts should be: int64 (n, 4), a row for each of the ids, and what is beside them."""

    def __init__(self, ids: NDArray[np.int64]) -> None:
        self.ids = ids
        self.rows = np.zeros((len(ids), 4), dtype=np.int64)
        self.beside: set[int] = set()  # tokens that have no counts
        self._total = np.zeros(6, dtype=np.int64)

    def add_message(self, ids: NDArray[np.int64], occurrences: NDArray[np.int64], label: int) -> None:
        """As `Sum.add`. A message holds a token once: where damage says otherwise, that differs from the counts."""
        places, there = self._places(ids)
        self.rows[places, label] += 1
        self.rows[places, 2 + label] += occurrences[there]
        self._total[label] += 1
        self._total[2 + label] += len(ids)
        self._total[4 + label] += int(occurrences.sum())

    def add_import(self, one: Import) -> None:
        """As `Sum.add_counts`."""
        places, there = self._places(one.ids)
        self.rows[places] += one.counts[there]
        self._total[:2] += one.messages
        self._total[2:] += one.counts.sum(axis=0)

    def _places(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The rows of those ids that have one, and which these are, bool (n,)."""
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        there = self.ids[places] == ids if len(self.ids) else np.zeros(len(ids), dtype=np.bool_)
        if there.all():
            return places, there
        self.beside.update(ids[~there].tolist())
        return places[there], there

    def totals(self) -> list[int]:
        """As the ledger keeps them, the vocabulary last."""
        return [*self._total.tolist(), int(self.rows[:, :2].any(axis=1).sum()) + len(self.beside)]


def _numbers(db: Connection, select: str, columns: int) -> NDArray[np.int64]:
    """The rows of a statement, int64 (n, columns). Raises LedgerError where damage has made something else of them."""
    try:
        with plain_faults(db.path):  # not a list of all rows: of 2.4 million tokens that took 83 MB more
            return np.fromiter(db.cursor(select), np.dtype((np.int64, columns)))
    except (TypeError, ValueError, OverflowError) as fault:
        raise LedgerError(f"what should be numbers is not ({select}): restore a copy of the ledger") from fault


def _add_messages(db: Connection, sums: _Sums) -> Iterator[str]:
    for message, label, blob in db.rows("SELECT id, label, tokens FROM message WHERE label IS NOT NULL"):
        try:
            ids, occurrences = unpacked(message, blob)
        except LedgerError as fault:
            yield str(fault)
            continue
        sums.add_message(ids, occurrences, label)


def _wrong_ids(named: NDArray[np.int64], counted: NDArray[np.int64]) -> Iterator[str]:
    """Each id should have one text and one row of counts."""
    ids, texts = np.unique(named, return_counts=True)
    yield from (f"token {token}: it has several texts" for token in ids[texts > 1].tolist())
    yield from (f"token {token}: it has no text" for token in np.setdiff1d(counted, ids, assume_unique=True).tolist())
    yield from (f"token {token}: it has no counts" for token in np.setdiff1d(ids, counted, assume_unique=True).tolist())


def _wrong_counts(sums: _Sums, kept: NDArray[np.int64]) -> Iterator[str]:
    for place in np.flatnonzero((sums.rows != kept).any(axis=1)).tolist():
        expected, counted = sums.rows[place].tolist(), kept[place].tolist()
        yield f"token {sums.ids[place]}: counted {counted}, learned messages say {expected}"
    yield from (f"token {token}: learned, but not counted" for token in sorted(sums.beside))
