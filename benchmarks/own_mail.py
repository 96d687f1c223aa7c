"""Measure CPU and memory for judging all learned mail without itself, for the pages Tune and Audit.

The ledger is made up: tokens are drawn by Zipf's law, like words, and summaries from a few words. The CPU is that of
this process alone, the best of several runs; the memory is its maximum, with and without the judging.

    python benchmarks/own_mail.py [--learned 30000] [--tokens 1200000] [--runs 3]
"""

import argparse
import random
import resource
import tempfile
import time
from array import array

import numpy as np

from spamnb.acts import training
from spamnb.base.label import How, Label
from spamnb.config import Scoring
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch, TokenMatrix
from spamnb.mail.relations import Relations
from spamnb.review.own_mail import judge_own_mail

_TOKENS = 180  # per message
_BATCH = 1000
_KINDS = ("", "", "", "subject:", "url:", "from-name:", "received:")
_WORDS = [
    "garden",
    "lunch",
    "invoice",
    "meeting",
    "notes",
    "offer",
    "watches",
    "pills",
    "photos",
    "budget",
    "harbour",
    "school",
    "weekly",
    "report",
]
_SENDERS = 5000


def _learn(ledger: Ledger, number: int, vocabulary: int, now: float) -> None:
    choose = np.random.default_rng(1)
    first = max(1, vocabulary // 50)  # one token per class in this number is in both
    for start in range(0, number, _BATCH):
        for label in Label:
            ids = range(start, min(start + _BATCH, number))[label::2]
            rows = [_tokens(choose, vocabulary, label, first) for _ in ids]
            names = sorted({name for row in rows for name in row})
            column = {name: place for place, name in enumerate(names)}
            matrix = TokenMatrix(
                names,
                array("I", map(len, rows)),
                array("I", [column[name] for row in rows for name in row]),
                array("I", [1] * sum(map(len, rows))),
            )
            relations = [Relations(_sender(one)) for one in ids]
            batch = Batch([_digest(one) for one in ids], [_summary(one) for one in ids], matrix, relations)
            training.learn_batches(ledger, [batch], label, "a benchmark", now - (number - start) * 60.0, how=How.HAND)


def _tokens(choose: np.random.Generator, vocabulary: int, label: Label, common: int) -> list[str]:
    """Draw the tokens of a message: the most frequent ones belong to both classes, the others to one."""
    drawn = np.unique(np.minimum(choose.zipf(1.15, _TOKENS), vocabulary))
    return [
        f"{_KINDS[one % len(_KINDS)]}w{one}" if one < common else f"{_KINDS[one % len(_KINDS)]}w{one}{label.word[0]}"
        for one in drawn.tolist()
    ]


def _digest(one: int) -> bytes:
    return one.to_bytes(32, "big")


def _summary(one: int) -> str:
    choose = random.Random(one)
    return f"{' '.join(choose.choices(_WORDS, k=5)).capitalize()} {one} ({_sender(one)})"


def _sender(one: int) -> str:
    """Return a sender: half of the mail comes from a few, the other half from anybody."""
    return f"friend{one % 97}@home.example" if one % 2 else f"somebody@host{one % _SENDERS}.example"


def main() -> None:
    """Make a ledger, judge its mail, and print the cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learned", type=int, default=30_000)
    parser.add_argument("--tokens", type=int, default=1_200_000, help="the rarest rank that is drawn")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/ledger"
        with Ledger(path) as ledger, ledger.without_fsync():
            _learn(ledger, options.learned, options.tokens, time.time())
        with Ledger(path, only_read=True) as ledger:
            before, seconds = _largest(), []
            for _ in range(options.runs):
                start = time.process_time()
                found = judge_own_mail(ledger, Scoring(), most=options.learned)
                seconds.append(time.process_time() - start)
            tokens = int(ledger.lessons.totals()[6])
    print(f"{len(found.digests)} messages with {tokens} tokens: {min(seconds):.2f} s, {_largest():.0f} MB", end="")
    print(f" (before: {before:.0f} MB); {len(found.findings)} may be filed wrongly")


def _largest() -> float:
    """Return the maximum of this process's memory, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    main()
