"""Imports: counts that came from other ledgers, kept apart from what was learned here.

The messages behind them are not here, so what was imported is kept as it came: the counts are the sum over the
learned messages and the imports, `verify` can prove it, and an import can be taken back.
"""

import contextlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spamnb.errors import LedgerError
from spamnb.ledger.connection import Connection
from spamnb.ledger.dictionary import token_ids, tokenizers
from spamnb.ledger.exchange import MOST_TOTAL, Counts, write
from spamnb.ledger.sums import Sum

_TOKENS = 20_000  # added up at once


@dataclass(frozen=True, slots=True)
class Import:
    """An import that counts: its action, and its messages, tokens and counts.

    messages: int64 (2,), ham then spam. ids: int64 (n,). counts: int64 (n, 4): ham messages, spam messages, ham
    occurrences, spam occurrences.
    """

    action: int
    messages: NDArray[np.int64]
    ids: NDArray[np.int64]
    counts: NDArray[np.int64]


class Imports:
    """The imports of a ledger, and its counts as an export."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def export(self) -> Iterator[str]:
        """The lines of an export of all counts, as they are at this moment, imports included."""
        with self._db.snapshot():
            ham, spam, number = self._db.row("SELECT ham_messages, spam_messages, vocabulary FROM total")
            versions = tokenizers(self._db)
            rows = self._db.rows(
                "SELECT ham_messages, spam_messages, ham_occurrences, spam_occurrences, text"
                " FROM token JOIN count ON count.token = token.id WHERE ham_messages + spam_messages > 0 ORDER BY text"
            )
            yield from write(rows, number, ham, spam, versions)

    def messages(self) -> tuple[int, int]:
        """How many ham and spam messages stand behind the imports that count."""
        ham, spam = self._db.row("SELECT coalesce(sum(ham_messages), 0), coalesce(sum(spam_messages), 0) FROM import")
        return ham, spam

    def standing(self, digest: bytes) -> int | None:
        """The action that imported these very counts, if they count now."""
        row = self._db.row(
            "SELECT max(i.action) FROM import AS i JOIN message AS m ON m.id = i.message WHERE m.digest = ?", (digest,)
        )
        action: int | None = row[0]
        return action

    def add(self, imported: Counts, name: str, at: float) -> int:
        """Add counts to those of the ledger. Returns the id of the action, by which they can be taken back.

        Raises LedgerError where the sums would be too large for the ledger.
        """
        digest, why = imported.digest, f"{imported.ham} ham and {imported.spam} spam messages"
        with self._db.transaction():
            self._check_sums(imported)
            ids = self._count(imported)
            self._db.execute(
                "INSERT INTO message (digest, summary, seen_at) VALUES (?, ?, ?)"
                " ON CONFLICT (digest) DO UPDATE SET summary = excluded.summary",
                (digest, name, at),
            )
            message = self._db.row("SELECT id FROM message WHERE digest = ?", (digest,))[0]
            action = self._record(message, why, at)
            self._db.execute(
                "INSERT INTO import VALUES (?, ?, ?, ?, ?)",
                (action, message, imported.ham, imported.spam, _packed(ids, imported.counts)),
            )
        return action

    def _check_sums(self, imported: Counts) -> None:
        """Raise LedgerError where a total would be too large; then no count of a token is, as each is part of one."""
        totals = self._db.row(
            "SELECT ham_messages, spam_messages, ham_token_messages, spam_token_messages, ham_occurrences,"
            " spam_occurrences FROM total"
        )
        added = [imported.ham, imported.spam, *imported.counts.sum(axis=0).tolist()]
        if any(had + more > MOST_TOTAL for had, more in zip(totals, added, strict=True)):
            raise LedgerError(
                "these counts and those of the ledger are too large to be added up: nothing was imported; take back"
                " other imports first (spamnb undo), or export what you want to add from a smaller ledger"
            )

    def _count(self, imported: Counts) -> NDArray[np.int64]:
        """Add up the counts, some thousands of tokens at a time. Returns the tokens' ids, int64 (n,)."""
        ids = np.empty(len(imported.tokens), dtype=np.int64)
        messages = np.array([imported.ham, imported.spam], dtype=np.int64)
        for start in range(0, max(1, len(ids)), _TOKENS):
            part = slice(start, start + _TOKENS)
            sum_ = Sum(self._db)
            ids[part], sum_.new = token_ids(self._db, imported.tokens[part])
            sum_.add_counts(ids[part], imported.counts[part], messages if not start else 0 * messages)
            sum_.write()
        return ids

    def take_back(self, action: int, at: float) -> None:
        """Take the counts of an import from those of the ledger. Raises LedgerError where they do not count."""
        with self._db.transaction():
            found = next((one for one in imported(self._db) if one.action == action), None)
            if found is None:
                raise LedgerError(f"cannot undo {action}: that import does not count any more")
            sum_ = Sum(self._db)
            sum_.add_counts(found.ids, -found.counts, -found.messages)
            sum_.write()
            message = self._db.row("SELECT message FROM import WHERE action = ?", (action,))[0]
            self._db.execute("DELETE FROM import WHERE action = ?", (action,))
            self._db.execute("UPDATE action SET state = 'undone' WHERE id = ?", (action,))
            self._record(message, f"undo of {action}", at, takes_back=action)

    def keep_only(self, action: int, kept: NDArray[np.bool_]) -> None:
        """Forget tokens of an import: `kept`, bool (n,), says which stay. Their counts are the caller's to mend."""
        one = next(one for one in imported(self._db) if one.action == action)
        self._db.execute(
            "UPDATE import SET tokens = ? WHERE action = ?", (_packed(one.ids[kept], one.counts[kept]), action)
        )

    def _record(self, message: int, why: str, at: float, takes_back: int | None = None) -> int:
        return self._db.execute(
            "INSERT INTO action (at, message, kind, state, why, takes_back) VALUES (?, ?, 'imported', 'done', ?, ?)",
            (at, message, why, takes_back),
        )


def imported(db: Connection) -> Iterator[Import]:
    """The imports that count. Raises LedgerError for one whose bytes are damaged."""
    for action, ham, spam, blob in db.rows("SELECT action, ham_messages, spam_messages, tokens FROM import"):
        with _damage_named(action):
            ids, counts = _unpacked(blob)
        yield Import(action, np.array([ham, spam], dtype=np.int64), ids, counts)


@contextlib.contextmanager
def _damage_named(action: int) -> Iterator[None]:
    try:
        yield
    except (ValueError, zlib.error) as fault:
        raise LedgerError(f"the tokens of import {action} in the ledger are damaged: restore a copy of it") from fault


def _packed(ids: NDArray[np.int64], counts: NDArray[np.int64]) -> bytes:
    """As `blob.pack`, with four numbers of eight bytes a token: sums have no such bound as one message has."""
    order = np.argsort(ids)
    packer = zlib.compressobj()
    parts = []
    for column in (np.diff(ids[order], prepend=0), *(counts[order, place] for place in range(4))):
        planes = column.astype("<i8").view(np.uint8).reshape(-1, 8).T.tobytes()  # one column at a time: in less memory
        parts.append(packer.compress(planes))
    return b"".join([*parts, packer.flush()])


def _unpacked(blob: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    planes = np.frombuffer(zlib.decompress(blob), np.uint8)
    if len(planes) % 40:
        raise ValueError("the tokens of an import are damaged")
    table = np.empty((len(planes) // 40, 5), dtype=np.int64)
    for place, column in enumerate(planes.reshape(5, 8, -1)):
        table[:, place] = column.T.copy().view("<i8").ravel()
    return np.cumsum(table[:, 0]), table[:, 1:]
