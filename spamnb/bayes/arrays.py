"""Array types, and logarithms that give -inf for an impossible event, never NaN and never a warning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spamnb.base.label import Label

if TYPE_CHECKING:
    from scipy.sparse import csr_array, sparray, spmatrix

    Matrix: TypeAlias = sparray[Any, tuple[int, int]] | spmatrix | NDArray[Any]
    CsrArray: TypeAlias = csr_array[Any, tuple[int, int]]

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]


def log(quantity: ArrayLike) -> FloatArray:
    """Natural logarithm of non-negative quantities; log 0 is -inf.

    >>> log([1.0, 0.0]).tolist()
    [0.0, -inf]
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(quantity, dtype=np.float64))


def log_quotient(numerator: ArrayLike, denominator: ArrayLike) -> FloatArray:
    """log(numerator / denominator) of non-negative quantities; 0 / 0 counts as impossible, so -inf."""
    above, below = log(numerator), log(denominator)
    return np.asarray(above - np.where(np.isneginf(below), 0.0, below))


def log_difference(minuend: FloatArray, subtrahend: FloatArray) -> FloatArray:
    """Difference of two arrays of log-probabilities. If both are -inf, it is 0: neither class gains."""
    neither = np.isneginf(minuend) & np.isneginf(subtrahend)
    with np.errstate(invalid="ignore"):
        return np.where(neither, 0.0, minuend - subtrahend)


def normalise(joint: FloatArray) -> FloatArray:
    """Turn joint log likelihoods (n_messages, 2) into log-probabilities of the same shape, by log-sum-exp.

    A message that is impossible in both classes is undecided: each class gets log ½.

    >>> np.exp(normalise(np.array([[-1000.0, -1000.0], [-np.inf, -np.inf], [-np.inf, -3.0]]))).tolist()
    [[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]]
    """
    top = joint.max(axis=1, keepdims=True)
    below = log_difference(joint, top)
    return np.asarray(below - np.log(np.exp(below).sum(axis=1, keepdims=True)))


def weighted_sum(x: CsrArray, log_prob: FloatArray) -> FloatArray:
    """Sum over tokens of value times log-probability, with 0 · -inf = 0.

    x has shape (n_messages, n_tokens), log_prob (2, n_tokens); the result is (n_messages, 2).
    """
    possible = np.isfinite(log_prob)
    if possible.all():
        return np.asarray(x @ log_prob.T, dtype=np.float64)
    total = x @ np.where(possible, log_prob, 0.0).T
    impossible = x @ (~possible).astype(np.float64).T > 0
    return np.where(impossible, -np.inf, total)


def as_amounts(x: Matrix) -> CsrArray:
    """Return amounts of tokens, by rows like `as_reals`. Raises ValueError also for an entry below 0."""
    rows = _by_rows(x)
    if rows.data.size and not (rows.data.min() >= 0 and np.isfinite(rows.data.max())):
        raise ValueError("a message matrix holds amounts of tokens: finite, and 0 or more")
    return rows


def as_reals(x: Matrix) -> CsrArray:
    """Return the matrix by rows, each stored entry unique and not 0; the caller's matrix is unchanged.

    Raises ValueError for an infinite or NaN entry.
    """
    rows = _by_rows(x)
    if rows.data.size and not (np.isfinite(rows.data.min()) and np.isfinite(rows.data.max())):
        raise ValueError("a matrix of real numbers holds only finite numbers")
    return rows


def _by_rows(x: Matrix) -> CsrArray:
    from scipy.sparse import csr_array  # noqa: PLC0415 - 0.35 s, and scoring one message needs none of it

    rows: CsrArray = csr_array(x)  # type: ignore[arg-type]  # any array or sparse matrix of two dimensions
    if not rows.has_canonical_format or not rows.data.all():
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return rows


def as_classes(y: ArrayLike, n_messages: int) -> NDArray[np.intp]:
    """Return labels as class indices of shape (n_messages,): 0 ham, 1 spam. Raises ValueError for anything else."""
    labels = np.asarray(y)
    if labels.shape != (n_messages,):
        raise ValueError(f"{n_messages} messages need labels of shape ({n_messages},), not {labels.shape}")
    if not np.isin(labels, tuple(Label)).all():
        raise ValueError("a label is 0 (ham) or 1 (spam)")
    return labels.astype(np.intp)


def entry_rows(x: CsrArray) -> NDArray[np.intp]:
    """Return the row of each stored entry, shape (n_entries,)."""
    return np.repeat(np.arange(x.shape[0], dtype=np.intp), np.diff(x.indptr))
