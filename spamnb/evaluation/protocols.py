"""In which order a filter is tested and taught.

`online` is that of the TREC spam track: each message is scored, then its true label is learned. `batch` learns
the first half and scores the second. `folds` is a stratified cross-validation.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import numpy as np

from spamnb.config import Scoring
from spamnb.evaluation.measures import Outcome
from spamnb.evaluation.memory import MemoryLearned
from spamnb.filter import Filter, Judgement, Verdict
from spamnb.ledger.lesson import lesson
from spamnb.mail.reading import Reading

Train = Literal["everything", "near-errors", "errors"]
Example = tuple[str, int, Reading]  # name, true label, what was read

_TRUE = (Verdict.HAM, Verdict.SPAM)


class Student:
    """A filter that begins with nothing, and what it is taught."""

    def __init__(self, scoring: Scoring, train: Train = "everything") -> None:
        self._learned = MemoryLearned()
        self._filter = Filter(self._learned, scoring)
        self._train = train

    def judge(self, example: Example) -> Outcome:
        """Score a message without learning it."""
        name, label, reading = example
        judgement = self._filter.judge(reading)
        return Outcome(name, label, judgement.verdict, judgement.probability, judgement.log_odds)

    def teach(self, example: Example) -> None:
        """Learn a message's true label, if the training rule wants it learned."""
        _, label, reading = example
        if self._train == "everything" or self._is_wanted(self._filter.judge(reading), label):
            self._learned.learn([lesson(reading, label, "evaluation", 0.0)])

    def _is_wanted(self, judgement: Judgement, label: int) -> bool:
        if not self._learned.totals()[:2].all():
            return True
        if self._train == "errors":
            return (judgement.probability > 0.5) != bool(label)
        return judgement.verdict is not _TRUE[label]


def online(examples: Iterable[Example], student: Student, delay: int = 0) -> Iterator[Outcome]:
    """Score each message, then learn its label; with a delay, only after that many further messages were scored."""
    waiting: deque[Example] = deque()
    for example in examples:
        yield student.judge(example)
        waiting.append(example)
        if len(waiting) > delay:
            student.teach(waiting.popleft())


def batch(examples: Sequence[Example], student: Student) -> Iterator[Outcome]:
    """Learn the first half, score the second."""
    half = len(examples) // 2
    for example in examples[:half]:
        student.teach(example)
    yield from map(student.judge, examples[half:])


def folds(examples: Sequence[Example], student: Callable[[], Student], n: int, seed: int) -> Iterator[Outcome]:
    """Cross-validation: each message is scored once, by a student taught all other folds; each has both classes.

    Copies of one message are in one fold: who has learned a message knows what its copy is.
    """
    labels = np.array([label for _, label, _ in examples])
    first: dict[bytes, int] = {}
    copy_of = np.array([first.setdefault(reading.digest, place) for place, (*_, reading) in enumerate(examples)])
    fold = np.empty(len(examples), dtype=int)
    choose = np.random.default_rng(seed)
    for label in (0, 1):
        places = choose.permutation(np.flatnonzero((labels == label) & (copy_of == np.arange(len(examples)))))
        fold[places] = np.arange(len(places)) % n
    fold = fold[copy_of]
    for held_out in range(n):
        taught = student()
        for place in np.flatnonzero(fold != held_out).tolist():
            taught.teach(examples[place])
        for place in np.flatnonzero(fold == held_out).tolist():
            yield taught.judge(examples[place])
