"""Which tokens to use as attributes: those whose presence tells most about the class."""

from __future__ import annotations

import numpy as np

from spamnb.bayes.arrays import FloatArray, IntArray
from spamnb.bayes.base import Counts

DECIMALS = 12
"""Gains are compared to so many decimals: below that lies rounding, and ties must not hang on it."""


def information_gain(counts: Counts) -> FloatArray:
    """Information gain in bits of each token's presence about the class, shape (n_tokens,).

    IG(X, C) = Σ_x Σ_c P(x, c) log2 (P(x, c) / (P(x) P(c))), x over present and absent; as in Metsis et
    al. 2006.

    >>> x = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]])  # class: told, not told, never seen
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
    """Indices of the n tokens of highest information gain, sorted, int64 (at most n,).

    Tokens in fewer than `minimum_messages` messages are left out. Of equal gains the lower index goes first.
    """
    candidates = np.flatnonzero(counts.messages.sum(axis=0) >= minimum_messages)
    gain = np.round(information_gain(counts.take(candidates)), DECIMALS)
    best = np.argsort(-gain, kind="stable")[:n]
    return np.sort(candidates[best]).astype(np.int64)
