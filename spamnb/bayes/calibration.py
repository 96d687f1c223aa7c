"""Turn a message's score into the probability that it is spam."""

import math

# Of the slopes 2.0, 2.2 and 2.4, 2.0 moves the least ham in simulated lives (docs/evidence/accuracy.md). A fit to the
# scores after the first 200 messages of csdmc2010 and Enron1-6 gives 2.97; fits to each alone give 2.5 to 3.3. So 2.0
# is cautious for any mail. The calibration error of csdmc2010 is 0.38 %, with 2.2 it is 0.29 %. The slope is not fitted
# to the user's own mail: people correct wrong verdicts and do nothing about right ones. A map fitted to the mistakes
# would be wrong.
SLOPE = 2.0


def probability(score: float) -> float:
    """P(spam | score) = 1 / (1 + exp(-log_odds(score))), for any score, infinite or not.

    >>> probability(0.0), probability(-math.inf), round(probability(0.6), 4)  # 1 / (1 + exp(-1.2))
    (0.5, 0.0, 0.7685)
    """
    return 0.5 * (1 + math.tanh(0.5 * log_odds(score)))


def log_odds(score: float) -> float:
    """Return the log-odds of that probability: ln(p / (1 - p))."""
    return SLOPE * score


def exact_points(score: float, cutoff: float) -> float:
    """Return the score in SpamAssassin's scale: the cutoff is 5, and each point is a factor of e in the odds.

    >>> round(exact_points(0.0, 0.95), 4)  # 5 - ln(0.95 / 0.05)
    2.0556
    """
    threshold = math.log(cutoff / (1 - cutoff)) if 0 < cutoff < 1 else math.copysign(math.inf, cutoff - 0.5)
    return 5 + log_odds(score) - threshold


def points(score: float, cutoff: float, *, is_spam: bool, most: float = 9.9) -> float:
    """Return `exact_points` with one decimal, rounded towards the verdict.

    So programs that compare it with 5 themselves get the same verdict. It is at most `most`: recipes reject at 10 or
    15, where several rules of SpamAssassin agree, and words alone must not do that. It is made from the score, not from
    the probability, which is 1.0 long before the score ends.

    >>> [points(score, 0.95, is_spam=score > 1.5) for score in (-9.0, 0.0, 1.46, 1.51, 9.0)]
    [-9.9, 2.1, 4.9, 5.1, 9.9]
    """
    rounded = round(max(-most, min(most, exact_points(score, cutoff))), 1) + 0.0  # without a sign before zero
    return max(rounded, 5.0) if is_spam else min(rounded, 4.9)
