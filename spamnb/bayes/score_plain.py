"""The score that ranks messages: means of their tokens' log-odds, each weighted by its own strength.

One mean is over the grams (the beginnings and ends of words), the other over all other tokens. The score combines both.

Here the score of one message is computed in plain numbers; `score_arrays` computes the scores of many in arrays.

The textbook posterior is the sum of the log-odds. It grows with a message's length until different messages have the
same probability 0 or 1, so it ranks badly. A mean does not saturate. The weight of a token grows faster than its
log-odds, as |log-odds|^1.5. This has the effect of dropping weak tokens, without a threshold.
docs/evidence/accuracy.md says what each constant is worth, by benchmarks/ablation.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import compress
from math import sqrt
from operator import mul, not_

# This pulls a message with little evidence to 0, in units of a token's strength. With 60, FAMILY and the power of 1.5
# (1−ROCA)% of csdmc2010, four orders, and Enron1 / 3 / 6, two each, is 0.0139 / 0.153 / 0.0525 / 0.0955. With 20, the
# fourth root and the power of 1 it is 0.0144 / 0.156 / 0.0567 / 0.100.
CAUTION = 60.0

# Tokens of one family, such as the hosts of all Received fields, repeat one another. Division by the cube root of their
# number gives a large family less weight.
FAMILY = -1 / 3

# A token that was never learned has no evidence, but weighs as much as a weak one.
UNKNOWN = 1.0

# The family of the grams. They are many and repeat the words: in one mean with all other tokens they do harm. In their
# own mean they do not share a family's weight. Division by the fourth root of their number cost Enron1 3, Enron3 7 %.
GRAMS = "4:"

# The weight of the mean of the grams, relative to 1 for the mean of the other tokens. (1−ROCA)% over four orders of
# csdmc2010 and two each of Enron1 / 2 / 3 / 4 / 5 / 6, with HTML as one family:
#     0 (without it)  0.0186 / 0.176 / 0.065 / 0.072 / 0.101 / 0.033 / 0.135
#     0.2             0.0169 / 0.160 / 0.055 / 0.059 / 0.090 / 0.030 / 0.108
#     0.3             0.0170 / 0.157 / 0.053 / 0.057 / 0.088 / 0.030 / 0.102
#     0.4             0.0174 / 0.156 / 0.052 / 0.056 / 0.087 / 0.031 / 0.100
GRAMS_WEIGHT = 0.3

# With fewer grams, the mean of the grams is left out: it means nothing yet.
LEAST_GRAMS = 20

# Log-odds below this are 0 except for rounding, which differs between versions of numpy and must not change the weight.
NOTHING = 1e-12


def weights(log_odds: Sequence[float], families: Sequence[str]) -> list[float]:
    """Return the weight of each token of a message in its score. Tokens that were never learned have log-odds 0.

    families: one per token. A token's share of a mean is strength · size^FAMILY; size is the number of tokens of its
    family in the message. Its weight is this share, divided by CAUTION plus the sum of all shares.

    >>> weights([4.0, -1.0], ["", "subject:"])  # 8 / (60 + 9), 1 / (60 + 9)
    [0.11594202898550725, 0.014492753623188406]
    """
    return message_weights(map(strength, log_odds), families)


def strength(log_odds: float) -> float:
    """Return the share of a token that is alone in its family: |log-odds|^1.5, or UNKNOWN without evidence."""
    size = abs(log_odds)
    return size * sqrt(size) if size > NOTHING else UNKNOWN


def message_weights(strengths: Iterable[float], families: Sequence[str]) -> list[float]:
    """Return the weights of the tokens of a message, as `weights` does, for many messages that share tokens."""
    sizes = Counter(families)
    factors: dict[str, float] = {family: size**FAMILY for family, size in sizes.items()} | {GRAMS: 1.0}
    shares = list(map(mul, strengths, map(factors.__getitem__, families)))
    is_gram = [family == GRAMS for family in families]
    of_tokens, of_grams = mean_shares(sizes[GRAMS])
    scale = (
        of_tokens / (CAUTION + sum(compress(shares, map(not_, is_gram)))),
        of_grams / (CAUTION + sum(compress(shares, is_gram))),
    )
    return list(map(mul, shares, map(scale.__getitem__, is_gram)))


def mean_shares(grams: int) -> tuple[float, float]:
    """Return the shares of the two means in the score, for that number of grams: other tokens first, then grams."""
    weight = GRAMS_WEIGHT if grams >= LEAST_GRAMS else 0.0
    return 1 / (1 + weight), weight / (1 + weight)


def score(log_odds: Sequence[float], weights: Sequence[float]) -> float:
    """Return Σ w · log-odds of the tokens of a message. Each token adds its weight times its log-odds.

    >>> score([4.0, -1.0], weights([4.0, -1.0], ["", "subject:"]))  # (32 - 1) / (60 + 9)
    0.4492753623188406
    """
    total: float = sum(map(mul, weights, log_odds))
    return total


def unused_weight(log_odds: Sequence[float], weights: Sequence[float]) -> float:
    """Return the part of the score, from 0 to 1, that no token uses: CAUTION, and tokens without evidence.

    >>> unused_weight([4.0, 0.0], weights([4.0, 0.0], ["", "subject:"]))  # 61 / (60 + 9)
    0.8840579710144928
    """
    return 1 - sum(weight for odds, weight in zip(log_odds, weights, strict=True) if abs(odds) > NOTHING)
