"""The filter: a message's tokens and their counts make a score, a probability and a verdict.

Reading is `mail`, the event models are `bayes`, the counts are the ledger's; this module says how they meet.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from spamnb.bayes.base import Counts
from spamnb.bayes.bernoulli import Bernoulli
from spamnb.bayes.calibration import LogisticMap
from spamnb.bayes.multinomial import MultinomialBoolean, MultinomialTF
from spamnb.bayes.score import mean_log_odds
from spamnb.config import Model, Scoring
from spamnb.ledger.learned import Learned, Lesson, Teacher
from spamnb.mail.reading import Reading
from spamnb.mail.tokenizer import VERSION

__all__ = ["Clue", "Explanation", "Filter", "Judgement", "Verdict", "lesson"]

CountingModel = Bernoulli | MultinomialTF | MultinomialBoolean

_MODELS: dict[Model, type[CountingModel]] = {
    "bernoulli": Bernoulli,
    "multinomial": MultinomialTF,
    "multinomial-boolean": MultinomialBoolean,
}


_MAP = LogisticMap(slope=2.0, intercept=0.0)


class Verdict(StrEnum):
    """What the filter says of a message."""

    SPAM = "spam"
    HAM = "ham"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, the calibrated probability of spam, and the score (mean log-odds) it was made from."""

    verdict: Verdict
    probability: float
    log_odds: float


@dataclass(frozen=True, slots=True)
class Clue:
    """What one token says. `log_odds` above 0 speaks for spam; ham and spam are messages that held it."""

    token: str
    ham: int
    spam: int
    log_odds: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """A judgement with its clues, the strongest first, and the messages that taught the first of them."""

    judgement: Judgement
    clues: tuple[Clue, ...]
    teachers: dict[str, list[Teacher]]
    tokens: int
    known: int


class Filter:
    """Scores messages with the counts of a ledger as they are at that moment."""

    def __init__(self, learned: Learned, scoring: Scoring) -> None:
        self._learned = learned
        self._scoring = scoring
        self._model = _MODELS[scoring.model](alpha=scoring.alpha)

    def judge(self, reading: Reading) -> Judgement:
        """Score a message and say what it is; a filter that has learned nothing of a class is unsure."""
        counts = self._learned.counts(list(reading.tokens))
        return self._judge(counts, self._log_odds(counts))

    def explain(self, reading: Reading, strongest: int = 5) -> Explanation:
        """Judge a message, and say why."""
        tokens = list(reading.tokens)
        counts = self._learned.counts(tokens)
        log_odds = self._log_odds(counts)
        ham, spam = counts.messages.tolist()
        clues = sorted(
            (Clue(*clue) for clue in zip(tokens, ham, spam, log_odds.tolist(), strict=True) if clue[3] != 0.0),
            key=lambda clue: (-abs(clue.log_odds), -clue.ham - clue.spam, clue.token),
        )
        teachers = self._learned.teachers([clue.token for clue in clues[:strongest]])
        known = sum(h + s > 0 for h, s in zip(ham, spam, strict=True))
        return Explanation(self._judge(counts, log_odds), tuple(clues), teachers, len(tokens), known)

    def _log_odds(self, counts: Counts) -> NDArray[np.float64]:
        """What each token says, float64 (n_tokens,); 0 for tokens never learned and for weak ones."""
        log_odds = self._model.token_log_odds(counts)
        return np.where(counts.messages.sum(axis=0) > 0, log_odds, 0.0)

    def _judge(self, counts: Counts, log_odds: NDArray[np.float64]) -> Judgement:
        if not counts.class_messages.all():
            return Judgement(Verdict.UNSURE, 0.5, 0.0)
        score = mean_log_odds(log_odds, None, 0.4)
        probability = _MAP.probability(score)
        verdict = (
            Verdict.SPAM
            if probability >= self._scoring.spam_cutoff
            else Verdict.HAM
            if probability <= self._scoring.ham_cutoff
            else Verdict.UNSURE
        )
        return Judgement(verdict, probability, score)


def lesson(reading: Reading, label: int, why: str, at: float) -> Lesson:
    """What is learned from a message that someone called ham (0) or spam (1)."""
    return Lesson(reading.digest, label, reading.tokens, VERSION, reading.summary, why, at)
