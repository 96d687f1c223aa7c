"""What each part of the default filter is worth: (1−ROCA)% online with that part left out, over corpora.

    python benchmarks/ablation.py CORPUS... [--shuffles N] [--markdown]

Each message is scored, then its true label is learned, in the order of the corpus, from an empty ledger. Messages
are read once; tokens of a kind are left out after reading. Lower is better.
"""

import argparse
import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from spamnb.bayes import score_plain as scoring
from spamnb.config import Scoring
from spamnb.evaluation.corpus import Sample, load_corpus, samples
from spamnb.evaluation.measures import one_minus_roca
from spamnb.evaluation.protocols import Learner, Train, online
from spamnb.mail.reading import Reading
from spamnb.mail.tokens.kinds import is_header


def without(*kinds: str) -> Callable[[str], bool]:
    """Keep all tokens but those of these kinds; a kind is what is before the colon."""
    return lambda token: token.partition(":")[0] not in kinds or ":" not in token


TOKENS: dict[str, Callable[[str], bool]] = {
    "without the header (subject kept)": lambda token: not is_header(token),
    "without the subject": without("subject", "subject-pair"),
    "without subject pairs": without("subject-pair"),
    "without body words": lambda token: ":" in token,
    "without the opening words": without("opening"),
    "without the opening pairs": without("opening-pair"),
    "without the closing words": without("closing"),
    "without HTML elements": without("tag"),
    "without links": without("url", "url-path", "url-scheme"),
    "without Received": without("received", "received-ip", "received-claimed", "received-claimed-ip"),
    "without shouted words": without("shout"),
}
CONSTANTS: dict[str, tuple[str, float | Callable[[float], float]]] = {
    "all tokens of one strength": ("strength", lambda _: 1.0),
    "without the mean of the grams": ("GRAMS_WEIGHT", 0.0),
    "large groups in full": ("CROWD", 0.0),
    "no caution": ("CAUTION", 1e-9),
    "unknown tokens not counted": ("UNKNOWN", 0.0),
}
SCORINGS: dict[str, Scoring] = {
    "α = 0.001": Scoring(alpha=0.001),
    "α = 0.1": Scoring(alpha=0.1),
    "α = 1": Scoring(alpha=1.0),
    "multivariate Bernoulli": Scoring(model="bernoulli"),
    "multinomial TF": Scoring(model="multinomial"),
}
TRAININGS: tuple[Train, ...] = ("near-errors", "errors")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", metavar="CORPUS")
    parser.add_argument(
        "--shuffles", type=int, default=0, metavar="N", help="also N shuffled orders of the first corpus"
    )
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    corpora = {
        os.path.basename(os.path.normpath(path)): list(samples(load_corpus(path), strict=False))
        for path in options.corpora
    }
    first = next(iter(corpora))
    for seed in range(options.shuffles):
        corpora[f"{first}, order {seed}"] = random.Random(seed).sample(corpora[first], len(corpora[first]))
    mark = "|" if options.markdown else ""
    show(["", *corpora], mark)
    if mark:
        print("|" + "---|" * (len(corpora) + 1))
    for name, run in runs():
        show([name, *(f"{run(examples):.3f}" for examples in corpora.values())], mark)


def show(cells: Sequence[str], mark: str) -> None:
    """Print a row at once: the whole table takes a while."""
    print(
        f"{mark} " + f" {mark} ".join(f"{cell:<34}" if i == 0 else f"{cell:>10}" for i, cell in enumerate(cells)),
        mark,
        flush=True,
    )


def runs() -> Iterator[tuple[str, Callable[[list[Sample]], float]]]:
    """The rows: what is left out or changed, and how to measure it."""
    yield "the default", lambda examples: area(examples, Learner(Scoring()))
    for name, keep in TOKENS.items():
        yield name, lambda examples, keep=keep: area(filtered(examples, keep), Learner(Scoring()))
    for name, (constant, value) in CONSTANTS.items():
        yield name, lambda examples, constant=constant, value=value: changed(examples, constant, value)
    for name, choice in SCORINGS.items():
        yield name, lambda examples, choice=choice: area(examples, Learner(choice))
    for train in TRAININGS:
        yield f"training on {train}", lambda examples, train=train: area(examples, Learner(Scoring(), train))


def area(examples: Sequence[Sample], learner: Learner) -> float:
    """(1−ROCA)% online."""
    outcomes = list(online(examples, learner))
    return one_minus_roca(np.array([o.score for o in outcomes]), np.array([o.label for o in outcomes], dtype=bool))


def filtered(examples: Sequence[Sample], keep: Callable[[str], bool]) -> list[Sample]:
    """The same messages with fewer tokens."""

    def kept(reading: Reading) -> Reading:
        return reading._replace(tokens={t: n for t, n in reading.tokens.items() if keep(t)} or {"body-empty": 1})

    return [Sample(name, label, kept(reading)) for name, label, reading in examples]


def changed(examples: Sequence[Sample], constant: str, value: float | Callable[[float], float]) -> float:
    """(1−ROCA)% with a constant of the score changed."""
    with patched(constant, value):
        return area(examples, Learner(Scoring()))


@contextmanager
def patched(constant: str, value: float | Callable[[float], float]) -> Iterator[None]:
    """Another value for a constant or a function of the score."""
    before = getattr(scoring, constant)
    setattr(scoring, constant, value)
    try:
        yield
    finally:
        setattr(scoring, constant, before)


if __name__ == "__main__":
    main()
