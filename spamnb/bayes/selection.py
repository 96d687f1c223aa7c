"""Attributes: the tokens that tell most about the class, and the part of a message that each of them makes up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from spamnb.bayes.arrays import FloatArray, IntArray, as_amounts, entry_rows
from spamnb.bayes.base import Counts

if TYPE_CHECKING:
    from spamnb.bayes.arrays import CsrArray, Matrix

DECIMALS = 12
"""Gains are compared to this number of decimals, so that ties do not depend on rounding."""


def information_gain(counts: Counts) -> FloatArray:
    """Information gain in bits: what each token's presence tells about the class, shape (n_tokens,).

    IG(X, C) = Σ_x Σ_c P(x, c) log2 (P(x, c) / (P(x) P(c))), x over present and absent; as in Metsis et
    al. 2006.

    >>> x = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]])  # tells the class, does not, is never seen
    >>> information_gain(Counts.from_matrix(x, [1, 1, 0, 0])).tolist()
    [1.0, 0.0, 0.0]
    """
    n = max(int(counts.class_messages.sum()), 1)
    present = counts.messages / n
    absent = (counts.class_messages[:, np.newaxis] - counts.messages) / n
    p_c = counts.class_messages[:, np.newaxis] / n
    gain = np.zeros(counts.n_tokens)
    for p_xc in (present, absent):
        independent = p_xc.sum(axis=0) * p_c
        ratio = np.divide(p_xc, independent, out=np.ones_like(p_xc), where=p_xc > 0)  # 0 · log 0 = 0
        gain += (p_xc * np.log2(ratio)).sum(axis=0)
    return np.maximum(gain, 0.0)


def select(counts: Counts, n: int, minimum_messages: int = 5) -> IntArray:
    """Indices of the n tokens with the highest information gain, sorted, int64 (at most n,).

    Tokens in fewer than `minimum_messages` messages are left out. If two gains are equal, the lower index comes first.
    """
    candidates = np.flatnonzero(counts.messages.sum(axis=0) >= minimum_messages)
    gain = np.round(information_gain(counts.take(candidates)), DECIMALS)
    best = np.argsort(-gain, kind="stable")[:n]
    return np.sort(candidates[best]).astype(np.int64)


def relative_frequencies(x: Matrix, lengths: ArrayLike | None = None) -> CsrArray:
    """Occurrences (n_messages, n_tokens) divided by each message's length, as Metsis et al. 2006 section 3.4.

    lengths: (n_messages,), occurrences of all tokens in each message, whether they are attributes or not; by default
    the sums of the rows. A message without tokens may have length 0. Otherwise raises ValueError.

    >>> relative_frequencies(np.array([[3, 1], [0, 0]]), lengths=[8, 5]).toarray().tolist()
    [[0.375, 0.125], [0.0, 0.0]]
    """
    rows = as_amounts(x).astype(np.float64)
    length = np.asarray(rows.sum(axis=1) if lengths is None else lengths, dtype=np.float64)
    length = length[entry_rows(rows)]
    if not (length > 0).all():
        raise ValueError("a message with tokens must have a length above 0")
    rows.data = rows.data / length
    return rows
