"""Random labelled message matrices, the same for the same seed."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import csr_array

Corpus = tuple[csr_array, np.ndarray]


def random_corpus(seed: int, *, largest: int = 40, whole: bool = True) -> Corpus:
    """Occurrences (or fractions) of tokens in messages of both classes, spam more often than ham."""
    rng = np.random.default_rng(seed)
    n_messages, n_tokens = int(rng.integers(4, largest)), int(rng.integers(2, largest))
    y = (rng.random(n_messages) < 0.7).astype(np.int64)
    y[:3] = 0, 1, 1
    lean = rng.gamma(0.5, size=(2, n_tokens))
    x = rng.poisson(lean[y]).astype(np.float64)
    if not whole:
        x /= np.maximum(x.sum(axis=1, keepdims=True), 1.0) * rng.uniform(1.0, 3.0, size=(n_messages, 1))
    return csr_array(x), y


def real_corpus(seed: int, *, largest: int = 40, scales: tuple[int, int] = (-3, 3)) -> Corpus:
    """Real numbers of any sign, a part of them 0: each column has a mean and a scale (10 to a power) of its own."""
    x, y = random_corpus(seed, largest=largest)
    rng = np.random.default_rng(seed + 1)
    mean, scale = rng.normal(scale=10, size=(2, x.shape[1])), 10.0 ** rng.integers(*scales, size=x.shape[1])
    values = (mean[y] + rng.normal(size=x.shape)) * scale
    return csr_array(np.where(rng.random(x.shape) < 0.3, 0.0, values)), y


@pytest.fixture(scope="session")
def real() -> Callable[..., Corpus]:
    """`real(seed)` gives a matrix of real numbers (n_messages, n_columns) and labels (n_messages,)."""
    return real_corpus


@pytest.fixture(scope="session")
def corpus() -> Callable[..., Corpus]:
    """`corpus(seed)` gives a matrix (n_messages, n_tokens) and labels (n_messages,)."""
    return random_corpus
