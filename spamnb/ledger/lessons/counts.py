"""The counts of tokens and their dictionary: looking them up, and adding up changes that are written once."""

from collections.abc import Sequence
from itertools import chain, compress, repeat
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from spamnb.errors import LedgerError
from spamnb.label import Label
from spamnb.ledger.connection import Connection
from spamnb.ledger.lessons.batch import TokenMatrix
from spamnb.ledger.lessons.lookup import look_up
from spamnb.ledger.lessons.token_blob import OCCURRENCES_MAX

ONE = np.eye(2, dtype=np.int64)  # by label: one message of that class
_COUNTED = (
    "SELECT ham_messages, spam_messages, ham_occurrences, spam_occurrences FROM count"
    " WHERE token IN (SELECT value FROM json_each(?)) ORDER BY token"
)
_USED_BY = (
    "SELECT count(*) FROM count WHERE token IN (SELECT value FROM json_each(?)) AND ham_messages + spam_messages = ?"
)


def token_ids(db: Connection, vocabulary: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """The id of each token, int64 (n,), and the tokens never met, in their order: these get the next ids.

    The vocabulary is sorted, so that neighbours in the index come together: a page is read and written once.
    """
    known: dict[str, int] = dict(look_up(db, "SELECT text, id FROM token WHERE text", vocabulary))
    first = db.row("SELECT coalesce(max(token), 0) + 1 FROM count")[0]
    ids = np.fromiter(map(known.get, vocabulary, repeat(0)), np.int64, len(vocabulary))
    is_new = ids == 0
    new = list(compress(vocabulary, is_new))
    ids[is_new] = np.arange(first, first + len(new))
    return ids, new


def counts_of(db: Connection, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """The counts of tokens, int64 (n, 4), by their ids, int64 (n,), distinct and sorted.

    Raises LedgerError where one of them is not there.
    """
    rows = db.all(_COUNTED, (str(ids.tolist()),))
    try:
        return np.fromiter(chain.from_iterable(rows), np.int64, 4 * len(ids)).reshape(-1, 4)
    except ValueError as fault:
        raise LedgerError("a learned message holds a token that has no counts: see `spamnb verify`") from fault


def in_messages(db: Connection, ids: NDArray[np.int64], number: int) -> int:
    """How many of these tokens, int64 (n,), are in so many learned messages."""
    return int(db.row(_USED_BY, (str(ids.tolist()), number))[0])


def of_class(label: Label, messages: NDArray[np.int64] | int, occurrences: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts of tokens of one class, int64 (n, 4): messages and occurrences, int64 (n,), in its two columns."""
    table = np.zeros((len(occurrences), 4), dtype=np.int64)
    table[:, label], table[:, 2 + label] = messages, occurrences
    return table


class Rows(NamedTuple):
    """Token matrices as numpy takes them, over one vocabulary, which is sorted; the fields are those of `TokenMatrix`.

    lengths: int64 (n_messages,). columns, occurrences: int64 (n_entries,).
    """

    vocabulary: list[str]
    lengths: NDArray[np.int64]
    columns: NDArray[np.int64]
    occurrences: NDArray[np.int64]

    @classmethod
    def joined(cls, matrices: Sequence[TokenMatrix]) -> Self:
        """The rows of all matrices, in order."""
        vocabulary = sorted(set().union(*(matrix.vocabulary for matrix in matrices)))
        column = dict(zip(vocabulary, range(len(vocabulary)), strict=True))

        def columns(matrix: TokenMatrix) -> NDArray[np.int64]:
            common = np.fromiter(map(column.__getitem__, matrix.vocabulary), np.int64, len(matrix.vocabulary))
            return common[np.array(matrix.columns, dtype=np.int64)]

        return cls(
            vocabulary,
            np.concatenate([np.array(matrix.lengths, dtype=np.int64) for matrix in matrices]),
            np.concatenate([columns(matrix) for matrix in matrices]),
            np.concatenate([np.minimum(matrix.occurrences, OCCURRENCES_MAX, dtype=np.int64) for matrix in matrices]),
        )

    def with_more(self, more: Sequence[Sequence[str]]) -> Self:
        """The same messages, each with more tokens, once each, which it does not have yet."""
        if not any(more):
            return self
        vocabulary = sorted({*self.vocabulary, *chain.from_iterable(more)})
        column = dict(zip(vocabulary, range(len(vocabulary)), strict=True))
        before = np.fromiter(map(column.__getitem__, self.vocabulary), np.int64, len(self.vocabulary))
        numbers = np.fromiter(map(len, more), np.int64, len(more))
        ends = np.repeat(np.cumsum(self.lengths), numbers)
        added = np.fromiter(map(column.__getitem__, chain.from_iterable(more)), np.int64, len(ends))
        columns, occurrences = np.insert(before[self.columns], ends, added), np.insert(self.occurrences, ends, 1)
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

    `new` are tokens that the dictionary does not hold yet, in the order of their ids; each must get a count.
    """

    def __init__(self, connection: Connection) -> None:
        self._db = connection
        self._ids: list[NDArray[np.int64]] = []
        self._changes: list[NDArray[np.int64]] = []
        self._total = np.zeros(6, dtype=np.int64)
        self.new: list[str] = []

    def add(self, ids: NDArray[np.int64], occurrences: NDArray[np.int64], label: Label, sign: int) -> None:
        """Count a message's tokens (int64 (n,) ids and occurrences) for a class, or take them back (sign -1)."""
        self.add_counts(ids, of_class(label, sign, sign * occurrences), sign * ONE[label])

    def add_rows(self, ids: NDArray[np.int64], rows: Rows, label: Label) -> None:
        """Count messages of one class. ids: int64 (n_tokens,), those of the vocabulary of `rows`."""
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
        unused = in_messages(self._db, ids, 0)
        self._db.executemany(
            "UPDATE count SET ham_messages = ham_messages + ?, spam_messages = spam_messages + ?,"
            " ham_occurrences = ham_occurrences + ?, spam_occurrences = spam_occurrences + ? WHERE token = ?",
            zip(*changes.T.tolist(), ids.tolist(), strict=True),
        )
        return unused - in_messages(self._db, ids, 0)
