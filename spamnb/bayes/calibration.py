"""From a message's score to the probability that it is spam."""

import math

# Fitted to each of csdmc2010 and Enron1-6 by itself, the slope is 2.5 to 3.1, so it holds for any mail; the intercept
# is -1.2 to 2.9 and does not: 0 errs towards keeping mail. They are not fitted to the user's own mail: people correct
# the filter where it is wrong and do nothing where it is right, and a map fitted to the mistakes alone would be wrong.
SLOPE = 2.5
INTERCEPT = 0.0


def probability(score: float) -> float:
    """P(spam | score) = 1 / (1 + exp(-(SLOPE · score + INTERCEPT))), for any score, infinite or not.

    >>> probability(0.0), probability(-math.inf), round(probability(0.4), 4)  # 1 / (1 + 1/e)
    (0.5, 0.0, 0.7311)
    """
    return 0.5 * (1 + math.tanh(0.5 * (SLOPE * score + INTERCEPT)))


def points(score: float, cutoff: float, *, is_spam: bool, most: float = 9.9) -> float:
    """The score in SpamAssassin's scale, of which 5 is the cutoff and a point a factor of e in the odds.

    With one decimal, and rounded towards the verdict: programs that compare it with 5 themselves find the same. At most
    `most`, since recipes reject at 10 or 15 what rules of SpamAssassin agree on, which words alone must not do. It is
    made from the score, not from the probability, which is 1.0 long before the score ends.

    >>> [points(score, 0.95, is_spam=score > 1.2) for score in (-9.0, 0.0, 1.19, 1.21, 9.0)]
    [-9.9, 2.1, 4.9, 5.1, 9.9]
    """
    threshold = math.log(cutoff / (1 - cutoff)) if 0 < cutoff < 1 else math.copysign(math.inf, cutoff - 0.5)
    exact = 5 + SLOPE * score + INTERCEPT - threshold
    rounded = round(max(-most, min(most, exact)), 1) + 0.0  # without a sign before zero
    return max(rounded, 5.0) if is_spam else min(rounded, 4.9)
