"""The dictionary: the text of each token, and the id by which messages keep it."""

from collections.abc import Sequence
from itertools import compress, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spamnb.ledger.connection import Connection

_CHUNK = 500  # parameters a statement; SQLite's own limit was 999 before 3.32


def look_up(db: Connection, select: str, keys: Sequence[object]) -> list[Any]:
    """The rows of a statement that ends with the name of a column, where that column holds one of the keys."""
    rows: list[Any] = []
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        rows += db.all(f"{select} IN ({','.join('?' * len(chunk))})", chunk)
    return rows


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


def tokenizers(db: Connection) -> set[int]:
    """The versions of the tokenizer with which the learned messages were read: one look into an index for each."""
    rows = db.rows(
        "WITH RECURSIVE held AS (SELECT min(tokenizer) AS version FROM message WHERE label IS NOT NULL UNION ALL"
        " SELECT (SELECT min(tokenizer) FROM message WHERE label IS NOT NULL AND tokenizer > held.version) FROM held"
        " WHERE version IS NOT NULL) SELECT version FROM held WHERE version IS NOT NULL"
    )
    return {row[0] for row in rows}
