"""The counts of tokens and their dictionary: look them up, and add up changes that are written once."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from spamnb.base.errors import LedgerDamagedError
from spamnb.base.label import Label
from spamnb.ledger.connection import Connection
from spamnb.ledger.lessons.batch import HASHED_BY, OCCURRENCES_MAX, TokenMatrix, hash_of
from spamnb.ledger.lessons.sqlite import count_table
from spamnb.ledger.lessons.sqlite.kind_codes import encode
from spamnb.ledger.lessons.sqlite.lookup import look_up_ids, total, whole

_MOST_REMEMBERED = 1_000_000  # tokens, in 16 MB
ONE = np.eye(2, dtype=np.int64)  # by label: one message of that class


class Dictionary:
    """The ids of tokens. It remembers those that were looked up, as long as no other connection writes.

    Other processes may learn and prune at the same time: a token may get an id, or lose it, but its id never changes.
    Drop this object if a transaction fails in which it gave ids.

    It remembers tokens by their hashes (SipHash of 64 bits, with a key that no message can know), in arrays: a tenth of
    the time and memory of a dictionary of texts. The probability that two of a million share a hash, and count as one
    token, is 3e-8.
    """

    def __init__(self, db: Connection, *, is_kept: bool = True) -> None:
        """is_kept: it will be asked for more tokens."""
        self._db = db
        self._is_kept = is_kept
        self._hashes = np.zeros(0, dtype=np.int64)  # sorted
        self._ids = np.zeros(0, dtype=np.int64)
        self._version = 0
        self._all_until = -1  # all ids up to this are remembered: the ledger was empty at the first look-up

    def ids(
        self, tokens: Sequence[str], hashes: NDArray[np.int64], met: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], list[tuple[str, int]]]:
        """Return the id of each token, int64 (n,); and text and id, as on disk, of the new tokens, by text.

        tokens: distinct. hashes, met: int64 (n,), the hash of each, and when it is met. Tokens without an id get the
        next ids in the order in which they are met. So the tokens that a message is the first to hold have consecutive
        ids, which makes the message small (`token_blob`). Call it in the transaction that writes the new tokens.
        """
        ids = self._remembered(hashes)
        text_of = {place: encode(tokens[place]) for place in np.flatnonzero(ids == 0).tolist()}
        unknown = sorted(text_of, key=text_of.__getitem__)  # quick if runs are sorted
        places = np.array(unknown, dtype=np.int64)
        (last,) = total(self._db, "last_token")
        are_all = last in (0, self._all_until)  # this connection may have given other ids without us
        if not are_all:  # neighbours in the index come together: a page is read once
            known = np.array(look_up_ids(self._db, [text_of[place] for place in unknown]), dtype=np.int64)
            asked, ids_known = known.reshape(-1, 2).T
            ids[places[asked]] = ids_known
        new = places[ids[places] == 0]
        ids[new[np.argsort(met[new])]] = np.arange(last + 1, last + 1 + len(new))
        if self._is_kept:
            self._remember(hashes[places], ids[places])
            self._all_until = last + len(new) if are_all else -1
        return ids, list(zip([text_of[place] for place in new.tolist()], ids[new].tolist(), strict=True))

    def _remembered(self, hashes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the ids of remembered tokens, int64 (n,), and 0 for the others."""
        if not self._is_kept:
            return np.zeros(len(hashes), dtype=np.int64)
        (version,) = self._db.row("PRAGMA data_version")
        if version != self._version or len(self._ids) > _MOST_REMEMBERED:
            self._hashes, self._ids = self._hashes[:0], self._ids[:0]
            self._version, self._all_until = version, -1
        places = np.searchsorted(self._hashes, hashes)
        ids = np.append(self._ids, 0)[places]
        ids[np.append(self._hashes, 0)[places] != hashes] = 0
        return ids

    def _remember(self, hashes: NDArray[np.int64], ids: NDArray[np.int64]) -> None:
        order = np.argsort(hashes)
        places = np.searchsorted(self._hashes, hashes[order])
        self._hashes, self._ids = (
            np.insert(self._hashes, places, hashes[order]),
            np.insert(self._ids, places, ids[order]),
        )


def next_changes(db: Connection, count: int = 1) -> range:
    """Return the numbers of the next changes, of lessons or an import."""
    (last,) = whole(db.row("UPDATE total SET change = change + ? RETURNING change", (count,)))
    return range(last + 1 - count, last + 1)


def hashes_of(tokens: Sequence[str]) -> NDArray[np.int64]:
    """Return the hashes of tokens, int64 (n,), by which a dictionary remembers them."""
    return np.fromiter(map(hash_of, tokens), np.int64, len(tokens))


def counts_of(db: Connection, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the counts of learned messages' tokens, int64 (n, 4), by their ids, int64 (n,).

    Raises LedgerError if a token is in no message.
    """
    counts = count_table.read(db, ids)
    if not counts[:, :2].any(axis=1).all():
        raise LedgerDamagedError("a learned message holds a token that has no counts: see `spamnb verify`")
    return counts


def of_class(label: Label, messages: NDArray[np.int64] | int, occurrences: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return counts of tokens of one class, int64 (n, 4): messages and occurrences, int64 (n,), in its two columns."""
    table = np.zeros((len(occurrences), 4), dtype=np.int64)
    table[:, label], table[:, 2 + label] = messages, occurrences
    return table


class Rows(NamedTuple):
    """Token matrices as numpy arrays, joined, with the fields of `TokenMatrix`.

    vocabulary: the distinct tokens of all; hashes: their hashes, int64 (n_tokens,). lengths: int64 (n_messages,).
    columns, occurrences: int64 (n_entries,).
    """

    vocabulary: list[str]
    hashes: NDArray[np.int64]
    lengths: NDArray[np.int64]
    columns: NDArray[np.int64]
    occurrences: NDArray[np.int64]

    @classmethod
    def joined(cls, matrices: Sequence[TokenMatrix]) -> Self:
        """Return the rows of all matrices, in order."""
        sizes = np.array([len(matrix.vocabulary) for matrix in matrices])
        columns = [np.array(matrix.columns, dtype=np.int64) for matrix in matrices]
        tokens = list(chain.from_iterable(matrix.vocabulary for matrix in matrices))
        hashes = np.concatenate([_hashes_of_matrix(matrix) for matrix in matrices])
        begins = np.repeat(np.cumsum(sizes) - sizes, list(map(len, columns)))
        first, column = _distinct(hashes) if len(matrices) > 1 else (np.arange(len(tokens)),) * 2
        return cls(
            [tokens[place] for place in first.tolist()],
            hashes[first],
            np.concatenate([np.array(matrix.lengths, dtype=np.int64) for matrix in matrices]),
            column[np.concatenate(columns) + begins],
            np.concatenate([np.minimum(matrix.occurrences, OCCURRENCES_MAX, dtype=np.int64) for matrix in matrices]),
        )

    def first_met(self) -> NDArray[np.int64]:
        """Return the place of each vocabulary token's first entry, int64 (n_tokens,)."""
        entries = np.arange(len(self.columns))
        met = np.full(len(self.vocabulary), len(entries))
        met[self.columns[::-1]] = entries[::-1]  # if a place gets several values, numpy keeps the last
        return met

    def with_more(self, more: Sequence[Sequence[str]]) -> Self:
        """Return the messages, each with more tokens, once each; no message has one of these yet."""
        added = list(chain.from_iterable(more))
        if not added:
            return self
        numbers = np.fromiter(map(len, more), np.int64, len(more))
        ends = np.repeat(np.cumsum(self.lengths), numbers)
        tokens = sorted(set(added))
        columns = [len(self.vocabulary) + tokens.index(token) for token in added]
        return type(self)(
            [*self.vocabulary, *tokens],
            np.concatenate([self.hashes, hashes_of(tokens)]),
            self.lengths + numbers,
            np.insert(self.columns, ends, columns),
            np.insert(self.occurrences, ends, 1),
        )

    def take(self, rows: Sequence[int]) -> Self:
        """Return some of the messages, in their order, with the tokens that they hold."""
        if len(rows) == len(self.lengths):
            return self
        taken = np.zeros(len(self.lengths), dtype=bool)
        taken[rows] = True
        entries = np.repeat(taken, self.lengths)
        columns = self.columns[entries]
        is_held = np.zeros(len(self.vocabulary), dtype=bool)
        is_held[columns] = True
        held = np.flatnonzero(is_held)
        vocabulary = [self.vocabulary[column] for column in held.tolist()]
        columns = (np.cumsum(is_held) - 1)[columns]
        return type(self)(vocabulary, self.hashes[held], self.lengths[taken], columns, self.occurrences[entries])


def _hashes_of_matrix(matrix: TokenMatrix) -> NDArray[np.int64]:
    is_ours = matrix.hashed_by == HASHED_BY
    return np.array(matrix.hashes, dtype=np.int64) if is_ours else hashes_of(matrix.vocabulary)


def _distinct(hashes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each distinct hash is first, sorted, int64 (n_distinct,), and each hash's index there, int64 (n,).

    Like `np.unique`, in the same order, and in half of its time.
    """
    order = np.argsort(hashes)
    begins = np.diff(hashes[order], prepend=0) != 0
    begins[:1] = True
    first = np.minimum.reduceat(order, np.flatnonzero(begins)) if len(order) else order
    is_first = np.zeros(len(hashes), dtype=bool)
    is_first[first] = True
    column = np.empty_like(order)
    column[order] = (np.cumsum(is_first) - 1)[first[np.cumsum(begins) - 1]]
    return np.flatnonzero(is_first), column


class Sum:
    """The change that a batch of messages makes to the counts.

    `new`: tokens that the dictionary does not hold yet, as on disk, with their ids, sorted by text; each must get a
    count.
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
        """Count messages of one class. ids: int64 (n,), of the vocabulary of `rows`."""
        messages = np.bincount(rows.columns, minlength=len(ids))
        occurrences = np.bincount(rows.columns, rows.occurrences, len(ids)).astype(np.int64)  # exact up to 2**53
        self.add_counts(ids, of_class(label, messages, occurrences), len(rows.lengths) * ONE[label])

    def add_counts(self, ids: NDArray[np.int64], changes: NDArray[np.int64], messages: NDArray[np.int64]) -> None:
        """Add sums of many messages: int64 (n,) ids, (n, 4) changes of the counts, (2,) messages per class."""
        self._ids.append(ids)
        self._changes.append(changes)
        self._total[:2] += messages
        self._total[2:] += changes.sum(axis=0)

    def write(self) -> None:
        """Write the counts of the tokens that changed, and the totals."""
        if not self._ids:
            return
        ids, changes = self._added_up()
        self._db.insert("INSERT INTO token VALUES", 2, list(chain.from_iterable(self.new)))
        vocabulary = count_table.add(self._db, ids, changes)
        self._db.execute(
            "UPDATE total SET ham_messages = ham_messages + ?, spam_messages = spam_messages + ?,"
            " ham_token_messages = ham_token_messages + ?, spam_token_messages = spam_token_messages + ?,"
            " ham_occurrences = ham_occurrences + ?, spam_occurrences = spam_occurrences + ?,"
            " vocabulary = vocabulary + ?, last_token = last_token + ?",
            (*self._total.tolist(), vocabulary, len(self.new)),
        )

    def _added_up(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the ids of all tokens that changed, int64 (n,), sorted, and their changes, int64 (n, 4)."""
        ids, changes = np.concatenate(self._ids), np.concatenate(self._changes)
        order = np.argsort(ids)
        ids = ids[order]
        first = np.flatnonzero(np.diff(ids, prepend=-1))
        return ids[first], np.add.reduceat(changes[order], first)
