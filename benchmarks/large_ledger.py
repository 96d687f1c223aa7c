"""Make the ledger of somebody who has had mail for years: judged and learned messages, senders, actions, and tokens.

Nothing in it is real: tokens are drawn by Zipf's law, as words are, and summaries from a few words.

example:
  python benchmarks/large_ledger.py /tmp/ledger --messages 58000 --learned 39000
"""

import argparse
import random
import time
from array import array

import numpy as np

from spamnb import training
from spamnb.arming import Arming
from spamnb.config import Learning, Scoring
from spamnb.label import Label
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.lessons.batch import Batch, TokenMatrix
from spamnb.mail.relations import Relations

_DAY = 86_400.0
_TOKENS = 180  # of a message
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


def make(path: str, messages: int, learned: int, vocabulary: int, now: float) -> None:
    """Make a ledger of so many messages, of which so many are learned, with about so many tokens."""
    with Ledger(path) as ledger, ledger.hasty():
        _learn(ledger, learned, vocabulary, now)
        _judge(ledger, messages, learned, now)
        Arming(ledger, Scoring(), Learning()).missing()  # as a service that has moved mail for years


def _learn(ledger: Ledger, number: int, vocabulary: int, now: float) -> None:
    choose = np.random.default_rng(1)
    first = max(1, vocabulary // 50)  # a token of each class in so many is in both
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
            training.learn_batches(ledger, [batch], label, "a benchmark", now - (number - start) * 60.0)


def _tokens(choose: np.random.Generator, vocabulary: int, label: Label, common: int) -> list[str]:
    """The tokens of a message: the most frequent ones are of both classes, the others of one."""
    drawn = np.unique(np.minimum(choose.zipf(1.15, _TOKENS), vocabulary))
    return [
        f"{_KINDS[one % len(_KINDS)]}w{one}" if one < common else f"{_KINDS[one % len(_KINDS)]}w{one}{label.word[0]}"
        for one in drawn.tolist()
    ]


def _judge(ledger: Ledger, number: int, learned: int, now: float) -> None:
    """Judge messages in the course of five years; the first are those that were learned."""
    choose = random.Random(1)
    step = 5 * 365 * _DAY / max(1, number)
    mailbox, _ = ledger.locations.mailbox("/home/anna/Maildir")
    folders = {name: ledger.locations.folder(mailbox, name) for name in ("INBOX", "Junk")}
    for start in range(0, number, _BATCH):
        with ledger.transaction():
            for one in range(start, min(start + _BATCH, number)):
                spam = one % 2 == 1 if one < learned else choose.random() < 0.4
                verdict, probability = _verdict(choose, spam)
                at = now - (number - one) * step
                known = ledger.messages.ensure(_digest(one), _summary(one))
                ledger.messages.came_from([(_digest(one), _sender(one), "")])
                ledger.messages.judged(known.id, verdict, probability, at)
                place = folders["Junk" if verdict == "spam" else "INBOX"], f"{one}.host"
                ledger.locations.put(*place, known.id, "appeared", b"", "S", at)
                ledger.journal.judged(known.id, place, verdict, probability, verdict, at)


def _verdict(choose: random.Random, spam: bool) -> tuple[str, float]:
    drawn = choose.random()
    if drawn < 0.01:
        return "unsure", choose.uniform(0.11, 0.94)
    probability = choose.betavariate(0.05, 6)
    return ("spam", max(0.95, 1 - probability)) if spam else ("ham", min(0.1, probability))


def _digest(one: int) -> bytes:
    return one.to_bytes(32, "big")


def _summary(one: int) -> str:
    choose = random.Random(one)
    return f"{' '.join(choose.choices(_WORDS, k=5)).capitalize()} {one} ({_sender(one)})"


def _sender(one: int) -> str:
    """Half of the mail comes from a few, the other half from anybody."""
    return f"friend{one % 97}@home.example" if one % 2 else f"somebody@host{one % _SENDERS}.example"


def main() -> None:
    """Make it, and say how large it is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--messages", type=int, default=58_000)
    parser.add_argument("--learned", type=int, default=39_000)
    parser.add_argument("--tokens", type=int, default=1_200_000, help="the rarest rank that is drawn")
    options = parser.parse_args()
    make(options.path, options.messages, options.learned, options.tokens, time.time())
    with Ledger(options.path, only_read=True) as ledger:
        ham, spam, *_, tokens = ledger.lessons.totals().tolist()
    print(f"{options.messages} messages, {ham + spam} learned, {tokens} tokens")


if __name__ == "__main__":
    main()
