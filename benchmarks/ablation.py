"""Measure what each part of the default filter is worth: (1−ROCA)% online with that part left out or changed.

    python benchmarks/ablation.py CORPUS... [--orders N...] [--markdown]

Each message is scored, then its true label is learned, from an empty ledger. A figure is the mean over the orders of
`spamnb evaluate --orders`. Messages are read once; tokens are left out after reading. Lower is better.

The first table has the newest parts one by one, and together. It shows the 95 % interval of each change: a paired
bootstrap over the messages. In the second table one part at a time is left out or changed; ** marks changes beyond that
interval.
"""

import argparse
import multiprocessing
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from spamnb.bayes.score_plain import UNKNOWN
from spamnb.config import Scoring
from spamnb.evaluation.corpus import Sample, load_corpus, samples
from spamnb.evaluation.measures import one_minus_roca
from spamnb.evaluation.packed import Packed
from spamnb.evaluation.protocols import Learner, Train, online
from spamnb.evaluation.runs import in_orders
from spamnb.mail.tokens.kinds import is_header, kind

_RESAMPLES = 1000
_JUDGE, _SCORE = "spamnb.filter.judge", "spamnb.bayes.score_plain"


def without(*kinds: str) -> Callable[[str], bool]:
    """Keep all tokens except those of these kinds; a kind is the text before the colon."""
    return lambda token: token.partition(":")[0] not in kinds or ":" not in token


def is_no_gram_of_a_subject(token: str) -> bool:
    """Tell whether a token is not a gram of a subject; such a gram has one letter more than a gram of a text."""
    return not (token.startswith("4:s") and len(token) == len("4:s") + 4)


@dataclass(frozen=True)
class Change:
    """A part that is left out or changed. kept: which tokens stay. values: new values for these names with modules."""

    kept: Sequence[Callable[[str], bool]] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    scoring: Scoring = field(default_factory=Scoring)
    train: Train = "everything"

    def __add__(self, other: "Change") -> "Change":
        """Combine both changes of tokens and values."""
        return Change((*self.kept, *other.kept), {**self.values, **other.values})

    def of(self, sample: Sample) -> Sample:
        """Return the message with the tokens that stay."""
        tokens = sample.reading.tokens
        left = {token: tokens[token] for token in tokens if all(keep(token) for keep in self.kept)}
        return sample._replace(reading=sample.reading._replace(tokens=left or {"body-empty:": 1}))


def left_out(*kinds: str) -> Change:
    """Leave out these kinds of token."""
    return Change([without(*kinds)])


def in_proportion(log_odds: float) -> float:
    """Return a token's strength as its log-odds without the sign."""
    return abs(log_odds) or UNKNOWN


DEFAULT = Change()
PARTS = {
    "the facts of the header": left_out(
        *("agree", "skew", "skew-first", "date-shape", "from-shape", "from-name-shape"),
        *("helo-shape", "rdns", "rdns-shape", "rdns-digits"),
    ),
    "one family for HTML": Change(values={f"{_JUDGE}.family_of": kind}),
    "the second mean": left_out("4"),
    "more weight for strong evidence": Change(
        values={f"{_SCORE}.strength": in_proportion, f"{_SCORE}.CAUTION": 20.0, f"{_SCORE}.FAMILY": -1 / 4}
    ),
}
CHANGES = {
    "the default": DEFAULT,
    "without the header (subject kept)": Change([lambda token: not is_header(token)]),
    "without the subject": Change([without("subject", "subject-pair"), is_no_gram_of_a_subject]),
    "without subject pairs": left_out("subject-pair"),
    "without body words": Change([lambda token: ":" in token]),
    "without the opening words": left_out("opening"),
    "without the opening pairs": left_out("opening-pair"),
    "without the closing words": left_out("closing"),
    "without HTML elements": left_out("tag"),
    "without links": left_out("url", "url-path", "url-scheme"),
    "without Received": left_out("received", "received-ip", "received-claimed", "received-claimed-ip"),
    "without shouted words": left_out("shout"),
    **{f"without {name}": change for name, change in PARTS.items()},
    "the sum instead of the mean": Change(
        [without("4")], {f"{_JUDGE}.weights": lambda log_odds, families: [1.0] * len(log_odds)}
    ),
    "all tokens weigh alike": Change(values={f"{_SCORE}.strength": lambda log_odds: 1.0, f"{_SCORE}.FAMILY": 0.0}),
    "many tokens of one kind weigh in full": Change(values={f"{_SCORE}.FAMILY": 0.0}),
    "the fourth root for tokens of one kind": Change(values={f"{_SCORE}.FAMILY": -1 / 4}),
    "no caution": Change(values={f"{_SCORE}.CAUTION": 1e-9}),
    "a caution of 20": Change(values={f"{_SCORE}.CAUTION": 20.0}),
    "unknown tokens not counted": Change(values={f"{_SCORE}.UNKNOWN": 0.0}),
    "α = 0.001": Change(scoring=Scoring(alpha=0.001)),
    "α = 0.1": Change(scoring=Scoring(alpha=0.1)),
    "α = 1": Change(scoring=Scoring(alpha=1.0)),
    "multivariate Bernoulli": Change(scoring=Scoring(model="bernoulli")),
    "multinomial TF": Change(scoring=Scoring(model="multinomial")),
    "training on near-errors": Change(train="near-errors"),
    "training on errors": Change(train="errors"),
}


TOGETHER = {
    "none of them": sum(PARTS.values(), DEFAULT),
    **{name: sum((change for other, change in PARTS.items() if other != name), DEFAULT) for name in PARTS},
    "all of them: the default": DEFAULT,
}
TABLES = {"with": TOGETHER, "left out or changed": CHANGES}


@dataclass(frozen=True)
class Corpus:
    """A corpus after reading. is_spam: bool (n_messages,), sorted by the messages' names."""

    name: str
    samples: Packed
    orders: int
    is_spam: NDArray[np.bool_]


CORPORA: list[Corpus] = []  # the measuring processes get them by fork


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", metavar="CORPUS")
    parser.add_argument("--orders", nargs="+", type=int, default=[1], metavar="N", help="one number, or one per corpus")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    orders = options.orders * len(options.corpora) if len(options.orders) == 1 else options.orders
    if len(orders) != len(options.corpora):
        parser.error("--orders takes one number, or one for each corpus")
    CORPORA.extend(map(read, options.corpora, orders))
    mark = "|" if options.markdown else ""
    places = range(len(CORPORA))
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("fork")) as processes:
        for title, changes in TABLES.items():
            begun = {name: [processes.submit(scored, title, name, place) for place in places] for name in changes}
            show([title, *(corpus.name for corpus in CORPORA)], mark)
            if mark:
                print("|" + "---|" * (len(CORPORA) + 1))
            first: list[NDArray[np.float64]] = []
            for name, futures in begun.items():
                found = [future.result() for future in futures]
                first = first or found
                show([name, *map(CELLS[title], CORPORA, first, found)], mark)
            print()


def read(path: str, orders: int) -> Corpus:
    """Read a corpus, which is judged in this number of orders."""
    packed = Packed(samples(load_corpus(path), strict=False))
    by_name = sorted(packed, key=lambda sample: sample.name)
    name = os.path.basename(os.path.normpath(path))
    return Corpus(name, packed, orders, np.array([sample.label for sample in by_name], dtype=bool))


def scored(title: str, name: str, place: int) -> NDArray[np.float64]:
    """Return the scores of a corpus with a row's change, float64 (n_orders, n_messages), sorted by message names."""
    change, corpus = TABLES[title][name], CORPORA[place]
    messages = Packed(map(change.of, corpus.samples)) if change.kept else corpus.samples
    scores = []
    with ExitStack() as changed:
        for target, value in change.values.items():
            changed.enter_context(patch(target, value))
        for order in in_orders(messages, corpus.orders):
            outcomes = online(order, Learner(change.scoring, change.train))
            scores.append([outcome.score for outcome in sorted(outcomes, key=lambda outcome: outcome.name)])
    return np.array(scores)


def area(corpus: Corpus, scores: NDArray[np.float64]) -> str:
    """Return (1−ROCA)% of all messages, the mean over the orders."""
    return f"{np.mean([one_minus_roca(of_order, corpus.is_spam) for of_order in scores]):#.3g}"


def with_interval(corpus: Corpus, first: NDArray[np.float64], scores: NDArray[np.float64]) -> str:
    """Return the figure, and the interval of its change from the first row's."""
    if scores is first:
        return area(corpus, scores)
    low, high = (f"{end:+.4f}".replace("-", "−") for end in interval(first, scores, corpus.is_spam))
    return f"{area(corpus, scores)} ({low} to {high})"


def marked(corpus: Corpus, first: NDArray[np.float64], scores: NDArray[np.float64]) -> str:
    """Return the figure, marked if the interval of its change from the first row's does not contain 0."""
    low, high = interval(first, scores, corpus.is_spam)
    return f"**{area(corpus, scores)}**" if low > 0 or high < 0 else area(corpus, scores)


CELLS = {"with": with_interval, "left out or changed": marked}


def interval(
    before: NDArray[np.float64], after: NDArray[np.float64], is_spam: NDArray[np.bool_]
) -> tuple[float, float]:
    """Return the 95 % interval of the change of (1−ROCA)%, the mean over the orders, of messages in the same order.

    A paired bootstrap: each draw has the same size per class, and the same messages before and after.
    """
    change = sum(errors(scores, is_spam) for scores in after) - sum(errors(scores, is_spam) for scores in before)
    choose = np.random.default_rng(0)
    ham, spam = (choose.multinomial(n, np.full(n, 1 / n), _RESAMPLES).astype(np.float32) for n in change.shape)
    draws = ((ham @ change) * spam).sum(axis=1) * (100 / change.size / len(before))
    low, high = np.percentile(draws, [2.5, 97.5]).tolist()
    return low, high


def errors(scores: NDArray[np.float64], is_spam: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return which ham ranks above which spam, float32 (n_ham, n_spam): 1, ½ if both have one score, or 0."""
    return np.heaviside(scores[~is_spam, np.newaxis] - scores[is_spam], 0.5, dtype=np.float32)


def show(cells: Sequence[str], mark: str) -> None:
    """Print a row at once: the whole table takes a while."""
    print(f"{mark} " + f" {mark} ".join(cells), mark, flush=True)


if __name__ == "__main__":
    main()
