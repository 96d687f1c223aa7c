"""Looking tokens up: those that are often met, and those that begin with a text.

The ids are chosen in the table of counts, and their texts looked for once, for all of them: the join of both tables
takes ten times as long with 500,000 tokens.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spamnb.bayes.base import Counts
from spamnb.ledger.connection import Connection

_OFTEN = (
    "SELECT token, ham_messages, spam_messages, ham_occurrences, spam_occurrences FROM count"
    " WHERE ham_messages + spam_messages >= ?"
)
_BETWEEN = "SELECT id FROM token WHERE text >= ? AND text < ?"
_LAST = "\U0010ffff"


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
        select = _OFTEN
        parameters: list[object] = [least]
        if kinds is not None:
            bounds = [bound for kind in kinds for bound in (kind, kind + _LAST)]
            parameters = [least, *bounds]
            select += f" AND token IN ({' UNION ALL '.join([_BETWEEN] * len(kinds))})"
        found = np.array(self._db.all(select, parameters), dtype=np.int64).reshape(-1, 5)
        totals = np.array(
            self._db.row(
                "SELECT ham_messages, spam_messages, ham_token_messages, spam_token_messages,"
                " ham_occurrences, spam_occurrences, vocabulary FROM total"
            ),
            dtype=np.int64,
        )
        columns = found.T
        counts = Counts(columns[1:3], columns[3:5], totals[:2], totals[2:4], totals[4:6], int(totals[6]))
        return Often(columns[0], counts)

    def beginning_with(self, text: str, most: int) -> list[str]:
        """The first tokens that begin so and that learned messages hold, sorted, and at most so many."""
        rows = self._db.all(
            "SELECT text FROM token JOIN count ON token = id WHERE text >= ? AND text < ?"
            " AND ham_messages + spam_messages > 0 ORDER BY text LIMIT ?",
            (text, text + _LAST, most),
        )
        return [row[0] for row in rows]
