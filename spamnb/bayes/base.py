"""The counts an event model learns from, and the frame that all event models fill in.

A model is three hooks: count messages, derive what follows from the counts, and the log likelihood of
messages under each class. Counts are added and subtracted, so learning and forgetting are exact.
Classes are rows: 0 ham, 1 spam.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from spamnb.bayes.arrays import (
    HAM,
    SPAM,
    FloatArray,
    IntArray,
    as_classes,
    as_csr,
    entry_rows,
    log_difference,
    log_quotient,
    normalise,
)

if TYPE_CHECKING:
    from spamnb.bayes.arrays import CsrArray, Matrix


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What every counting event model needs to know of some tokens: its sufficient statistics.

    The per-token arrays may cover only the tokens of one message; the class totals and the vocabulary size
    always speak of the whole vocabulary, so log-probabilities come out the same.

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
    vocabulary_size: int

    def __post_init__(self) -> None:
        if self.messages.shape != self.occurrences.shape or self.messages.shape[:1] != (2,):
            raise ValueError("messages and occurrences must have the same shape (2, n_tokens)")

    @classmethod
    def from_matrix(cls, x: Matrix, y: ArrayLike) -> Self:
        """Count the messages of x (n_messages, n_tokens; whole occurrences) with labels y (n_messages,).

        Raises ValueError for entries other than whole numbers from 0 up, and labels other than 0 and 1.

        >>> counts = Counts.from_matrix(np.array([[2, 1, 0], [0, 3, 1]]), [0, 0])
        >>> counts.messages.tolist(), counts.occurrences.tolist()
        ([[1, 2, 1], [0, 0, 0]], [[2, 4, 1], [0, 0, 0]])
        """
        rows = as_csr(x)
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

    @property
    def n_tokens(self) -> int:
        """Number of tokens that the per-token arrays cover."""
        return int(self.messages.shape[1])

    def take(self, tokens: ArrayLike) -> Self:
        """The counts of some tokens (indices or a mask) out of the same vocabulary, with the same totals."""
        chosen = np.asarray(tokens)
        return type(self)(
            self.messages[:, chosen],
            self.occurrences[:, chosen],
            self.class_messages,
            self.class_token_messages,
            self.class_occurrences,
            self.vocabulary_size,
        )

    def __add__(self, other: Self) -> Self:
        """Both sets of messages learned. Raises ValueError for other tokens or another vocabulary."""
        return self._combined(other, 1)

    def __sub__(self, other: Self) -> Self:
        """The messages of `other` forgotten. Raises ValueError if some of them were never learned."""
        return self._combined(other, -1)

    def _combined(self, other: Self, sign: int) -> Self:
        if self.messages.shape != other.messages.shape or self.vocabulary_size != other.vocabulary_size:
            raise ValueError("counts of different tokens or vocabularies cannot be combined")
        arrays = [mine + sign * theirs for mine, theirs in zip(self._arrays(), other._arrays(), strict=True)]
        if sign < 0 and any((array < 0).any() for array in arrays):
            raise ValueError("cannot forget messages that were never learned")
        messages, occurrences, n_c, token_messages, all_occurrences = arrays
        return type(self)(messages, occurrences, n_c, token_messages, all_occurrences, self.vocabulary_size)

    def _arrays(self) -> tuple[IntArray, ...]:
        return (
            self.messages,
            self.occurrences,
            self.class_messages,
            self.class_token_messages,
            self.class_occurrences,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return self.vocabulary_size == other.vocabulary_size and all(
            np.array_equal(mine, theirs) for mine, theirs in zip(self._arrays(), other._arrays(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash


class Statistics(Protocol):
    """What a model learned from its messages, as a value that can be added to and subtracted from."""

    @property
    def class_messages(self) -> IntArray:
        """int64 (2,): messages of each class."""

    @property
    def n_tokens(self) -> int:
        """Number of tokens, the columns of a message matrix."""

    def __add__(self, other: Self, /) -> Self: ...

    def __sub__(self, other: Self, /) -> Self: ...


S = TypeVar("S", bound=Statistics)
D = TypeVar("D")


class EventModel(ABC, Generic[S, D]):
    """Naive Bayes over messages of a fixed vocabulary, for the classes 0 (ham) and 1 (spam).

    class_prior_alpha: None for the class prior N_c / N, or a number α for (N_c + α) / (N + 2α).
    fit_prior: False for ½ each, whatever was learned.

    A subclass gives three hooks: `_count`, `_derive` and `_log_likelihood`.
    """

    def __init__(self, *, class_prior_alpha: float | None = None, fit_prior: bool = True) -> None:
        if class_prior_alpha is not None and not class_prior_alpha >= 0:
            raise ValueError("class_prior_alpha is None, or a number that is 0 or more")
        self.class_prior_alpha = class_prior_alpha
        self.fit_prior = fit_prior
        self._statistics: S | None = None
        self._derived: D | None = None

    @abstractmethod
    def _count(self, x: CsrArray, y: ArrayLike) -> S:
        """The statistics of labelled messages."""

    @abstractmethod
    def _derive(self, statistics: S) -> D:
        """What follows from the statistics and scoring needs; computed when first asked for."""

    @abstractmethod
    def _log_likelihood(self, x: CsrArray) -> FloatArray:
        """Log P(message | class), shape (n_messages, 2)."""

    def fit(self, x: Matrix, y: ArrayLike) -> Self:
        """Learn x (n_messages, n_tokens) with labels y (n_messages,), and forget everything before."""
        return self._become(self._count(as_csr(x), y))

    def partial_fit(self, x: Matrix, y: ArrayLike) -> Self:
        """Learn x (n_messages, n_tokens) with labels y (n_messages,) on top of what is known."""
        seen = self._count(as_csr(x), y)
        return self._become(seen if self._statistics is None else self._statistics + seen)

    def unfit(self, x: Matrix, y: ArrayLike) -> Self:
        """Forget messages that were learned. Raises ValueError if they cannot have been."""
        return self._become(self.statistics_ - self._count(as_csr(x), y))

    def joint_log_likelihood(self, x: Matrix) -> FloatArray:
        """Log P(message, class), shape (n_messages, 2)."""
        rows = as_csr(x)
        if rows.shape[1] != self.statistics_.n_tokens:
            raise ValueError(f"learned {self.statistics_.n_tokens} tokens, but got {rows.shape[1]}")
        return self._log_likelihood(rows) + self.class_log_prior_

    def predict_log_proba(self, x: Matrix) -> FloatArray:
        """Log P(class | message), shape (n_messages, 2)."""
        return normalise(self.joint_log_likelihood(x))

    def predict_proba(self, x: Matrix) -> FloatArray:
        """P(class | message), shape (n_messages, 2)."""
        return np.exp(self.predict_log_proba(x))

    def predict(self, x: Matrix) -> IntArray:
        """The likelier class of each message, shape (n_messages,); ham where both are equal."""
        joint = self.joint_log_likelihood(x)
        return (joint[:, SPAM] > joint[:, HAM]).astype(np.int64)

    def class_log_prior(self, statistics: S) -> FloatArray:
        """Log P(class) from the numbers of messages, shape (2,); ½ each where nothing was learned."""
        n_c = statistics.class_messages
        alpha = self.class_prior_alpha or 0.0
        if not self.fit_prior or n_c.sum() + alpha == 0:
            return np.full(2, np.log(0.5))
        return log_quotient(n_c + alpha, n_c.sum() + 2 * alpha)

    @property
    def statistics_(self) -> S:
        """Everything learned so far. Raises ValueError before anything was."""
        if self._statistics is None:
            raise ValueError("this model has learned nothing yet: call fit or partial_fit first")
        return self._statistics

    @property
    def class_count_(self) -> IntArray:
        """Messages learned of each class, int64 (2,)."""
        return self.statistics_.class_messages

    @property
    def class_log_prior_(self) -> FloatArray:
        """Log P(class), shape (2,)."""
        return self.class_log_prior(self.statistics_)

    @property
    def derived_(self) -> D:
        """What follows from the statistics, kept until the next learning."""
        if self._derived is None:
            self._derived = self._derive(self.statistics_)
        return self._derived

    def _become(self, statistics: S) -> Self:
        self._statistics, self._derived = statistics, None
        return self


class CountingModel(EventModel[Counts, D]):
    """An event model over token counts; its formulas are functions of `Counts`, of any subset of tokens.

    alpha: smoothing, the times every event is taken to have been seen before; 0 for none.
    """

    def __init__(self, alpha: float = 1.0, *, class_prior_alpha: float | None = None, fit_prior: bool = True) -> None:
        super().__init__(class_prior_alpha=class_prior_alpha, fit_prior=fit_prior)
        if not alpha >= 0:
            raise ValueError("alpha is a number that is 0 or more")
        self.alpha = alpha

    @abstractmethod
    def feature_log_prob(self, counts: Counts) -> FloatArray:
        """Log P(token | class), shape (2, n_tokens)."""

    def token_log_odds(self, counts: Counts) -> FloatArray:
        """log P(token | spam) - log P(token | ham), shape (n_tokens,); 0 where both are impossible."""
        log_prob = self.feature_log_prob(counts)
        return log_difference(log_prob[SPAM], log_prob[HAM])

    @property
    def feature_log_prob_(self) -> FloatArray:
        """Log P(token | class) of all tokens learned, shape (2, n_tokens)."""
        return self.feature_log_prob(self.statistics_)

    def _count(self, x: CsrArray, y: ArrayLike) -> Counts:
        return Counts.from_matrix(x, y)
