"""Looking tokens up: those that are often met, and those that begin with a text.

The ids are chosen in the table of counts, and their texts looked for once, for all of them.
"""

from collections.abc import Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spamnb.bayes.base import Counts
from spamnb.ledger.connection import Connection
from spamnb.ledger.lessons.sqlite import count_table
from spamnb.ledger.lessons.sqlite.kind_codes import in_order, spans

_BETWEEN = "SELECT id FROM token WHERE text >= ? AND text < ?"


class Often(NamedTuple):
    """Tokens by their ids, int64 (n,), with their counts, and the texts of those that were asked for."""

    ids: NDArray[np.int64]
    counts: Counts


class Words:
    """The tokens of what was learned."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def often(self, least: int, kinds: Sequence[str] | None = None) -> Often:
        """The tokens that at least so many learned messages hold; kinds: with one of these prefixes (`subject:`)."""
        ids, found = self._counted(least)
        if kinds is not None:
            bounds = [(first, end) for kind in kinds for first, end, _ in spans(kind)]
            rows = chain.from_iterable(self._db.rows(_BETWEEN, both) for both in bounds)
            of_kinds = np.isin(ids, np.fromiter(chain.from_iterable(rows), dtype=np.int64))
            ids, found = ids[of_kinds], found[of_kinds]
        totals = np.array(
            self._db.row(
                "SELECT ham_messages, spam_messages, ham_token_messages, spam_token_messages,"
                " ham_occurrences, spam_occurrences, vocabulary FROM total"
            ),
            dtype=np.int64,
        )
        columns = found.T
        counts = Counts(columns[:2], columns[2:], totals[:2], totals[2:4], totals[4:6], int(totals[6]))
        return Often(ids, counts)

    def _counted(self, least: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The ids of tokens that at least so many learned messages hold, sorted, and their counts, int64 (n, 4)."""
        ids, counts = [np.zeros(0, dtype=np.int64)], [np.zeros((0, 4), dtype=np.int64)]
        for first, part in count_table.all_counts(self._db.rows(count_table.ALL)):
            often = np.flatnonzero(part[:, :2].sum(axis=1) >= least)
            ids.append(first + often)
            counts.append(part[often])
        return np.concatenate(ids), np.concatenate(counts)

    def beginning_with(self, text: str, most: int) -> list[str]:
        """The first tokens that begin so and that learned messages hold, sorted, and at most so many."""
        found: list[str] = []
        rows = in_order(self._db, text)
        while len(found) < most and (some := list(islice(rows, most))):
            counts = count_table.read(self._db, np.array([id_ for _, id_ in some], dtype=np.int64))
            found += [token for (token, _), (ham, spam, *_) in zip(some, counts.tolist(), strict=True) if ham or spam]
        return found[:most]
