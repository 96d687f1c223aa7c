"""The counts behind what is known (`known`), in SQLite: writing changes, recomputing them."""

from array import array
from collections.abc import Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from spamnb.base.label import label_or_none
from spamnb.ledger.connection import Connection
from spamnb.ledger.lessons.known import Changes, of_lesson, of_sent

_ADDED = (
    "ON CONFLICT (value) DO UPDATE SET"
    " ham = ham + excluded.ham, spam = spam + excluded.spam, sent = sent + excluded.sent"
)
_DROP = "DELETE FROM known WHERE value = ? AND ham = 0 AND spam = 0 AND sent = 0"


def write_changes(db: Connection, changes: Changes) -> None:
    """Change the counts; a hash that no message keeps any more is forgotten."""
    by = sorted(changes.by.items())  # neighbours share a page: each is read and written once
    rows = [(value, *change) for value, change in by if any(change)]
    db.insert("INSERT INTO known VALUES", 4, list(chain.from_iterable(rows)), _ADDED)
    db.executemany(_DROP, ((value,) for value, change in by if min(change) < 0))


def faults_of_known(db: Connection) -> Iterator[str]:
    """Where the counts differ from the sum over decisions and sent messages."""
    lessons = db.rows("SELECT relations, label, weak FROM lesson WHERE label IS NOT NULL AND NOT weak")
    kept = chain(
        (of_lesson(packed, label_or_none(label), bool(weak)) for packed, label, weak in lessons),
        (of_sent(row[0]) for row in db.rows("SELECT relations FROM sent")),
    )
    hashes, columns = array("q"), array("b")  # lists of all would take ten times the memory
    for one in kept:
        hashes.extend(one.values)
        columns.extend([one.column] * len(one.values))
    values, rows = np.unique(np.array(hashes, dtype=np.int64), return_inverse=True)
    sums = np.zeros((len(values), 3), dtype=np.int64)
    np.add.at(sums, (rows, np.array(columns, dtype=np.int64)), 1)
    kept_rows = db.rows("SELECT value, ham, spam, sent FROM known ORDER BY value")
    counted: NDArray[np.int64] = np.fromiter(kept_rows, np.dtype((np.int64, 4)))
    yield from _differences(np.column_stack([values, sums]), counted)


def _differences(expected: NDArray[np.int64], counted: NDArray[np.int64]) -> Iterator[str]:
    """Both int64 (n, 4): a hash and its three counts, sorted."""
    if np.array_equal(expected, counted):
        return
    have, should = ({row[0]: row[1:] for row in rows.tolist()} for rows in (counted, expected))
    wrong = [value for value in have.keys() | should.keys() if have.get(value) != should.get(value)]
    yield f"whom one knows: {len(wrong)} counts differ from what decisions and sent messages give"
