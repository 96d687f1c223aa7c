"""The counts as they would be if one message were not learned: leave-one-out, without a change of the ledger."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from spamnb.bayes.base import Counts
from spamnb.ledger.blob import unpacked
from spamnb.ledger.connection import Connection
from spamnb.ledger.dictionary import look_up
from spamnb.ledger.learned import Learned, Teacher

_MOST = 3  # teachers of a token


class Without:
    """A memory to score with, like `Learned`, in which one message of the ledger is not learned.

    What the message was learned with is subtracted, exactly as if it were forgotten. A message that is not learned
    changes nothing. To be used within one snapshot.
    """

    def __init__(self, connection: Connection, learned: Learned, message: int) -> None:
        self._db = connection
        self._learned = learned
        self._message = message
        row = connection.row("SELECT label, tokens FROM message WHERE id = ?", (message,))
        self._label: int | None = None if row is None else row[0]
        empty = np.zeros(0, dtype=np.int64)
        self._ids, self._occurrences = (empty, empty) if self._label is None else unpacked(message, row[1])

    def counts(self, tokens: Sequence[str]) -> Counts:
        """The counts of these tokens, in their order; zeros for tokens that only this message has taught."""
        counts = self._learned.counts(tokens)
        label = self._label
        if label is None:
            return counts
        places = {token: place for place, token in enumerate(tokens)}
        messages, occurrences = counts.messages.copy(), counts.occurrences.copy()
        taught = dict(zip(self._ids.tolist(), self._occurrences.tolist(), strict=True))
        for token, text in look_up(self._db, "SELECT id, text FROM token WHERE text", list(tokens)):
            if token in taught:
                messages[label, places[text]] -= 1
                occurrences[label, places[text]] -= taught[token]
        return replace(
            counts,
            messages=messages,
            occurrences=occurrences,
            class_messages=self._less(counts.class_messages, 1),
            class_token_messages=self._less(counts.class_token_messages, len(self._ids)),
            class_occurrences=self._less(counts.class_occurrences, int(self._occurrences.sum())),
            vocabulary_size=counts.vocabulary_size - self._alone(),
        )

    def teachers(self, tokens: Sequence[str]) -> dict[str, list[Teacher]]:
        """For each token learned messages that hold it, this one left out."""
        found = self._learned.teachers(tokens, _MOST + 1)
        return {
            token: [teacher for teacher in teachers if teacher.message != self._message][:_MOST]
            for token, teachers in found.items()
        }

    def _less(self, totals: NDArray[np.int64], number: int) -> NDArray[np.int64]:
        less = totals.copy()
        less[self._label] -= number
        return less

    def _alone(self) -> int:
        """How many tokens only this message has taught."""
        row = self._db.row(
            "SELECT count(*) FROM count"
            " WHERE token IN (SELECT value FROM json_each(?)) AND ham_messages + spam_messages = 1",
            (str(self._ids.tolist()),),
        )
        return int(row[0])
