"""Find tokens: the frequent ones, and those that begin with a text.

The ids are chosen in the table of counts; then one search finds the texts of all of them.
"""

from collections.abc import Sequence
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from spamnb.bayes.base import Counts
from spamnb.ledger.connection import Connection
from spamnb.ledger.lessons.port import FrequentTokens
from spamnb.ledger.lessons.sqlite import count_table
from spamnb.ledger.lessons.sqlite.kind_codes import in_order, spans
from spamnb.ledger.lessons.sqlite.lookup import TOTALS, total

_BETWEEN = "SELECT id FROM token WHERE text >= ? AND text < ?"


def frequent(db: Connection, least: int, kinds: Sequence[str] | None = None) -> FrequentTokens:
    """Return the tokens that at least `least` messages hold; kinds: with one of these prefixes (`subject:`)."""
    ids, counts = _counted(db, least)
    if kinds is not None:
        bounds = [(first, end) for kind in kinds for first, end, _ in spans(kind)]
        rows = chain.from_iterable(db.rows(_BETWEEN, both) for both in bounds)
        of_kinds = np.isin(ids, np.fromiter(chain.from_iterable(rows), dtype=np.int64))
        ids, counts = ids[of_kinds], counts[of_kinds]
    return FrequentTokens(ids, Counts.of(counts.T, np.array(total(db, TOTALS), dtype=np.int64)))


def _counted(db: Connection, least: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids of tokens that at least `least` messages hold, sorted, and their counts, int64 (n, 4)."""
    ids, counts = [np.zeros(0, dtype=np.int64)], [np.zeros((0, 4), dtype=np.int64)]
    for first, part in count_table.all_counts(db.rows(count_table.ALL)):
        places = np.flatnonzero(part[:, :2].sum(axis=1) >= least)
        ids.append(first + places)
        counts.append(part[places])
    return np.concatenate(ids), np.concatenate(counts)


def beginning_with(db: Connection, text: str, most: int) -> list[str]:
    """Return the first `most` tokens that begin with this text and that messages hold, sorted."""
    tokens: list[str] = []
    rows = in_order(db, text)
    while len(tokens) < most and (part := list(islice(rows, most))):
        counts = count_table.read(db, np.array([id_ for _, id_ in part], dtype=np.int64))
        tokens += [token for (token, _), (ham, spam, *_) in zip(part, counts.tolist(), strict=True) if ham or spam]
    return tokens[:most]
