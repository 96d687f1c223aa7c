"""Relative term frequencies, the real-valued attributes of the Gaussian and the flexible model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from spamnb.bayes.arrays import as_csr, entry_rows

if TYPE_CHECKING:
    from spamnb.bayes.arrays import CsrArray, Matrix


def relative_frequencies(x: Matrix, lengths: ArrayLike | None = None) -> CsrArray:
    """Occurrences (n_messages, n_tokens) divided by each message's length, as Metsis et al. 2006 section 3.4.

    lengths: (n_messages,), occurrences of all tokens in each message, selected as attributes or not; by
        default the sums of the rows. A message without tokens may have length 0. Raises ValueError else.

    >>> relative_frequencies(np.array([[3, 1], [0, 0]]), lengths=[8, 5]).toarray().tolist()
    [[0.375, 0.125], [0.0, 0.0]]
    """
    rows = as_csr(x).astype(np.float64)
    length = np.asarray(rows.sum(axis=1) if lengths is None else lengths, dtype=np.float64)
    length = length[entry_rows(rows)]
    if not (length > 0).all():
        raise ValueError("a message that holds tokens has a length above 0")
    rows.data = rows.data / length
    return rows
