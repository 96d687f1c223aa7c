"""Measure how well `spamnb audit` finds wrong labels, and how well `spamnb review` chooses its questions.

audit: all messages of a corpus are learned like in `spamnb train`, a share of the files with the other label. Then
`misfiled` lists what it takes for wrong. The figures are the precision among the first k, where k is the number of
those files, and the recall among the first 2k. Two copies of one message may have different labels.

review: the first messages are learned, and then a number of answers is given: for messages drawn at random, or in the
order of `review`, which is asked again after each round. The first order is the corpus's own, the others are shuffled.
(1-ROCA)% covers all messages that were neither learned at the beginning nor asked about in any of the ways.

    python benchmarks/audit.py csdmc2010 enron1
"""

import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import common
import numpy as np

from spamnb.acts import training
from spamnb.base.label import How, Label
from spamnb.config import Config, Scoring, Senders
from spamnb.evaluation.corpus import Labelled, Sample, load_corpus, samples
from spamnb.evaluation.measures import one_minus_roca
from spamnb.filter.judge import FrozenFilter, Judgement
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.reading import Content
from spamnb.review.misfiled import misfiled
from spamnb.review.near_copies import shape
from spamnb.review.queue import teaching_order

_LEARNED, _ANSWERS, _ROUND = 100, 60, 10

Choose = Callable[[Sequence[Sample], Sequence[Judgement], int], list[Sample]]


def audited(messages: Sequence[Labelled], read: Sequence[Sample], seed: int, share: float) -> tuple[float, float, int]:
    """Return the precision among the first k, the recall among the first 2k, in percent, and the number of findings."""
    k = round(share * len(messages))
    turned = set(random.Random(seed).sample(range(len(messages)), k))
    with tempfile.TemporaryDirectory() as directory, Ledger(f"{directory}/ledger.sqlite") as ledger:
        for label in Label:
            called = [n for n, one in enumerate(messages) if (one.label is label) != (n in turned)]
            batch = Batch.of(
                [read[n].reading for n in called], [str(Path(messages[n].path).absolute()) for n in called]
            )
            training.learn_batches(ledger, [batch], label, "benchmark", 1.0, how=How.HAND)
        found = misfiled(ledger, Config(mailboxes=(), ledger=Path(ledger.path)))
    wrong = {str(Path(messages[n].path).absolute()) for n in turned}
    paths = [one.place.path for one in found if one.place is not None]
    first, second = ([path in wrong for path in paths[:most]] for most in (k, 2 * k))
    return 100 * sum(first) / k, 100 * sum(second) / k, len(found)


def reviewed(read: Sequence[Sample], seed: int, choose: Choose) -> tuple[list[Sample], MemoryLessons]:
    """Return the messages in question, and the lessons with the answers."""
    ordered = _ordered(read, seed)
    lessons = MemoryLessons()
    for one in ordered[:_LEARNED]:
        lessons.learn([one.reading], one.label, "benchmark", 1.0, how=How.HAND)
    pool, asked = random.Random(seed).sample(ordered[_LEARNED:], len(read) - _LEARNED), []
    while len(asked) < _ANSWERS:
        judged = FrozenFilter(lessons, Scoring(), Senders()).judge_all([Content(one.reading.tokens) for one in pool])
        answered = choose(pool, judged, min(_ROUND, _ANSWERS - len(asked)))
        for one in answered:
            lessons.learn([one.reading], one.label, "benchmark", 2.0, how=How.HAND)
        asked += answered
        known = {one.reading.digest for one in answered}
        pool = [one for one in pool if one.reading.digest not in known]
    return asked, lessons


def _ordered(read: Sequence[Sample], seed: int) -> list[Sample]:
    """Return the corpus in its own order for seed 0, else shuffled."""
    return random.Random(seed).sample(read, len(read)) if seed else list(read)


def at_random(pool: Sequence[Sample], judged: Sequence[Judgement], most: int) -> list[Sample]:
    """Take the first ones: the pool is already in a random order."""
    return list(pool[:most])


def by_teaching(pool: Sequence[Sample], judged: Sequence[Judgement], most: int) -> list[Sample]:
    """Take messages in the order of `review`."""
    items = ((one, how.probability, shape(one.reading.summary)[0]) for one, how in zip(pool, judged, strict=True))
    return teaching_order(items)[:most]


def main() -> None:
    """Measure each corpus."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpora", nargs="+", metavar="CORPUS")
    parser.add_argument("--seeds", type=int, default=5, metavar="N")
    parser.add_argument("--share", type=float, default=0.01, help="the share of files with the other label")
    options = parser.parse_args()
    figures: list[dict[str, object]] = []
    for corpus in options.corpora:
        messages = load_corpus(corpus)
        read = list(samples(messages))
        runs = [audited(messages, read, seed, options.share) for seed in range(options.seeds)]
        precision, recall, found = np.mean(runs, axis=0).tolist()
        figures.append(
            {"corpus": Path(corpus).name, "precision of k": precision, "recall of 2k": recall, "findings": found}
            | _after_answers(read, options.seeds)
        )
    common.report(figures, options.json)


def _after_answers(read: Sequence[Sample], seeds: int) -> dict[str, object]:
    """Return (1-ROCA)% without answers, and after as many in each way, on messages that no way asked about."""
    values: dict[str, list[float]] = {}
    for seed in range(seeds):
        ways = {"at random": at_random, "by review": by_teaching}
        done = {name: reviewed(read, seed, choose) for name, choose in ways.items()}
        none = reviewed(read, seed, at_random)[1]
        none.forget([one.reading.digest for one in done["at random"][0]], "benchmark", 3.0, how=How.HAND)
        known = {one.reading.digest for one in _ordered(read, seed)[:_LEARNED]}
        known |= {one.reading.digest for asked, _ in done.values() for one in asked}
        rest = [one for one in read if one.reading.digest not in known]
        y = np.array([one.label for one in rest], dtype=bool)
        for name, lessons in {"no answers": none, **{name: lessons for name, (_, lessons) in done.items()}}.items():
            judged = FrozenFilter(lessons, Scoring(), Senders()).judge_all(
                [Content(one.reading.tokens) for one in rest]
            )
            values.setdefault(name, []).append(one_minus_roca(np.array([one.log_odds for one in judged]), y))
    return {f"(1-ROCA)% {name}": float(np.mean(some)) for name, some in values.items()}


if __name__ == "__main__":
    main()
