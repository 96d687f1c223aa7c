"""The counts from which an event model learns, and the frame that all event models fill in.

A model has two hooks: one learns from messages, the other gives the log likelihood of messages in each class. Counts
are added and subtracted, so learning and forgetting are exact. Classes are rows: 0 ham, 1 spam.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from spamnb.base.label import Label
from spamnb.bayes.arrays import (
    FloatArray,
    IntArray,
    as_amounts,
    as_classes,
    entry_rows,
    log_quotient,
    normalise,
)
from spamnb.bayes.estimate import Estimate, OfClass

if TYPE_CHECKING:
    from spamnb.bayes.arrays import CsrArray, Matrix


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The sufficient statistics of some tokens, for every counting event model.

    The per-token arrays may cover only the tokens of one message. The class totals and the vocabulary size always cover
    the whole vocabulary, so the log-probabilities are the same. If each token's message is left out of the counts, each
    token has its own totals: the totals then have one more axis, (n_tokens,).

    messages: int64 (2, n_tokens), messages of the class that contain the token.
    occurrences: int64 (2, n_tokens), occurrences of the token in messages of the class.
    class_messages: int64 (2,), messages of the class.
    class_token_messages: int64 (2,), sum of `messages` over the whole vocabulary.
    class_occurrences: int64 (2,), sum of `occurrences` over the whole vocabulary.
    vocabulary_size: number of tokens in the whole vocabulary.
    """

    messages: IntArray
    occurrences: IntArray
    class_messages: IntArray
    class_token_messages: IntArray
    class_occurrences: IntArray
    vocabulary_size: int | IntArray

    @classmethod
    def from_matrix(cls, x: Matrix, y: ArrayLike) -> Self:
        """Count the messages of x (n_messages, n_tokens; whole occurrences) with labels y (n_messages,).

        Raises ValueError for entries other than whole numbers from 0 up, and labels other than 0 and 1.

        >>> counts = Counts.from_matrix(np.array([[2, 1, 0], [0, 3, 1]]), [0, 0])
        >>> counts.messages.tolist(), counts.occurrences.tolist()
        ([[1, 2, 1], [0, 0, 0]], [[2, 4, 1], [0, 0, 0]])
        """
        rows = as_amounts(x)
        n_messages, n_tokens = rows.shape
        labels = as_classes(y, n_messages)
        if np.any(rows.data != np.floor(rows.data)):
            raise ValueError("occurrences are whole numbers")
        cell = labels[entry_rows(rows)] * n_tokens + rows.indices
        messages = np.bincount(cell, minlength=2 * n_tokens).reshape(2, n_tokens)
        occurrences = np.bincount(cell, weights=rows.data, minlength=2 * n_tokens).reshape(2, n_tokens)
        occurrences = occurrences.astype(np.int64)  # sums of whole numbers are exact in float64 up to 2**53
        return cls(
            messages=messages.astype(np.int64),
            occurrences=occurrences,
            class_messages=np.bincount(labels, minlength=2).astype(np.int64),
            class_token_messages=messages.sum(axis=1, dtype=np.int64),
            class_occurrences=occurrences.sum(axis=1, dtype=np.int64),
            vocabulary_size=n_tokens,
        )

    @classmethod
    def of(cls, counts: IntArray, totals: IntArray) -> Self:
        """Make counts from one table, int64 (4, n_tokens), `messages` above `occurrences`, and totals, int64 (7,)."""
        return cls(counts[:2], counts[2:], totals[:2], totals[2:4], totals[4:6], int(totals[6]))

    @property
    def n_tokens(self) -> int:
        """Number of tokens in the per-token arrays."""
        return int(self.messages.shape[1])

    def take(self, tokens: ArrayLike) -> Self:
        """Return the counts of some tokens (indices or a mask) from this vocabulary, with its totals."""
        chosen = np.asarray(tokens)
        return replace(self, messages=self.messages[:, chosen], occurrences=self.occurrences[:, chosen])

    def __add__(self, other: Self) -> Self:
        """Add messages that were learned. Raises ValueError for other tokens or another vocabulary."""
        return self._combined(other, 1)

    def __sub__(self, other: Self) -> Self:
        """Subtract messages that are forgotten. Raises ValueError if some of them were never learned."""
        return self._combined(other, -1)

    def _combined(self, other: Self, sign: int) -> Self:
        if self.messages.shape != other.messages.shape or not np.array_equal(
            self.vocabulary_size, other.vocabulary_size
        ):
            raise ValueError("counts of different tokens or vocabularies cannot be combined")
        arrays = [mine + sign * theirs for mine, theirs in zip(self._arrays(), other._arrays(), strict=True)]
        if sign < 0 and any((array < 0).any() for array in arrays):
            raise ValueError("cannot forget messages that were never learned")
        messages, occurrences, *totals = arrays
        return type(self)(messages, occurrences, totals[0], totals[1], totals[2], self.vocabulary_size)

    def _arrays(self) -> tuple[IntArray, ...]:
        totals = self.class_messages, self.class_token_messages, self.class_occurrences
        return self.messages, self.occurrences, *totals

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return np.array_equal(self.vocabulary_size, other.vocabulary_size) and all(
            np.array_equal(mine, theirs) for mine, theirs in zip(self._arrays(), other._arrays(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash


def log_prob(counts: Counts, estimate: Estimate, alpha: float) -> FloatArray:
    """Log P(token | class) by an estimate, shape (2, n_tokens)."""
    of = OfClass(
        counts.class_messages.reshape(2, -1),
        counts.class_token_messages.reshape(2, -1),
        counts.class_occurrences.reshape(2, -1),
        counts.vocabulary_size,
    )
    return log_quotient(*estimate(counts.messages, counts.occurrences, of, alpha))


class EventModel(ABC):
    """Naive Bayes over messages of a fixed vocabulary, for the classes 0 (ham) and 1 (spam).

    A subclass gives two hooks: `_learn` and `_log_likelihood`. A model over real numbers sets `_rows` to `as_reals`.

    class_count_: int64 (2,), messages learned of each class. n_tokens_: columns of a message matrix.
    """

    class_count_: IntArray
    n_tokens_: int | None = None  # None: nothing was learned
    _rows = staticmethod(as_amounts)

    @abstractmethod
    def _learn(self, x: CsrArray, labels: IntArray) -> None:
        """Store what `_log_likelihood` needs from messages x (n_messages, n_tokens) with labels (n_messages,)."""

    @abstractmethod
    def _log_likelihood(self, x: CsrArray) -> FloatArray:
        """Log P(message | class), shape (n_messages, 2)."""

    def fit(self, x: Matrix, y: ArrayLike) -> Self:
        """Forget everything, and learn x (n_messages, n_tokens) with labels y (n_messages,)."""
        rows = self._rows(x)
        labels = as_classes(y, rows.shape[0])
        self.class_count_, self.n_tokens_ = np.bincount(labels, minlength=2), rows.shape[1]
        self._learn(rows, labels)
        return self

    def joint_log_likelihood(self, x: Matrix) -> FloatArray:
        """Log P(message, class), shape (n_messages, 2). Raises ValueError if nothing was learned."""
        rows = self._rows(x)
        if self.n_tokens_ is None:
            raise ValueError("this model has learned nothing yet: call fit first")
        if rows.shape[1] != self.n_tokens_:
            raise ValueError(f"learned {self.n_tokens_} tokens, but got {rows.shape[1]}")
        return self._log_likelihood(rows) + self.class_log_prior_

    def predict_log_proba(self, x: Matrix) -> FloatArray:
        """Log P(class | message), shape (n_messages, 2)."""
        return normalise(self.joint_log_likelihood(x))

    def predict(self, x: Matrix) -> IntArray:
        """The likelier class of each message, shape (n_messages,); ham if both are equal."""
        joint = self.joint_log_likelihood(x)
        return (joint[:, Label.SPAM] > joint[:, Label.HAM]).astype(np.int64)

    @property
    def class_log_prior_(self) -> FloatArray:
        """Log P(class) = log N_c / N, shape (2,); ½ each if nothing was learned."""
        n_c = self.class_count_
        return log_quotient(n_c, n_c.sum()) if n_c.any() else np.full(2, np.log(0.5))


class CountingModel(EventModel):
    """An event model over token counts. Its formulas are functions of the `Counts` of any subset of tokens.

    alpha: smoothing, the number of times that every event counts as seen in advance; 0 for none.
    """

    counts_: Counts

    def __init__(self, alpha: float = 1.0) -> None:
        if not alpha >= 0:
            raise ValueError("alpha must be 0 or more")
        self.alpha = alpha

    @staticmethod
    @abstractmethod
    def estimate(messages: Any, occurrences: Any, of: OfClass, alpha: float, /) -> tuple[Any, Any]:
        """P(token | class) as numerator and denominator; see `Estimate`."""

    def feature_log_prob(self, counts: Counts) -> FloatArray:
        """Log P(token | class), shape (2, n_tokens)."""
        return log_prob(counts, self.estimate, self.alpha)

    def partial_fit(self, x: Matrix, y: ArrayLike) -> Self:
        """Learn x (n_messages, n_tokens) with labels y (n_messages,) in addition to earlier messages."""
        seen = Counts.from_matrix(x, y)
        return self._become(seen if self.n_tokens_ is None else self.counts_ + seen)

    def unfit(self, x: Matrix, y: ArrayLike) -> Self:
        """Forget messages that were learned. Raises ValueError if these counts were never learned."""
        return self._become(self.counts_ - Counts.from_matrix(x, y))

    @property
    def feature_log_prob_(self) -> FloatArray:
        """Log P(token | class) of all tokens learned, shape (2, n_tokens)."""
        return self.feature_log_prob(self.counts_)

    def _learn(self, x: CsrArray, labels: IntArray) -> None:
        self._become(Counts.from_matrix(x, labels))

    def _become(self, counts: Counts) -> Self:
        self.counts_, self.class_count_, self.n_tokens_ = counts, counts.class_messages, counts.n_tokens
        return self
