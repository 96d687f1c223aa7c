"""The filter: a message's tokens and their counts make a score, a probability and a verdict.

Reading is `mail`, the event models are `bayes`, the counts are the ledger's; this module says how they meet.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from spamnb.bayes.base import Counts
from spamnb.bayes.bernoulli import Bernoulli
from spamnb.bayes.calibration import LogisticMap
from spamnb.bayes.multinomial import MultinomialBoolean, MultinomialTF
from spamnb.bayes.score import score, weights
from spamnb.config import Model, Scoring
from spamnb.ledger.learned import Teacher
from spamnb.mail.reading import Reading

__all__ = ["Clue", "Explanation", "Filter", "FrozenFilter", "Judgement", "Verdict"]

CountingModel = Bernoulli | MultinomialTF | MultinomialBoolean

_MODELS: dict[Model, type[CountingModel]] = {
    "bernoulli": Bernoulli,
    "multinomial": MultinomialTF,
    "multinomial-boolean": MultinomialBoolean,
}


# From score to probability. Fitted to each of csdmc2010 and Enron1-6 by itself, the slope is 2.5 to 3.1, so it holds
# for any mail; the intercept is -1.2 to 2.9 and does not: 0 errs towards keeping mail. It is not fitted to the user's
# own mail: people correct the filter where it is wrong and say nothing where it is right, and a map fitted to the
# mistakes alone would be a wrong one.
_MAP = LogisticMap(slope=2.5, intercept=0.0)


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
    """What one token says. `log_odds` above 0 speaks for spam; ham and spam are learned messages that hold it.

    `weight`: how much it is heard in the score.
    """

    token: str
    ham: int
    spam: int
    log_odds: float
    weight: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """A judgement with its clues, the strongest first, and the messages that taught the first of them."""

    judgement: Judgement
    clues: tuple[Clue, ...]
    teachers: dict[str, list[Teacher]]
    tokens: int

    @property
    def known(self) -> int:
        """How many of the message's tokens were ever learned."""
        return len(self.clues)


class Memory(Protocol):
    """What a filter scores with; the ledger's `Learned` is one."""

    def counts(self, tokens: Sequence[str], /) -> Counts:
        """The counts of these tokens."""

    def teachers(self, tokens: Sequence[str], /) -> dict[str, list[Teacher]]:
        """For each token, learned messages that hold it."""


_IGNORANT = Judgement(Verdict.UNSURE, 0.5, 0.0)
_MOST_SAID = 200_000  # tokens, in some 30 MB


class Filter:
    """Scores messages with the counts of its memory as they are at that moment."""

    def __init__(self, learned: Memory, scoring: Scoring) -> None:
        self._learned = learned
        self._scoring = scoring
        self._model = _MODELS[scoring.model](alpha=scoring.alpha)

    def judge(self, reading: Reading) -> Judgement:
        """Score a message and say what it is; a filter that has learned nothing of a class is unsure."""
        tokens = list(reading.tokens)
        counts = self._learned.counts(tokens)
        return self._judge(tokens, self._log_odds(counts)) if counts.class_messages.all() else _IGNORANT

    def explain(self, reading: Reading, strongest: int = 5) -> Explanation:
        """Judge a message, and say why."""
        tokens = list(reading.tokens)
        counts = self._learned.counts(tokens)
        log_odds = self._log_odds(counts)
        said = (tokens, *counts.messages.tolist(), log_odds.tolist(), weights(log_odds, _crowds(tokens)).tolist())
        clues = sorted(
            (clue for clue in map(Clue, *said) if clue.ham or clue.spam),
            key=lambda clue: (-abs(clue.weight * clue.log_odds), -clue.ham - clue.spam, clue.token),
        )
        teachers = self._learned.teachers([clue.token for clue in clues[:strongest]])
        return Explanation(self.judge(reading), tuple(clues), teachers, len(tokens))

    def _log_odds(self, counts: Counts) -> NDArray[np.float64]:
        """What each token says, float64 (n_tokens,); above 0 for spam, 0 for tokens never learned."""
        return np.where(counts.messages.any(axis=0), self._model.token_log_odds(counts), 0.0)

    def _judge(self, tokens: Sequence[str], log_odds: NDArray[np.float64]) -> Judgement:
        mean = score(log_odds, weights(log_odds, _crowds(tokens)))
        probability = _MAP.probability(mean)
        return Judgement(self._verdict(probability), probability, mean)

    def _verdict(self, probability: float) -> Verdict:
        if probability >= self._scoring.spam_cutoff:
            return Verdict.SPAM
        return Verdict.HAM if probability <= self._scoring.ham_cutoff else Verdict.UNSURE


class FrozenFilter(Filter):
    """A filter whose memory does not change meanwhile, for many messages: what a token says is looked up once."""

    def __init__(self, learned: Memory, scoring: Scoring) -> None:
        super().__init__(learned, scoring)
        self._said: dict[str, float] = {}

    def judge_all(self, readings: Sequence[Reading]) -> list[Judgement]:
        """Judge several messages, each as `judge` does."""
        if len(self._said) > _MOST_SAID:
            self._said.clear()
        said = self._said
        tokens = list({token for reading in readings for token in reading.tokens if token not in said})
        counts = self._learned.counts(tokens)
        if not counts.class_messages.all():
            return [_IGNORANT] * len(readings)
        said.update(zip(tokens, self._log_odds(counts).tolist(), strict=True))
        return [
            self._judge(list(reading.tokens), np.array(list(map(said.__getitem__, reading.tokens))))
            for reading in readings
        ]


def _crowds(tokens: Sequence[str]) -> NDArray[np.int64]:
    """How many of the tokens are of each one's kind, int64 (n_tokens,); the kind is the prefix, bare words are one."""
    kinds = [token[: token.find(":") + 1] for token in tokens]
    numbers = Counter(kinds)
    return np.array([numbers[kind] for kind in kinds], dtype=np.int64)
