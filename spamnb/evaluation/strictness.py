"""How strict the filter is, by three names, and what each would have done to a person's learned mail.

The page Tune and `spamnb choose spam_cutoff` show the same rows.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spamnb.config.chosen import STRICTNESS
from spamnb.evaluation.cutoffs import AtCutoff, at_cutoffs

_WORDS = {
    "gentle": "Junk gets only what is surely spam. More spam stays in the inbox.",
    "normal": "The default. Junk gets what is clearly spam.",
    "strict": "Junk also gets what is probably spam. Look there more often for mail that you want.",
}


class Level(NamedTuple):
    """A name for a spam cutoff, and its effect; None without learned mail of both kinds."""

    name: str
    cutoff: float
    words: str
    effect: AtCutoff | None = None

    @property
    def sentence(self) -> str:
        """Return what it would have done to the learned mail, in a sentence; "" if nobody knows.

        >>> Level("normal", 0.95, "", AtCutoff(0.95, 1011, 2, 467, 450)).sentence
        'In your learned mail, 450 of 467 spam and 2 of 1,011 wanted messages would go to Junk.'
        """
        at = self.effect
        if at is None:
            return ""
        spam, ham = f"{at.caught:,} of {at.spam:,} spam", f"{at.lost:,} of {at.ham:,} wanted messages"
        return f"In your learned mail, {spam} and {ham} would go to Junk."


def levels(is_spam: NDArray[np.bool_], probability: NDArray[np.float64]) -> Sequence[Level]:
    """Return the three levels, the gentlest first, with what each does to messages: bool (n,) and float64 (n,)."""
    named = [Level(name, cutoff, _WORDS[name]) for name, cutoff in STRICTNESS.items()]
    if not is_spam.any() or is_spam.all():
        return named
    effects = at_cutoffs(is_spam, probability, list(STRICTNESS.values()))
    return [level._replace(effect=effect) for level, effect in zip(named, effects, strict=True)]
