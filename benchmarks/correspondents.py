"""A stranger who would be a correspondent: what spam gains by mail into Sent, and by Received fields behind NAT.

The filter learns the first half of a corpus, whose ham has been called so by the person. Then some spam of the second
half is scored as an attacker would send it, with what the filter knows of senders and without:

sent: all spam is from one address, over the path of the address's own domain; before it comes, the attacker has one
    mail delivered into the person's Sent, as `you+Sent@` may be, in which that address is a recipient.
nat: the person's own server sees all connections from one private address, which its Received field has at the top of
    all mail, learned or scored. The spam has the From of a letter of the person's ham, and below that field the
    Received fields of the letter.

    python benchmarks/correspondents.py CORPUS [--spam 150] [--seed 0] [--json]
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import common
from attacked import with_fields_of

from spamnb.base.label import Label, Verdict
from spamnb.config import Scoring
from spamnb.evaluation.corpus import Labelled, load_corpus
from spamnb.filter.judge import Filter
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.identity import identity
from spamnb.mail.parsing.message import parse
from spamnb.mail.reading import Reading, read
from spamnb.mail.relations import Relations, sent

_FROM_THERE = (
    b"Received: from out.news.example (out.news.example [9.9.9.7]) by mx.example.org (Postfix) with ESMTP id 1;"
    b" Mon, 1 Jun 2026 10:00:00 +0000\nFrom: News <offers@news.example>\n"
)
_INTO_SENT = (
    _FROM_THERE.replace(b"offers@", b"hello@")
    + b"To: offers@news.example\nMessage-ID: <1@news.example>\nSubject: hello\n\nhello\n"
)
_OF_ALL = (
    b"Received: from hello.example (unknown [172.17.0.1]) by mx.example.org (Postfix) with ESMTP id 1;"
    b" Mon, 1 Jun 2026 10:00:00 +0000\n"
)


def main() -> None:
    """Score the spam as it is and as it is attacked, and print how much of it is caught."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--spam", type=int, default=150, metavar="N", help="the first N of the second half")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    corpus = common.halves(load_corpus(options.corpus))
    spam = [_bytes(one) for one in corpus.second if one.label is Label.SPAM][: options.spam]
    figures = [*_into_sent(corpus.first, spam), *_behind_nat(corpus.first, spam, random.Random(options.seed))]
    common.report(figures, options.json)


def _into_sent(first: Sequence[Labelled], spam: Sequence[bytes]) -> Iterator[dict[str, object]]:
    from_there = [with_fields_of(raw, _FROM_THERE, ("received", "from")) for raw in spam]
    filters = _Filters(first)
    yield filters.caught("none", spam)
    yield filters.caught("from one address, over the path of its domain", from_there)
    filters.lessons.add_sent({identity(_INTO_SENT): sent(parse(_INTO_SENT))})
    yield filters.caught("the same, after a mail into Sent", from_there)


def _behind_nat(first: Sequence[Labelled], spam: Sequence[bytes], chance: random.Random) -> Iterator[dict[str, object]]:
    filters = _Filters(first, above=_OF_ALL)
    ham = [raw for raw in (_bytes(one) for one in first if one.label is Label.HAM) if _has_both(raw)]
    letters = [chance.choice(ham) for _ in spam]
    yield filters.caught("behind NAT: none", [_OF_ALL + raw for raw in spam])
    for what, fields in (("From", ("from",)), ("From and Received", ("from", "received"))):
        forged = [_OF_ALL + with_fields_of(raw, letter, fields) for raw, letter in zip(spam, letters, strict=True)]
        yield filters.caught(f"behind NAT: {what} of a correspondent", forged)


class _Filters:
    """What is learned of messages that all have a field above their own, with what they say of senders and without."""

    def __init__(self, messages: Sequence[Labelled], above: bytes = b"") -> None:
        self.lessons, self._without = MemoryLessons(), MemoryLessons()
        for one in messages:
            reading = read(above + _bytes(one))
            self.lessons.learn([reading], one.label, "", 0.0)
            self._without.learn([_of_nobody(reading)], one.label, "", 0.0)

    def caught(self, name: str, spam: Sequence[bytes]) -> dict[str, object]:
        """How much of the spam is called so."""
        readings = [read(raw) for raw in spam]
        found = _called_spam(self.lessons, readings)
        without = _called_spam(self._without, map(_of_nobody, readings))
        return {"attack": name, "spam": len(spam), "caught": found, "without senders": without}


def _called_spam(lessons: MemoryLessons, readings: Iterable[Reading]) -> int:
    judge = Filter(lessons, Scoring()).judge
    return sum(judge(reading).verdict is Verdict.SPAM for reading in readings)


def _of_nobody(reading: Reading) -> Reading:
    return reading._replace(relations=Relations())


def _has_both(raw: bytes) -> bool:
    return {"from", "received"} <= parse(raw).by_name().keys()


def _bytes(message: Labelled) -> bytes:
    return Path(message.path).read_bytes()


if __name__ == "__main__":
    main()
