"""Measure the worth and the cost of pairs of neighbouring words, by how far into a text words are paired.

    python benchmarks/pairs.py CORPUS... [--orders N] [--no-header] [--markdown]

(1−ROCA)% online from an empty ledger, as in `spamnb evaluate`, in the order of the corpus and N−1 shuffled ones (seeds
1, 2, …). The tokens are the present ones, and with pairs of the first 300 words instead of the first 20.

Pairs are many, and most occur once. So tokens may age: a token that only one message holds is forgotten after a number
of further lessons, one number for pairs and one for all other tokens. The filter does not do that; here arrays do it.
The bytes of the ledger are those of a file in which each message is learned once with its last tokens. So they are a
lower limit: a file from which tokens are deleted has half-empty pages.
"""

import argparse
import os
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spamnb.acts import training
from spamnb.base.label import How, Label
from spamnb.bayes.score_arrays import first_numbers, scores_of, weights_of
from spamnb.config import Scoring
from spamnb.evaluation.corpus import Sample, load_corpus, samples
from spamnb.evaluation.measures import one_minus_roca
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.mail.tokens import body
from spamnb.mail.tokens.kinds import family_of

_KIND = "opening-pair:"
_NEVER = 1 << 40
_BATCH = 100  # messages per transaction, as in benchmarks/footprint.py


class Variant(NamedTuple):
    """How many words are paired, and after how many messages a pair, or another token, of one message is forgotten."""

    words: int
    pairs: int = _NEVER
    others: int = _NEVER

    def __str__(self) -> str:
        ages = ", ".join(
            f"{what} for {age} messages"
            for what, age in zip(("pairs", "others"), self[1:], strict=True)
            if age < _NEVER
        )
        return f"pairs of {self.words} words" + (f"; met once, {ages}" if ages else "")


VARIANTS = (
    Variant(20),
    Variant(300),
    Variant(300, 500),
    Variant(300, 500, 3000),
    Variant(300, 200, 3000),
    Variant(300, 500, 2000),
    Variant(300, 200, 2000),
    Variant(300, 500, 1000),
    Variant(20, 2000, 2000),
)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Messages as arrays. rows: int64 (n_tokens of the message,), ids. families, is_pair: (n_vocabulary,), by id.

    first: the place of the first message with the same identity, which is learned instead.
    """

    samples: list[Sample]
    rows: list[NDArray[np.int64]]
    families: NDArray[np.int64]
    is_pair: NDArray[np.bool_]
    first: list[int]
    labels: NDArray[np.int64]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", metavar="CORPUS")
    parser.add_argument("--orders", type=int, default=4, metavar="N")
    parser.add_argument("--no-header", action="store_true", help="read subject and body only")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    mark = "|" if options.markdown else " "
    for path in options.corpora:
        print(f"{mark} {os.path.basename(os.path.normpath(path))} {mark} mean {mark} each order {mark} bytes {mark}")
        words, corpus = 0, None
        for variant in VARIANTS:
            if corpus is None or variant.words != words:
                words, corpus = variant.words, read(path, variant.words, header=not options.no_header)
            runs = [online(corpus, order, variant) for order in orders(len(corpus.rows), options.orders)]
            areas = [area for area, _ in runs]
            each = " ".join(f"{area:.4f}" for area in areas)
            size = ledger_bytes(corpus, runs[0][1], words)
            print(f"{mark} {variant} {mark} {np.mean(areas):.4f} {mark} {each} {mark} {size:.0f} {mark}", flush=True)


def read(path: str, words: int, *, header: bool) -> Corpus:
    """Read a corpus, with pairs of that number of words."""
    with _paired(words):
        found = list(samples(load_corpus(path), strict=False, header=header))
    ids: dict[str, int] = {}
    rows = [np.array([ids.setdefault(token, len(ids)) for token in one.reading.tokens]) for one in found]
    families = first_numbers()
    first: dict[bytes, int] = {}
    return Corpus(
        found,
        rows,
        np.array([families.setdefault(family_of(token), len(families)) for token in ids]),
        np.array([token.startswith(_KIND) for token in ids]),
        [first.setdefault(one.reading.digest, place) for place, one in enumerate(found)],
        np.array([int(one.label) for one in found]),
    )


@contextmanager
def _paired(words: int) -> Iterator[None]:
    before = body._OPENING_PAIRS
    body._OPENING_PAIRS = words
    try:
        yield
    finally:
        body._OPENING_PAIRS = before


def orders(number: int, count: int) -> Iterator[list[int]]:
    """Yield the order of the corpus, and shuffled ones."""
    for seed in range(count):
        order = list(range(number))
        if seed:
            random.Random(seed).shuffle(order)
        yield order


def online(corpus: Corpus, order: Sequence[int], variant: Variant) -> tuple[float, dict[int, NDArray[np.int64]]]:
    """Return (1−ROCA)%, and the tokens that each learned message, by its place, holds at the end."""
    messages = np.zeros((2, len(corpus.families)))
    lessons, cells, vocabulary = np.zeros(2), np.zeros(2), 0
    alpha = Scoring().alpha
    kept: dict[int, NDArray[np.int64]] = {}
    learned: list[int] = []
    scores = np.zeros(len(order))
    for at, shown in enumerate(order):
        place = corpus.first[shown]
        row, label = corpus.rows[place], corpus.labels[place]
        if lessons.all():
            held = messages[:, row]
            share = np.log((held + alpha) / (cells + alpha * vocabulary)[:, np.newaxis])
            log_odds = np.where(held.any(axis=0), share[1] - share[0], 0.0)
            length = np.array([len(row)])
            weight = weights_of(log_odds, corpus.families[row], length)
            (scores[at],) = scores_of(log_odds, weight, length)
        if place in kept:
            continue
        vocabulary += int((~messages[:, row].any(axis=0)).sum())
        messages[label, row] += 1
        lessons[label] += 1
        cells[label] += len(row)
        kept[place] = row
        learned.append(place)
        for of_pairs, age in ((True, variant.pairs), (False, variant.others)):
            if len(learned) > age:
                old = learned[-1 - age]
                ids = kept[old]
                gone = (messages[:, ids].sum(axis=0) == 1) & (corpus.is_pair[ids] == of_pairs)
                messages[corpus.labels[old], ids[gone]] -= 1
                cells[corpus.labels[old]] -= gone.sum()
                vocabulary -= int(gone.sum())
                kept[old] = ids[~gone]
    return one_minus_roca(scores, corpus.labels[order].astype(bool)), kept


def ledger_bytes(corpus: Corpus, kept: dict[int, NDArray[np.int64]], words: int) -> float:
    """Return the bytes per message of a ledger that learns the messages with the tokens that they hold at the end."""
    learned = []
    for place in sorted(kept):
        reading = corpus.samples[place].reading
        held = np.isin(corpus.rows[place], kept[place]).tolist()
        numbered = zip(reading.tokens.items(), held, strict=True)
        tokens = {_named(token, words): number for (token, number), is_held in numbered if is_held}
        learned.append((reading._replace(tokens=tokens), corpus.samples[place].label))
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "ledger.sqlite")
        with Ledger(path) as ledger:
            for start in range(0, len(learned), _BATCH):
                for label in Label:
                    readings = (reading for reading, its in learned[start : start + _BATCH] if its is label)
                    training.learn_batches(
                        ledger, [Batch.of(readings)], label, "trained by hand", time.time(), how=How.HAND
                    )
        return os.path.getsize(path) / len(learned)  # closed: the log is written into it


def _named(token: str, words: int) -> str:
    """Return a token, with a shorter prefix if its pair comes from more words than an opening has."""
    return token.replace(_KIND, "pair:", 1) if token.startswith(_KIND) and words > body._OPENING_PAIRS else token


if __name__ == "__main__":
    main()
