"""The filter: a message's tokens and their counts make a score, a probability and a verdict.

Reading is `mail`, the event models are `bayes`, the counts are the ledger's; this module says how they meet.
"""

import itertools
from collections.abc import Mapping, Sequence
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
from spamnb.mail.matrix import gather
from spamnb.mail.reading import Reading

__all__ = ["Clue", "Explanation", "Filter", "FrozenFilter", "Judgement", "Memory", "Untaught", "Verdict"]

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

    @property
    def contribution(self) -> float:
        """What the token adds to the score's numerator: its weight times its log-odds."""
        return self.weight * self.log_odds


@dataclass(frozen=True, slots=True)
class Explanation:
    """A judgement with its clues, by what they contribute, and the messages that taught the first of them."""

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


class Untaught:
    """The memory of a filter that has learned nothing."""

    def counts(self, tokens: Sequence[str], /) -> Counts:
        """No token was ever met."""
        none, nothing = np.zeros((2, len(tokens)), dtype=np.int64), np.zeros(2, dtype=np.int64)
        return Counts(none, none, nothing, nothing, nothing, 0)

    def teachers(self, tokens: Sequence[str], /) -> dict[str, list[Teacher]]:
        """No message was ever learned."""
        return {token: [] for token in tokens}


_IGNORANT = Judgement(Verdict.UNSURE, 0.5, 0.0)
_MOST_SAID = 200_000  # tokens, in some 30 MB


class Filter:
    """Scores messages with the counts of its memory as they are at that moment."""

    def __init__(self, learned: Memory, scoring: Scoring) -> None:
        self._learned = learned
        self._scoring = scoring
        self._model = _MODELS[scoring.model](alpha=scoring.alpha)
        self._kinds: dict[str, int] = {}

    def judge(self, reading: Reading) -> Judgement:
        """Score a message and say what it is; a filter that has learned nothing of a class is unsure."""
        tokens = list(reading.tokens)
        counts = self._learned.counts(tokens)
        if not counts.class_messages.all():
            return _IGNORANT
        return self._judge(self._log_odds(counts), _crowds(self._kind(tokens)))

    def explain(self, reading: Reading, strongest: int = 5) -> Explanation:
        """Judge a message, and say why."""
        tokens = list(reading.tokens)
        counts = self._learned.counts(tokens)
        log_odds, crowds = self._log_odds(counts), _crowds(self._kind(tokens))
        judgement = self._judge(log_odds, crowds) if counts.class_messages.all() else _IGNORANT
        said = (tokens, *counts.messages.tolist(), log_odds.tolist(), weights(log_odds, crowds).tolist())
        clues = sorted(
            (clue for clue in map(Clue, *said) if clue.ham or clue.spam),
            key=lambda clue: (-abs(clue.contribution), -clue.ham - clue.spam, clue.token),
        )
        teachers = self._learned.teachers([clue.token for clue in clues[:strongest]])
        return Explanation(judgement, tuple(clues), teachers, len(tokens))

    def _log_odds(self, counts: Counts) -> NDArray[np.float64]:
        """What each token says, float64 (n_tokens,); above 0 for spam, 0 for tokens never learned."""
        return np.where(counts.messages.any(axis=0), self._model.token_log_odds(counts), 0.0)

    def _kind(self, tokens: Sequence[str]) -> NDArray[np.int64]:
        """A number for the kind of each token, which is its prefix; bare words are one kind."""
        kinds = self._kinds
        prefixes = [token[: token.find(":") + 1] for token in tokens]
        return np.array([kinds.setdefault(prefix, len(kinds)) for prefix in prefixes], dtype=np.int64)

    def _judge(self, log_odds: NDArray[np.float64], crowds: NDArray[np.int64]) -> Judgement:
        mean = score(log_odds, weights(log_odds, crowds))
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
        self._forget()

    def _forget(self) -> None:
        self._places: dict[str, int] = {}
        self._said = np.zeros(0)
        self._kind_said = np.zeros(0, dtype=np.int64)

    def judge_all(self, messages: Sequence[Mapping[str, int]]) -> list[Judgement]:
        """Judge several messages by their tokens, each as `judge` does."""
        tokens = gather(messages)
        if not self._look_up(tokens.vocabulary):
            return [_IGNORANT] * len(messages)
        places = np.fromiter(map(self._places.__getitem__, tokens.vocabulary), np.int64, len(tokens.vocabulary))
        places = places[np.array(tokens.columns, dtype=np.int64)]
        ends = itertools.accumulate(tokens.lengths)
        rows = [places[end - length : end] for end, length in zip(ends, tokens.lengths, strict=True)]
        return [self._judge(self._said[row], _crowds(self._kind_said[row])) for row in rows]

    def _look_up(self, vocabulary: Sequence[str]) -> bool:
        """Learn what tokens say that were not met before; whether the filter has learned anything of both classes."""
        if len(self._places) > _MOST_SAID:
            self._forget()
        new = [token for token in vocabulary if token not in self._places]
        counts = self._learned.counts(new)
        if not counts.class_messages.all():
            return False
        self._places.update(zip(new, itertools.count(len(self._places)), strict=False))
        self._said = np.concatenate([self._said, self._log_odds(counts)])
        self._kind_said = np.concatenate([self._kind_said, self._kind(new)])
        return True


def _crowds(kinds: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of a message's tokens are of each one's kind, int64 (n_tokens,), as `kinds`."""
    crowds: NDArray[np.int64] = np.bincount(kinds)[kinds]
    return crowds
