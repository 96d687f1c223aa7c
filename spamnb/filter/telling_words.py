"""The tokens that tell most: those that speak most clearly for ham or for spam, and are met often."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spamnb.base.label import Label
from spamnb.bayes.base import Counts
from spamnb.bayes.scores import log_odds_of
from spamnb.config import Scoring
from spamnb.filter.judge import Filter
from spamnb.ledger.ledger import Ledger

# Messages that hold a token: what is met less often says little, and there are very many such tokens. Of many
# learned messages a larger number: those that tell most are in far more.
_LEAST, _OF_LEARNED = 5, 1 / 2000
_LOOKED_AT = 2000  # tokens of each side whose texts are read


@dataclass(frozen=True, slots=True)
class Word:
    """A token, in how many learned messages it is, and its log-odds (above 0: for spam)."""

    token: str
    ham: int
    spam: int
    log_odds: float


class TellingWords(Filter):
    """Finds what the filter goes by."""

    def __init__(self, ledger: Ledger, scoring: Scoring) -> None:
        super().__init__(ledger.lessons, scoring)
        self._ledger = ledger

    def most(self, most: int, kinds: Sequence[str] | None = None, *, bare: bool = False) -> dict[Label, list[Word]]:
        """For each class the tokens that tell most of it, by |log-odds| times the root of the messages they are in.

        kinds: only tokens with one of these prefixes (`subject:`). bare: only words of the text.
        """
        learned = int(self._lessons.totals()[:2].sum())
        found = self._ledger.lessons.often(max(_LEAST, round(_OF_LEARNED * learned)), kinds)
        messages, log_odds = found.counts.messages, self._of(found.counts)
        ham, spam = messages
        strength = log_odds * np.sqrt(messages.sum(axis=0))
        order = np.argsort(strength, kind="stable")
        reading = _LOOKED_AT if bare else most
        chosen = {Label.HAM: order[:reading], Label.SPAM: order[::-1][:reading]}
        texts = self._lessons.texts({int(found.ids[place]) for places in chosen.values() for place in places})

        def words(label: Label, places: NDArray[np.int64]) -> list[Word]:
            sign = 1 if label is Label.SPAM else -1
            some = [
                Word(texts[int(found.ids[place])], int(ham[place]), int(spam[place]), float(log_odds[place]))
                for place in places.tolist()
                if sign * log_odds[place] > 0
            ]
            return [one for one in some if not bare or ":" not in one.token][:most]

        return {label: words(label, places) for label, places in chosen.items()}

    def _of(self, counts: Counts) -> NDArray[np.float64]:
        return log_odds_of(counts, self._estimate, self._scoring.alpha)

    def word(self, token: str) -> Word | None:
        """One token, or None where no learned message holds it."""
        counts = self._lessons.counts([token])
        ham, spam = counts.messages[:, 0].tolist()
        return Word(token, ham, spam, float(self._of(counts)[0])) if ham or spam else None
