"""Sheaves of lessons as one matrix."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from spamnb.ledger.blob import OCCURRENCES_MAX
from spamnb.ledger.lesson import Sheaf


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The tokens of several lessons, as a sparse matrix by rows.

    vocabulary: the distinct tokens, sorted. lengths: int64 (n_lessons,), tokens of each lesson. columns, occurrences: int64
    (n_entries,), the entries of all lessons in order: a place in the vocabulary, and how often that token occurs.
    """

    vocabulary: list[str]
    lengths: NDArray[np.int64]
    columns: NDArray[np.int64]
    occurrences: NDArray[np.int64]

    @classmethod
    def joined(cls, sheaves: Sequence[Sheaf]) -> Self:
        """The lessons of all sheaves, in order, over one vocabulary."""
        vocabulary = sorted(set().union(*(sheaf.vocabulary for sheaf in sheaves)))
        place = dict(zip(vocabulary, range(len(vocabulary)), strict=True))

        def places(sheaf: Sheaf) -> NDArray[np.int64]:
            return np.fromiter(map(place.__getitem__, sheaf.vocabulary), np.int64, len(sheaf.vocabulary))

        return cls(
            vocabulary,
            np.concatenate([_integers(sheaf.lengths) for sheaf in sheaves]),
            np.concatenate([places(sheaf)[_integers(sheaf.columns)] for sheaf in sheaves]),
            np.minimum(np.concatenate([_integers(sheaf.occurrences) for sheaf in sheaves]), OCCURRENCES_MAX),
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


def _integers(values: array[int]) -> NDArray[np.int64]:
    return np.frombuffer(values, dtype=np.uintc).astype(np.int64) if values else np.zeros(0, dtype=np.int64)
