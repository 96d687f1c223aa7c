"""The proof of a ledger: its pages can be read, its rows refer to rows, and its counts are the sums they should be."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from spamnb.errors import LedgerError
from spamnb.ledger.blob import unpacked
from spamnb.ledger.connection import Connection
from spamnb.ledger.imports import imported

_Sums = dict[int, list[int]]
"""By token: ham messages, spam messages, ham occurrences, spam occurrences."""


def faults(db: Connection, totals: Sequence[int]) -> Iterator[str]:
    """What is wrong with a ledger, whose seven totals are kept as that; nothing if all is well.

    To be read in one snapshot: other processes learn meanwhile.
    """
    yield from (row[0] for row in db.rows("PRAGMA quick_check") if row[0] != "ok")
    for table, row, other, *_ in db.rows("PRAGMA foreign_key_check"):
        yield f"row {row} of {table} refers to nothing in {other}"
    sums: _Sums = {}
    total = np.zeros(7, dtype=np.int64)
    yield from _add_messages(db, sums, total)
    try:
        _add_imports(db, sums, total)
    except LedgerError as fault:
        yield str(fault)
    total[6] = len(sums)
    yield from _wrong_ids(db)
    yield from _wrong_counts(db, sums)
    if list(totals) != total.tolist():
        yield f"totals: counted {list(totals)}, learned messages say {total.tolist()}"


def _add_messages(db: Connection, sums: _Sums, total: NDArray[np.int64]) -> Iterator[str]:
    for message, label, blob in db.rows("SELECT id, label, tokens FROM message WHERE label IS NOT NULL"):
        try:
            ids, occurrences = unpacked(message, blob)
        except LedgerError as fault:
            yield str(fault)
            continue
        total[label] += 1
        total[2 + label] += len(ids)
        total[4 + label] += int(occurrences.sum())
        for token, number in zip(ids.tolist(), occurrences.tolist(), strict=True):
            row = sums.setdefault(token, [0, 0, 0, 0])
            row[label] += 1
            row[2 + label] += number


def _add_imports(db: Connection, sums: _Sums, total: NDArray[np.int64]) -> None:
    for one in imported(db):
        total[:2] += one.messages
        total[2:6] += one.counts.sum(axis=0)
        for token, counts in zip(one.ids.tolist(), one.counts.tolist(), strict=True):
            sums[token] = [a + b for a, b in zip(sums.get(token, [0, 0, 0, 0]), counts, strict=True)]


def _wrong_ids(db: Connection) -> Iterator[str]:
    """Each id should have one text and one row of counts."""
    named = np.array([row[0] for row in db.rows("SELECT id FROM token")], dtype=np.int64)
    counted = np.array([row[0] for row in db.rows("SELECT token FROM count")], dtype=np.int64)
    ids, texts = np.unique(named, return_counts=True)
    yield from (f"token {token}: it has several texts" for token in ids[texts > 1].tolist())
    yield from (f"token {token}: it has no text" for token in np.setdiff1d(counted, ids).tolist())
    yield from (f"token {token}: it has no counts" for token in np.setdiff1d(ids, counted).tolist())


def _wrong_counts(db: Connection, sums: _Sums) -> Iterator[str]:
    left = dict(sums)
    for token, *kept in db.rows(
        "SELECT token, ham_messages, spam_messages, ham_occurrences, spam_occurrences FROM count"
    ):
        expected = left.pop(token, [0, 0, 0, 0])
        if kept != expected:
            yield f"token {token}: counted {kept}, learned messages say {expected}"
    yield from (f"token {token}: learned, but not counted" for token in left)
