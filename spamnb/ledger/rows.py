"""The tokens of many lessons as one matrix, for arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from spamnb.ledger.blob import OCCURRENCES_MAX
from spamnb.mail.matrix import TokenMatrix


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A token matrix as numpy takes it.

    vocabulary: the distinct tokens, sorted. lengths: int64 (n_lessons,), tokens of each lesson. columns, occurrences:
    int64 (n_entries,), the entries of all lessons in order: a place in the vocabulary, and how often that token occurs.
    """

    vocabulary: list[str]
    lengths: NDArray[np.int64]
    columns: NDArray[np.int64]
    occurrences: NDArray[np.int64]

    @classmethod
    def joined(cls, matrices: Sequence[TokenMatrix]) -> Self:
        """The rows of all matrices, in order, over one vocabulary."""
        vocabulary = sorted(set().union(*(matrix.vocabulary for matrix in matrices)))
        place = dict(zip(vocabulary, range(len(vocabulary)), strict=True))

        def columns(matrix: TokenMatrix) -> NDArray[np.int64]:
            places = np.fromiter(map(place.__getitem__, matrix.vocabulary), np.int64, len(matrix.vocabulary))
            return places[np.array(matrix.columns, dtype=np.int64)]

        return cls(
            vocabulary,
            np.concatenate([np.array(matrix.lengths, dtype=np.int64) for matrix in matrices]),
            np.concatenate([columns(matrix) for matrix in matrices]),
            np.concatenate([np.minimum(matrix.occurrences, OCCURRENCES_MAX, dtype=np.int64) for matrix in matrices]),
        )

    def take(self, rows: Sequence[int]) -> Self:
        """Some of the lessons, in their order, with the tokens that they hold."""
        if len(rows) == len(self.lengths):
            return self
        taken = np.zeros(len(self.lengths), dtype=bool)
        taken[rows] = True
        entries = np.repeat(taken, self.lengths)
        held, columns = np.unique(self.columns[entries], return_inverse=True)
        vocabulary = [self.vocabulary[place] for place in held.tolist()]
        return type(self)(vocabulary, self.lengths[taken], columns, self.occurrences[entries])
