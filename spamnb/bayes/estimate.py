"""P(token | class) as the counting event models estimate it: for plain numbers, and for arrays alike.

One message is judged by plain numbers: numpy takes ten times as long to be imported as a message to be judged.

Metsis, Androutsopoulos and Paliouras, "Spam Filtering with Naive Bayes - Which Naive Bayes?", CEAS 2006, sections 3.1
to 3.3. A quantity is a number, or an array of one for each class and token.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Quantity: TypeAlias = float | NDArray[Any]


class OfClass(NamedTuple):
    """What was learned of a class.

    messages: M_c. token_messages: its messages with a token, summed over the vocabulary. occurrences: of all tokens.
    vocabulary: m, how many tokens were learned of either class.
    """

    messages: Any
    token_messages: Any
    occurrences: Any
    vocabulary: Any


Estimate: TypeAlias = Callable[[Any, Any, OfClass, float], tuple[Any, Any]]
"""(messages of the class with the token, occurrences of it in them, the class, α) → a fraction, not yet divided."""


def bernoulli(m_tc: Quantity, _: Quantity, of: OfClass, alpha: float) -> tuple[Quantity, Quantity]:
    """(M_tc + α) / (M_c + 2α)."""
    return m_tc + alpha, of.messages + 2 * alpha


def multinomial(_: Quantity, n_tc: Quantity, of: OfClass, alpha: float) -> tuple[Quantity, Quantity]:
    """(N_tc + α) / (N_c + α m), where each occurrence counts."""
    return n_tc + alpha, of.occurrences + alpha * of.vocabulary


def multinomial_boolean(n_tc: Quantity, _: Quantity, of: OfClass, alpha: float) -> tuple[Quantity, Quantity]:
    """(N_tc + α) / (N_c + α m), where a token counts once in a message."""
    return n_tc + alpha, of.token_messages + alpha * of.vocabulary


def log_odds(spam: tuple[float, float], ham: tuple[float, float]) -> float:
    """log P(token | spam) - log P(token | ham), of these fractions; 0 where both are impossible.

    >>> log_odds((3, 4), (1, 4)) == math.log(3), log_odds((0, 4), (1, 4)), log_odds((0, 0), (0, 4))
    (True, -inf, 0.0)
    """
    above, below = _log(*spam), _log(*ham)
    return 0.0 if above == below else above - below


def _log(numerator: float, denominator: float) -> float:
    return math.log(numerator) - math.log(denominator) if numerator else -math.inf
