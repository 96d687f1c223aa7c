"""The filter: a message's tokens and their counts make a score, a probability and a verdict."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from spamnb.bayes.base import CountingModel, Counts
from spamnb.bayes.bernoulli import Bernoulli
from spamnb.bayes.calibration import probability
from spamnb.bayes.multinomial import MultinomialBoolean, MultinomialTF
from spamnb.bayes.score import kind, score, weights
from spamnb.config import Model, Scoring, Senders
from spamnb.label import Label, Verdict
from spamnb.ledger.lessons.batch import gather
from spamnb.ledger.lessons.known import Known, tokens_of
from spamnb.ledger.lessons.port import Lessons, Teacher
from spamnb.mail.reading import Content, Reading
from spamnb.mail.relations import Relations

_MODELS: dict[Model, type[CountingModel]] = {
    "bernoulli": Bernoulli,
    "multinomial": MultinomialTF,
    "multinomial-boolean": MultinomialBoolean,
}


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, the calibrated probability of spam, and the score (mean log-odds) it was made from.

    listed: the pattern of `senders` that has made the verdict, whatever the probability; or "".
    """

    verdict: Verdict
    probability: float
    log_odds: float
    listed: str = ""


@dataclass(frozen=True, slots=True)
class Clue:
    """One token's part in a verdict. `log_odds` above 0 speaks for spam; ham and spam: learned messages that hold it.

    `weight`: of the token in the score.
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
    """A judgement with its clues, by what they contribute, and the messages that taught the first of them.

    history: what the person's decisions and sent mail say of sender, thread and list.
    """

    judgement: Judgement
    clues: tuple[Clue, ...]
    teachers: dict[str, list[Teacher]]
    tokens: int
    history: frozenset[Known] = frozenset()

    @property
    def known(self) -> int:
        """How many of the message's tokens were ever learned."""
        return len(self.clues)


_NOBODY = Senders()
UNTAUGHT = Judgement(Verdict.UNSURE, 0.5, 0.0)
_MOST_REMEMBERED = 200_000  # tokens, in some 30 MB


class Filter:
    """Scores messages with the counts of its lessons as they are at that moment."""

    def __init__(self, lessons: Lessons, scoring: Scoring, senders: Senders = _NOBODY) -> None:
        self._lessons = lessons
        self._scoring = scoring
        self._senders = senders
        self._model = _MODELS[scoring.model](alpha=scoring.alpha)
        self._groups: dict[str, int] = {}

    def judge(self, reading: Reading) -> Judgement:
        """Score a message; a filter that has learned nothing of a class is unsure."""
        tokens = [*reading.tokens, *tokens_of(self._lessons.known([reading.relations])[0])]
        counts = self._lessons.counts(tokens)
        judgement = UNTAUGHT
        if counts.class_messages.all():
            judgement = self._judge(self._log_odds(counts), _group_sizes(self._groups_of(tokens)))
        return self._as_listed(judgement, reading.relations)

    def explain(self, reading: Reading, strongest: int = 5, *, without_itself: bool = False) -> Explanation:
        """Judge a message, and give the reasons; `without_itself`: as if it were not learned, where it is."""
        without = reading.digest if without_itself else None
        (history,) = self._lessons.known([reading.relations], without)
        tokens = [*reading.tokens, *tokens_of(history)]
        counts = self._lessons.counts(tokens, without)
        log_odds, sizes = self._log_odds(counts), _group_sizes(self._groups_of(tokens))
        judgement = self._judge(log_odds, sizes) if counts.class_messages.all() else UNTAUGHT
        columns = (tokens, *counts.messages.tolist(), log_odds.tolist(), weights(log_odds, sizes).tolist())
        clues = sorted(
            (clue for clue in map(Clue, *columns) if clue.ham or clue.spam),
            key=lambda clue: (-abs(clue.contribution), -clue.ham - clue.spam, clue.token),
        )
        teachers = self._lessons.teachers([clue.token for clue in clues[:strongest]], without=without)
        judgement = self._as_listed(judgement, reading.relations)
        return Explanation(judgement, tuple(clues), teachers, len(tokens), history)

    def _as_listed(self, judgement: Judgement, relations: Relations) -> Judgement:
        """The judgement, or what the person says of the sender or the list; the probability stays what it is."""
        named = self._senders.named(relations.sender, relations.list_id)
        if named is None:
            return judgement
        verdict = Verdict.HAM if named[0] is Label.HAM else Verdict.SPAM
        return replace(judgement, verdict=verdict, listed=named[1])

    def _log_odds(self, counts: Counts) -> NDArray[np.float64]:
        """The log-odds of each token, float64 (n_tokens,); above 0 for spam, 0 for tokens never learned."""
        return np.where(counts.messages.any(axis=0), self._model.token_log_odds(counts), 0.0)

    def _groups_of(self, tokens: Sequence[str]) -> NDArray[np.int64]:
        """The group of each token, int64 (n_tokens,): tokens of one kind are one group."""
        groups = self._groups
        return np.array([groups.setdefault(prefix, len(groups)) for prefix in map(kind, tokens)], dtype=np.int64)

    def _judge(self, log_odds: NDArray[np.float64], sizes: NDArray[np.int64]) -> Judgement:
        return self._judged(score(log_odds, weights(log_odds, sizes)))

    def _judged(self, mean: float) -> Judgement:
        p = probability(mean)
        return Judgement(self._verdict(p), p, mean)

    def _verdict(self, probability: float) -> Verdict:
        if probability >= self._scoring.spam_cutoff:
            return Verdict.SPAM
        return Verdict.HAM if probability <= self._scoring.ham_cutoff else Verdict.UNSURE


class FrozenFilter(Filter):
    """A filter for many messages, whose lessons do not change meanwhile: each token is looked up once."""

    def __init__(self, lessons: Lessons, scoring: Scoring, senders: Senders = _NOBODY) -> None:
        super().__init__(lessons, scoring, senders)
        self._clear()

    def _clear(self) -> None:
        self._index: dict[str, int] = {}  # of a token in both arrays
        self._log_odds_of = np.zeros(0)
        self._group_of = np.zeros(0, dtype=np.int64)

    def judge_all(self, messages: Sequence[Content]) -> list[Judgement]:
        """Judge several messages, each as `judge` does."""
        tokens = gather(self._with_history(messages))
        judgements = [UNTAUGHT] * len(messages)
        if self._look_up(tokens.vocabulary):
            indexes = np.fromiter(map(self._index.__getitem__, tokens.vocabulary), np.int64, len(tokens.vocabulary))
            indexes = indexes[np.array(tokens.columns, dtype=np.int64)]
            ends = itertools.accumulate(tokens.lengths)
            rows = [indexes[end - length : end] for end, length in zip(ends, tokens.lengths, strict=True)]
            judgements = [self._judge(self._log_odds_of[row], _group_sizes(self._group_of[row])) for row in rows]
        return [self._as_listed(one, each.relations) for one, each in zip(judgements, messages, strict=True)]

    def _with_history(self, messages: Sequence[Content]) -> Iterable[Mapping[str, int]]:
        found = self._lessons.known([one.relations for one in messages])
        for one, history in zip(messages, found, strict=True):
            yield {**one.tokens, **dict.fromkeys(tokens_of(history), 1)} if history else one.tokens

    def _look_up(self, vocabulary: Sequence[str]) -> bool:
        """Look up the tokens that are new; whether the filter has learned anything of both classes."""
        if len(self._index) > _MOST_REMEMBERED:
            self._clear()
        new = [token for token in vocabulary if token not in self._index]
        counts = self._lessons.counts(new)
        if not counts.class_messages.all():
            return False
        self._index.update(zip(new, itertools.count(len(self._index)), strict=False))
        self._log_odds_of = np.concatenate([self._log_odds_of, self._log_odds(counts)])
        self._group_of = np.concatenate([self._group_of, self._groups_of(new)])
        return True


def _group_sizes(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of a message's tokens are of each one's group, int64 (n_tokens,), as `groups`."""
    sizes: NDArray[np.int64] = np.bincount(groups)[groups]
    return sizes
