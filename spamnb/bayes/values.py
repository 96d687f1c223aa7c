"""How often each token had each value, by class: what the categorical and the flexible model learn from.

Most values are 0, so 0 is not stored: a token was 0 in all messages that are not counted under another value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spamnb.bayes.arrays import FloatArray, IntArray, as_classes, as_csr, entry_rows

if TYPE_CHECKING:
    from spamnb.bayes.arrays import Matrix


@dataclass(frozen=True, slots=True, eq=False)
class ValueCounts:
    """Counts of the distinct pairs of a token and a value other than 0, sorted by token, then value.

    tokens: intp (n_pairs,), column of the token. values: float64 (n_pairs,). counts: int64 (2, n_pairs),
    messages of the class in which the token has the value. class_messages: int64 (2,). n_tokens: columns.
    """

    tokens: NDArray[np.intp]
    values: FloatArray
    counts: IntArray
    class_messages: IntArray
    n_tokens: int

    @classmethod
    def from_matrix(cls, x: Matrix, y: ArrayLike) -> Self:
        """Count the values of x (n_messages, n_tokens) with labels y (n_messages,).

        >>> seen = ValueCounts.from_matrix(np.array([[2, 0], [2, 1], [5, 0]]), [1, 0, 1])
        >>> seen.tokens.tolist(), seen.values.tolist(), seen.counts.tolist()
        ([0, 0, 1], [2.0, 5.0, 1.0], [[1, 0, 1], [1, 1, 0]])
        """
        rows = as_csr(x)
        labels = as_classes(y, rows.shape[0])
        one_hot = np.zeros((2, rows.data.size), dtype=np.int64)
        one_hot[labels[entry_rows(rows)], np.arange(rows.data.size)] = 1
        class_messages = np.bincount(labels, minlength=2).astype(np.int64)
        values = rows.data.astype(np.float64)
        return cls._collected(rows.indices.astype(np.intp), values, one_hot, class_messages, rows.shape[1])

    def __add__(self, other: Self) -> Self:
        """Both sets of messages learned."""
        return self._combined(other, 1)

    def __sub__(self, other: Self) -> Self:
        """The messages of `other` forgotten. Raises ValueError if some of them were never learned."""
        return self._combined(other, -1)

    def zeros(self) -> IntArray:
        """Messages of each class in which each token is 0, int64 (2, n_tokens)."""
        others = np.stack([np.bincount(self.tokens, row, self.n_tokens) for row in self.counts])
        return self.class_messages[:, np.newaxis] - others.astype(np.int64)

    def _combined(self, other: Self, sign: int) -> Self:
        if self.n_tokens != other.n_tokens:
            raise ValueError("counts of different tokens cannot be combined")
        both = self._collected(
            np.concatenate([self.tokens, other.tokens]),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.counts, sign * other.counts], axis=1),
            self.class_messages + sign * other.class_messages,
            self.n_tokens,
        )
        if sign < 0 and any((array < 0).any() for array in (both.counts, both.class_messages, both.zeros())):
            raise ValueError("cannot forget messages that were never learned")
        return both

    @classmethod
    def _collected(
        cls,
        tokens: NDArray[np.intp],
        values: FloatArray,
        counts: IntArray,
        class_messages: IntArray,
        n_tokens: int,
    ) -> Self:
        """Equal pairs added up and pairs without counts left out."""
        order = np.lexsort((values, tokens))
        tokens, values, counts = tokens[order], values[order], counts[:, order]
        first = np.ones(tokens.size, dtype=bool)
        first[1:] = (tokens[1:] != tokens[:-1]) | (values[1:] != values[:-1])
        starts = np.flatnonzero(first)
        if starts.size:
            counts = np.add.reduceat(counts, starts, axis=1)
        kept = counts.any(axis=0)
        return cls(tokens[starts][kept], values[starts][kept], counts[:, kept], class_messages, n_tokens)
