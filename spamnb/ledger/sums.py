"""Changes to the counts of tokens, added up in memory and written once."""

import numpy as np
from numpy.typing import NDArray

from spamnb.ledger.connection import Connection
from spamnb.ledger.rows import Rows


class Sum:
    """What a batch of lessons adds to the counts, or takes from them.

    `new` are tokens that the dictionary does not hold yet, in the order of their ids; each must get a count.
    """

    def __init__(self, connection: Connection) -> None:
        self._db = connection
        self._ids: list[NDArray[np.int64]] = []
        self._changes: list[NDArray[np.int64]] = []
        self._total = np.zeros(6, dtype=np.int64)
        self.new: list[str] = []

    def add(self, ids: NDArray[np.int64], occurrences: NDArray[np.int64], label: int, sign: int) -> None:
        """Count a message's tokens (int64 (n,) ids and occurrences) for a class, or take them back (sign -1)."""
        changes = np.zeros((len(ids), 4), dtype=np.int64)
        changes[:, label] = sign
        changes[:, 2 + label] = sign * occurrences
        messages = np.zeros(2, dtype=np.int64)
        messages[label] = sign
        self.add_counts(ids, changes, messages)

    def add_rows(self, ids: NDArray[np.int64], rows: Rows, labels: NDArray[np.int64]) -> None:
        """Count messages, each for the class of its label (int64 (n_messages,)).

        ids: int64 (n_tokens,), those of the vocabulary of `rows`.
        """
        n = len(ids)
        cell = rows.columns + n * np.repeat(labels, rows.lengths)
        messages = np.bincount(cell, minlength=2 * n).reshape(2, n)
        occurrences = np.bincount(cell, rows.occurrences, minlength=2 * n).reshape(2, n)  # exact up to 2**53
        changes = np.concatenate([messages, occurrences.astype(np.int64)]).T
        self.add_counts(ids, changes, np.bincount(labels, minlength=2))

    def add_counts(self, ids: NDArray[np.int64], changes: NDArray[np.int64], messages: NDArray[np.int64]) -> None:
        """Add sums of many messages: int64 (n,) ids, (n, 4) changes of a token's counts, (2,) messages a class."""
        self._ids.append(ids)
        self._changes.append(changes)
        self._total[:2] += messages
        self._total[2:] += changes.sum(axis=0)

    def write(self) -> None:
        """Write the counts of the tokens that changed, and the totals."""
        if not self._ids:
            return
        ids, changes = self._added_up()
        old = len(ids) - len(self.new)  # the new ones have the highest ids
        new = ids[old:].tolist()
        self._db.executemany("INSERT INTO token VALUES (?, ?)", zip(self.new, new, strict=True))
        self._db.executemany(
            "INSERT INTO count VALUES (?, ?, ?, ?, ?)", zip(new, *changes[old:].T.tolist(), strict=True)
        )
        vocabulary = len(self.new) + self._update(ids[:old], changes[:old])
        self._db.execute(
            "UPDATE total SET ham_messages = ham_messages + ?, spam_messages = spam_messages + ?,"
            " ham_token_messages = ham_token_messages + ?, spam_token_messages = spam_token_messages + ?,"
            " ham_occurrences = ham_occurrences + ?, spam_occurrences = spam_occurrences + ?,"
            " vocabulary = vocabulary + ?",
            (*self._total.tolist(), vocabulary),
        )

    def _added_up(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The ids of all tokens that changed, int64 (n,), sorted, and by how much, int64 (n, 4)."""
        ids, changes = np.concatenate(self._ids), np.concatenate(self._changes)
        order = np.argsort(ids)
        ids = ids[order]
        first = np.flatnonzero(np.diff(ids, prepend=-1))
        return ids[first], np.add.reduceat(changes[order], first)

    def _update(self, ids: NDArray[np.int64], changes: NDArray[np.int64]) -> int:
        """Change the counts of tokens in the dictionary. Returns by how many the vocabulary grew."""
        empty = (
            "SELECT count(*) FROM count"
            " WHERE token IN (SELECT value FROM json_each(?)) AND ham_messages + spam_messages = 0"
        )
        listed = str(ids.tolist())
        empty_before = self._db.row(empty, (listed,))[0]
        self._db.executemany(
            "UPDATE count SET ham_messages = ham_messages + ?, spam_messages = spam_messages + ?,"
            " ham_occurrences = ham_occurrences + ?, spam_occurrences = spam_occurrences + ? WHERE token = ?",
            zip(*changes.T.tolist(), ids.tolist(), strict=True),
        )
        return int(empty_before - self._db.row(empty, (listed,))[0])
