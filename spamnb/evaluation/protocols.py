"""The orders in which a filter is tested and trained.

`online` is that of the TREC spam track: each message is scored, then its true label is learned. `batch` learns the
first half and scores the second. `folds` is a stratified cross-validation.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import numpy as np

from spamnb.base.errors import UsageError
from spamnb.base.label import How, Label
from spamnb.config import Scoring, Senders
from spamnb.evaluation.corpus import Sample
from spamnb.evaluation.measures import Outcome
from spamnb.evaluation.packed import Packed
from spamnb.filter.judge import Filter, Judgement
from spamnb.ledger.lessons.memory import MemoryLessons

Train = Literal["everything", "near-errors", "errors"]
Protocol = Literal["online", "batch", "folds"]


class Learner:
    """A filter that begins with nothing, and learns from the samples that it gets. step: called after each of them."""

    def __init__(self, scoring: Scoring, train: Train = "everything", step: Callable[[], object] = int) -> None:
        self._step = step
        self._learned = MemoryLessons()
        self._filter = Filter(self._learned, scoring, Senders())
        self._train = train

    def judge(self, sample: Sample) -> Outcome:
        """Score a message without learning it."""
        judgement = self._filter.judge(sample.reading)
        verdict, probability, score = judgement.verdict, judgement.probability, judgement.log_odds
        knows, summary = self._knows_both(), sample.reading.summary
        self._step()
        return Outcome(sample.name, sample.label, verdict, probability, score, has_score=knows, summary=summary)

    def learn(self, sample: Sample) -> None:
        """Learn a message's true label, if the training rule wants it learned."""
        if self._train == "everything" or self._is_wanted(self._filter.judge(sample.reading), sample.label):
            self._learned.learn([sample.reading], sample.label, "evaluation", 0.0, how=How.HAND)
        self._step()

    def _is_wanted(self, judgement: Judgement, label: Label) -> bool:
        if not self._knows_both():
            return True
        if self._train == "errors":
            return (judgement.probability > 0.5) != bool(label)
        return judgement.verdict != label.word

    def _knows_both(self) -> bool:
        return bool(self._learned.totals()[:2].all())


def outcomes_of(
    protocol: Protocol,
    samples: Iterable[Sample],
    learner: Callable[[], Learner],
    *,
    delay: int = 0,
    n_folds: int = 10,
    seed: int = 0,
) -> Iterator[Outcome]:
    """Yield the outcomes of a protocol, in the order of the samples. Raises UsageError for a delay, except online."""
    if protocol == "online":
        return online(samples, learner(), delay)
    if delay:
        raise UsageError(f"a delay is for the protocol online: {protocol} learns before it scores")
    kept = samples if isinstance(samples, Packed) else Packed(samples)
    if protocol == "batch":
        return batch(kept, learner())
    return folds(kept, learner, n_folds, seed)


def online(samples: Iterable[Sample], learner: Learner, delay: int = 0) -> Iterator[Outcome]:
    """Score each message, then learn its label; with a delay, only after that number of further messages."""
    waiting: deque[Sample] = deque()
    for sample in samples:
        yield learner.judge(sample)
        waiting.append(sample)
        if len(waiting) > delay:
            learner.learn(waiting.popleft())


def batch(samples: Sequence[Sample], learner: Learner) -> Iterator[Outcome]:
    """Learn the first half, score the second."""
    half = len(samples) // 2
    for sample in samples[:half]:
        learner.learn(sample)
    yield from map(learner.judge, samples[half:])


def folds(samples: Sequence[Sample], learner: Callable[[], Learner], n: int, seed: int) -> Iterator[Outcome]:
    """Cross-validate: a learner of all other folds scores each message once. Each fold has both classes.

    Copies of one message are in one fold: a learner of a message knows its copy. The outcomes are in the order of the
    samples.
    """
    labels = np.array([sample.label for sample in samples])
    first: dict[bytes, int] = {}
    copy_of = np.array([first.setdefault(sample.reading.digest, place) for place, sample in enumerate(samples)])
    fold = np.empty(len(samples), dtype=int)
    choose = np.random.default_rng(seed)
    for label in Label:
        places = choose.permutation(np.flatnonzero((labels == label) & (copy_of == np.arange(len(samples)))))
        fold[places] = np.arange(len(places)) % n
    fold = fold[copy_of]
    outcomes: dict[int, Outcome] = {}
    for held_out in range(n):
        taught = learner()
        for place in np.flatnonzero(fold != held_out).tolist():
            taught.learn(samples[place])
        for place in np.flatnonzero(fold == held_out).tolist():
            outcomes[place] = taught.judge(samples[place])
    yield from (outcomes[place] for place in range(len(samples)))
