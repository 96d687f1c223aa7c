"""The most telling tokens: those that are frequent and point most clearly to ham or to spam."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spamnb.base.label import Label
from spamnb.bayes.base import Counts
from spamnb.bayes.score_arrays import log_odds_of
from spamnb.bayes.score_plain import GRAMS
from spamnb.config import Scoring
from spamnb.filter.met_tokens import ESTIMATES
from spamnb.ledger.ledger import Ledger
from spamnb.mail.tokens.kinds import is_seen

# The least number of messages that hold a token: a rare token says little, and there are very many. With many learned
# messages this number is larger: the most telling tokens are in far more.
_LEAST, _OF_LEARNED = 5, 1 / 2000
_LOOKED_AT = 2000  # tokens of each side whose texts are read
# The places in which a typed word is looked up, if the person named no place.
_PLACES = ("", "subject:", "from:", "from-name:", "url:", "message-id:", "received:", "opening:", "closing:")


# A word at a place, and a pair of words, point the same way as the words themselves. So do grams.
_DOUBLES = ("opening:", "opening-pair:", "closing:", "subject-pair:")


@dataclass(frozen=True, slots=True)
class Word:
    """A token, the number of learned messages with it, and its log-odds (above 0: spam)."""

    token: str
    ham: int
    spam: int
    log_odds: float

    @property
    def strength(self) -> float:
        """How much it guides the filter, by how clear and how frequent it is."""
        return float(_strength(np.abs(self.log_odds), np.array(self.ham + self.spam)))


def _strength(log_odds: NDArray[np.float64], messages: NDArray[np.int64]) -> NDArray[np.float64]:
    strength: NDArray[np.float64] = log_odds * np.sqrt(messages)
    return strength


class TellingWords:
    """Finds the tokens that guide the filter."""

    def __init__(self, ledger: Ledger, scoring: Scoring) -> None:
        self._ledger = ledger
        self._lessons = ledger.lessons
        self._estimate = ESTIMATES[scoring.model]
        self._alpha = scoring.alpha

    def most(self, most: int, kinds: Sequence[str] | None = None, *, bare: bool = False) -> dict[Label, list[Word]]:
        """Return the most telling tokens of each class, by |log-odds| times the root of the messages that hold them.

        Tokens that a person sees in a message come before the others. kinds: only tokens with one of these prefixes
        (`subject:`); else all but those that double words. bare: only words of the text.
        """
        learned = int(self._lessons.totals()[:2].sum())
        often = self._ledger.lessons.frequent(max(_LEAST, round(_OF_LEARNED * learned)), kinds)
        messages, log_odds = often.counts.messages, self._log_odds(often.counts)
        ham, spam = messages
        strength = _strength(log_odds, messages.sum(axis=0))
        order = np.argsort(strength, kind="stable")
        reading = _LOOKED_AT if bare or kinds is None else most
        chosen = {Label.HAM: order[:reading], Label.SPAM: order[::-1][:reading]}
        texts = self._lessons.texts({int(often.ids[place]) for places in chosen.values() for place in places})

        words: dict[Label, list[Word]] = {label: [] for label in chosen}
        for label, places in chosen.items():
            sign = 1 if label is Label.SPAM else -1
            for place in places.tolist():
                word = Word(texts[int(often.ids[place])], int(ham[place]), int(spam[place]), float(log_odds[place]))
                is_double = word.token.startswith((*GRAMS, *_DOUBLES))
                is_asked = ":" not in word.token if bare else kinds is not None or not is_double
                if sign * word.log_odds > 0 and is_asked:
                    words[label].append(word)
        return {label: sorted(side[:most], key=lambda word: not is_seen(word.token)) for label, side in words.items()}

    def _log_odds(self, counts: Counts) -> NDArray[np.float64]:
        return log_odds_of(counts, self._estimate, self._alpha)

    def word(self, token: str) -> Word | None:
        """Return one token, or None if no learned message holds it."""
        counts = self._lessons.counts([token])
        ham, spam = counts.messages[:, 0].tolist()
        return Word(token, ham, spam, float(self._log_odds(counts)[0])) if ham or spam else None

    def looked_up(self, typed: str) -> list[Word]:
        """Return the learned tokens for a typed word: the token itself, and the word in each usual place."""
        return [word for word in (self.word(place + typed) for place in _PLACES) if word is not None]

    def beginning_with(self, typed: str, most: int) -> list[str]:
        """Return other tokens that begin with this text, without grams, which are not words."""
        tokens = self._lessons.beginning_with(typed, most + 1)
        return [token for token in tokens if token != typed and not token.startswith(GRAMS)][:most]
