"""P(token | class) as the counting event models estimate it, for plain numbers and for arrays.

Judging one message uses plain numbers: importing numpy takes ten times as long as judging a message.

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
    """The lessons of one class, in sums.

    messages: M_c. token_messages: sum over the vocabulary of the messages with each token. occurrences: of all tokens.
    vocabulary: m, the number of learned tokens of both classes.
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
    """(N_tc + α) / (N_c + α m). Each occurrence counts."""
    return n_tc + alpha, of.occurrences + alpha * of.vocabulary


def multinomial_boolean(n_tc: Quantity, _: Quantity, of: OfClass, alpha: float) -> tuple[Quantity, Quantity]:
    """(N_tc + α) / (N_c + α m). A token counts once per message."""
    return n_tc + alpha, of.token_messages + alpha * of.vocabulary


def log_odds(of_spam: float, of_ham: float) -> float:
    """Return log P(token | spam) - log P(token | ham) of these logarithms; 0 if both are impossible.

    >>> log_odds(log(3, 4), log(1, 4)) == math.log(3), log_odds(log(0, 4), log(1, 4)), log_odds(log(0, 0), log(0, 4))
    (True, -inf, 0.0)
    """
    return 0.0 if of_spam == of_ham else of_spam - of_ham


def log(numerator: float, denominator: float) -> float:
    """Return the logarithm of a fraction; log 0 is -inf."""
    return math.log(numerator) - math.log(denominator) if numerator else -math.inf
