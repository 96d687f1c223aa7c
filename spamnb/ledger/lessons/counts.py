"""The counts of tokens and their dictionary: looking them up, and adding up changes that are written once."""

from collections.abc import Sequence
from itertools import chain, count
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from spamnb.errors import LedgerError
from spamnb.label import Label
from spamnb.ledger.connection import Connection
from spamnb.ledger.lessons import count_table
from spamnb.ledger.lessons.batch import TokenMatrix
from spamnb.ledger.lessons.lookup import look_up, total
from spamnb.ledger.lessons.token_blob import OCCURRENCES_MAX

_MOST_REMEMBERED = 500_000  # tokens, in some 60 MB
ONE = np.eye(2, dtype=np.int64)  # by label: one message of that class


class Dictionary:
    """The ids of tokens. Those that were looked up are remembered as long as no other connection writes.

    Others may learn and prune meanwhile, so that a token gets an id, or loses it; none gets another. To be dropped
    where a transaction fails in which ids were given.
    """

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._met: dict[str, int] = {}
        self._version = 0

    def ids(self, tokens: Sequence[str]) -> tuple[NDArray[np.int64], list[tuple[str, int]]]:
        """The id of each token, int64 (n,); and of the tokens that had none, text and id, sorted by text.

        To be asked in the transaction that writes these. They get the next ids in the order in which they are met:
        tokens that a message is the first to hold follow one another, which makes it small (`token_blob`).
        """
        met, (version,) = self._met, self._db.row("PRAGMA data_version")
        if version != self._version or len(met) > _MOST_REMEMBERED:
            met.clear()
            self._version = version
        distinct = dict.fromkeys(tokens)
        missing = sorted(distinct.keys() - met.keys())  # neighbours in the index come together: a page is read once
        met.update(look_up(self._db, "SELECT text, id FROM token WHERE text", missing))
        (last,) = total(self._db, "last_token")
        new = dict(zip([token for token in distinct if token not in met], count(last + 1), strict=False))
        met.update(new)
        ids = np.fromiter(map(met.__getitem__, tokens), np.int64, len(tokens))
        return ids, [(token, new[token]) for token in missing if token in new]


def counts_of(db: Connection, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """The counts of tokens of learned messages, int64 (n, 4), by their ids, int64 (n,).

    Raises LedgerError where one of them is in no message.
    """
    counts = count_table.read(db, ids)
    if not counts[:, :2].any(axis=1).all():
        raise LedgerError("a learned message holds a token that has no counts: see `spamnb verify`")
    return counts


def of_class(label: Label, messages: NDArray[np.int64] | int, occurrences: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts of tokens of one class, int64 (n, 4): messages and occurrences, int64 (n,), in its two columns."""
    table = np.zeros((len(occurrences), 4), dtype=np.int64)
    table[:, label], table[:, 2 + label] = messages, occurrences
    return table


class Rows(NamedTuple):
    """Token matrices as numpy takes them, one behind the other; the fields are those of `TokenMatrix`.

    vocabulary: that of each matrix, so that a token may stand in it several times, but once for each message.
    lengths: int64 (n_messages,). columns, occurrences: int64 (n_entries,).
    """

    vocabulary: list[str]
    lengths: NDArray[np.int64]
    columns: NDArray[np.int64]
    occurrences: NDArray[np.int64]

    @classmethod
    def joined(cls, matrices: Sequence[TokenMatrix]) -> Self:
        """The rows of all matrices, in order."""
        sizes = np.array([len(matrix.vocabulary) for matrix in matrices])
        columns = [np.array(matrix.columns, dtype=np.int64) for matrix in matrices]
        return cls(
            list(chain.from_iterable(matrix.vocabulary for matrix in matrices)),
            np.concatenate([np.array(matrix.lengths, dtype=np.int64) for matrix in matrices]),
            np.concatenate(columns) + np.repeat(np.cumsum(sizes) - sizes, list(map(len, columns))),
            np.concatenate([np.minimum(matrix.occurrences, OCCURRENCES_MAX, dtype=np.int64) for matrix in matrices]),
        )

    def with_more(self, more: Sequence[Sequence[str]]) -> Self:
        """The same messages, each with more tokens, once each, which it does not have yet."""
        added = list(chain.from_iterable(more))
        if not added:
            return self
        numbers = np.fromiter(map(len, more), np.int64, len(more))
        ends = np.repeat(np.cumsum(self.lengths), numbers)
        columns = np.insert(self.columns, ends, len(self.vocabulary) + np.arange(len(added)))
        vocabulary, occurrences = [*self.vocabulary, *added], np.insert(self.occurrences, ends, 1)
        return type(self)(vocabulary, self.lengths + numbers, columns, occurrences)

    def take(self, rows: Sequence[int]) -> Self:
        """Some of the messages, in their order, with the tokens that they hold."""
        if len(rows) == len(self.lengths):
            return self
        taken = np.zeros(len(self.lengths), dtype=bool)
        taken[rows] = True
        entries = np.repeat(taken, self.lengths)
        held, columns = np.unique(self.columns[entries], return_inverse=True)
        vocabulary = [self.vocabulary[column] for column in held.tolist()]
        return type(self)(vocabulary, self.lengths[taken], columns, self.occurrences[entries])


class Sum:
    """What a batch of messages adds to the counts, or takes from them.

    `new` are tokens that the dictionary does not hold yet, with their ids, sorted by text; each must get a count.
    """

    def __init__(self, connection: Connection) -> None:
        self._db = connection
        self._ids: list[NDArray[np.int64]] = []
        self._changes: list[NDArray[np.int64]] = []
        self._total = np.zeros(6, dtype=np.int64)
        self.new: list[tuple[str, int]] = []

    def add(self, ids: NDArray[np.int64], occurrences: NDArray[np.int64], label: Label, sign: int) -> None:
        """Count a message's tokens (int64 (n,) ids and occurrences) for a class, or take them back (sign -1)."""
        self.add_counts(ids, of_class(label, sign, sign * occurrences), sign * ONE[label])

    def add_rows(self, ids: NDArray[np.int64], rows: Rows, label: Label) -> None:
        """Count messages of one class. ids: int64 (n,), those of the vocabulary of `rows`."""
        messages = np.bincount(rows.columns, minlength=len(ids))
        occurrences = np.bincount(rows.columns, rows.occurrences, len(ids)).astype(np.int64)  # exact up to 2**53
        self.add_counts(ids, of_class(label, messages, occurrences), len(rows.lengths) * ONE[label])

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
        self._db.executemany("INSERT INTO token VALUES (?, ?)", self.new)
        vocabulary = count_table.add(self._db, ids, changes)
        self._db.execute(
            "UPDATE total SET ham_messages = ham_messages + ?, spam_messages = spam_messages + ?,"
            " ham_token_messages = ham_token_messages + ?, spam_token_messages = spam_token_messages + ?,"
            " ham_occurrences = ham_occurrences + ?, spam_occurrences = spam_occurrences + ?,"
            " vocabulary = vocabulary + ?, last_token = last_token + ?",
            (*self._total.tolist(), vocabulary, len(self.new)),
        )

    def _added_up(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The ids of all tokens that changed, int64 (n,), sorted, and by how much, int64 (n, 4)."""
        ids, changes = np.concatenate(self._ids), np.concatenate(self._changes)
        order = np.argsort(ids)
        ids = ids[order]
        first = np.flatnonzero(np.diff(ids, prepend=-1))
        return ids[first], np.add.reduceat(changes[order], first)
