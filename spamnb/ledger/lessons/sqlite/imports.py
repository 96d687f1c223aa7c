"""Imports: counts from other ledgers, kept apart from what was learned here.

The messages behind them are not here, so an import is kept as it came. Thus the counts are the sum over the learned
messages and the imports, `verify` can prove it, and an import can be taken back.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spamnb.base.errors import LedgerDamagedError, LedgerError
from spamnb.ledger.connection import Connection
from spamnb.ledger.lessons.export_format import ExportedCounts
from spamnb.ledger.lessons.sqlite.counts import Dictionary, Sum, hashes_of, next_changes
from spamnb.ledger.lessons.sqlite.lookup import TOTALS, total

_TOKENS = 20_000  # added up at once
_BYTES = 40  # of a token: five numbers


@dataclass(frozen=True, slots=True)
class Import:
    """An import; one that was taken back has no messages and no tokens.

    messages: int64 (2,), ham then spam. ids: int64 (n,). counts: int64 (n, 4): ham messages, spam messages, ham
    occurrences, spam occurrences.
    """

    id: int
    messages: NDArray[np.int64]
    ids: NDArray[np.int64]
    counts: NDArray[np.int64]


def add_import(db: Connection, counts: ExportedCounts, name: str, why: str, at: float) -> int:
    """Add counts to the ledger's counts. Returns the number of the change."""
    digest = counts.digest
    with db.transaction():
        counts.check_sums(total(db, TOTALS)[:6])
        ids = _count(db, counts)
        number = next_changes(db)[0]
        db.execute(
            "INSERT INTO import (digest, summary, change, learned_at, why, ham_messages, spam_messages, tokens)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (digest, name, number, at, why, counts.ham, counts.spam, _packed(ids, counts.counts)),
        )
    return number


def _count(db: Connection, added: ExportedCounts) -> NDArray[np.int64]:
    """Add up the counts, a few thousand tokens at a time. Returns the tokens' ids, int64 (n,)."""
    ids = np.empty(len(added.tokens), dtype=np.int64)
    messages = np.array([added.ham, added.spam], dtype=np.int64)
    dictionary = Dictionary(db)
    for start in range(0, max(1, len(ids)), _TOKENS):
        part = slice(start, start + _TOKENS)
        sum_ = Sum(db)
        tokens = added.tokens[part]
        ids[part], sum_.new = dictionary.ids(tokens, hashes_of(tokens), np.arange(len(tokens)))
        sum_.add_counts(ids[part], added.counts[part], messages if not start else 0 * messages)
        sum_.write()
    return ids


def take_import_back(db: Connection, digest: bytes, why: str, at: float, takes_back: int) -> int:
    """Subtract the counts of an import from the ledger's counts. Returns the number of the change.

    Its row stays, without its tokens: the history learns from it what was done, even after a kill of this process.
    """
    with db.transaction():
        last, is_done = db.row(
            "SELECT max(id) FILTER (WHERE takes_back IS NULL), total(takes_back = ?) FROM import WHERE digest = ?",
            (takes_back, digest),
        )
        if last is None or is_done:
            raise LedgerError("that import no longer counts")
        (found,) = imported(db, "WHERE id = ?", last)
        sum_ = Sum(db)
        sum_.add_counts(found.ids, -found.counts, -found.messages)
        sum_.write()
        keep_only(db, found, np.zeros(len(found.ids), dtype=bool))
        number = next_changes(db)[0]
        db.execute(
            "UPDATE import SET (change, learned_at, why, takes_back, ham_messages, spam_messages) = (?, ?, ?, ?, 0, 0)"
            " WHERE id = ?",
            (number, at, why, takes_back, last),
        )
    return number


def imported(db: Connection, where: str = "", *parameters: int) -> Iterator[Import]:
    """Yield the imports. Raises LedgerError for one with damaged bytes."""
    for number, ham, spam, blob in db.rows(
        f"SELECT id, ham_messages, spam_messages, tokens FROM import {where}",  # noqa: S608 - of this package
        parameters,
    ):
        # Each token of an import is in the dictionary: no more is unpacked than the dictionary has.
        (tokens,) = db.row("SELECT count(*) FROM token")
        try:
            yield Import(number, np.array([ham, spam], dtype=np.int64), *_unpacked(blob, tokens))
        except (ValueError, zlib.error) as fault:
            raise LedgerDamagedError(
                f"the tokens of import {number} in the ledger are damaged: restore a copy of it"
            ) from fault


def keep_only(db: Connection, one: Import, kept: NDArray[np.bool_]) -> None:
    """Forget tokens of an import: `kept`, bool (n,), says which stay. The caller changes their counts."""
    blob = _packed(one.ids[kept], one.counts[kept])
    db.execute("UPDATE import SET tokens = ? WHERE id = ?", (blob, one.id))


def _packed(ids: NDArray[np.int64], counts: NDArray[np.int64]) -> bytes:
    """Return the ids as steps, and four numbers of eight bytes per token: sums have no such limit as one message has.

    The bytes of a column are grouped by place: most high bytes are zero, and take almost no room.
    """
    order = np.argsort(ids)
    packer = zlib.compressobj()
    parts = []
    for column in (np.diff(ids[order], prepend=0), *(counts[order, place] for place in range(4))):
        planes = column.astype("<i8").view(np.uint8).reshape(-1, 8).T.tobytes()  # one column at a time: in less memory
        parts.append(packer.compress(planes))
    return b"".join([*parts, packer.flush()])


def _unpacked(blob: bytes, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids of an import and their counts. Raises ValueError or zlib.error for more than `most` tokens."""
    inflate = zlib.decompressobj()
    planes = np.frombuffer(inflate.decompress(blob, _BYTES * most + 1), np.uint8)
    if len(planes) % _BYTES or not inflate.eof:
        raise ValueError("the tokens of an import are damaged, or more than the ledger has")
    table = np.empty((len(planes) // _BYTES, 5), dtype=np.int64)
    for place, column in enumerate(planes.reshape(5, 8, -1)):
        table[:, place] = column.T.copy().view("<i8").ravel()
    return np.cumsum(table[:, 0]), table[:, 1:]
