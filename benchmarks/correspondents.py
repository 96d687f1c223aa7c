"""Measure the knowledge of senders: its effect on answers and on mail of correspondents, and a forger's gain from it.

answers and correspondents: the protocol `online` of `spamnb evaluate` over several orders, with each of the two tokens
and without. No corpus has sent mail, so it is made up. Ham names messages in In-Reply-To that are not in the corpus:
the person has written a share of these, each to everybody whose ham answers it. A sent message is known before its
answers. Otherwise the order of a thread is that of the corpus, where answers come before the answered message as often
as after it. p is the probability of spam.

as if: each message from an unknown sender is judged unchanged, and at the same moment as an answer to the person's
mail, and as mail of a correspondent. For ham this shows the possible gain of a first letter; for spam, a forger's gain.

strangers: the filter learns the first half of the corpus, with its made-up sent mail. Then some spam of the second half
is scored as an attacker would send it, with the filter's knowledge of senders and without:

sent: all spam is from one address, and answers a mail to this address. The attacker has had this mail delivered into
the person's Sent, as with `you+Sent@`; or the person's vacation notice has sent it; or it is a letter of the person to
that address, which shows the largest effect of the first two. nat: the person's own server sees all connections from
one private address, which its Received field has at the top of all mail, learned or scored. The spam has the From of a
letter of the person's ham, and below that field the Received fields of the letter.

    python benchmarks/correspondents.py CORPUS [--orders 4] [--share 0.1] [--spam 150] [--seed 0] [--json]
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import common
import numpy as np
from attacked import with_fields_of

from spamnb.base.label import How, Label, Verdict
from spamnb.config import Scoring, Senders
from spamnb.evaluation.corpus import Labelled, Sample, load_corpus
from spamnb.evaluation.measures import Outcome
from spamnb.evaluation.packed import Packed
from spamnb.evaluation.protocols import Learner
from spamnb.evaluation.runs import figures, in_orders
from spamnb.filter.judge import Filter
from spamnb.identity.digests import identity
from spamnb.ledger.lessons.acquaintance import Acquaintance, tokens_of
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.parsing.message import parse
from spamnb.mail.reading import Reading, read
from spamnb.mail.relations import Relations, addressees

_ANSWER, _CORRESPONDENT = Acquaintance
_WAYS: dict[str, frozenset[Acquaintance]] = {
    "nobody": frozenset(),
    "answers": frozenset({_ANSWER}),
    "correspondents": frozenset({_CORRESPONDENT}),
    "both": frozenset(Acquaintance),
}
_DELIVERED = (
    b"Received: from out.news.example (out.news.example [9.9.9.7]) by mx.example.org (Postfix) with ESMTP id 1;"
    b" Mon, 1 Jun 2026 10:00:00 +0000\n"
)
_LETTER = b"From: you@home.example\nTo: offers@news.example\nMessage-ID: <1@home.example>\nSubject: hello\n\nhello\n"
_FROM_THERE = _DELIVERED + b"From: News <offers@news.example>\nIn-Reply-To: <1@home.example>\n"
_OF_ALL = (
    b"Received: from hello.example (unknown [172.17.0.1]) by mx.example.org (Postfix) with ESMTP id 1;"
    b" Mon, 1 Jun 2026 10:00:00 +0000\n"
)
_SENT = {
    "the same, after a mail into Sent": _DELIVERED + _LETTER,
    "the same, after a vacation notice": b"Auto-Submitted: auto-replied\n" + _LETTER,
    "the same, after a letter of the person's": _LETTER,
}

_Written = Mapping[str, bytes]  # the sent mail that each message answers, by the message's name


def main() -> None:
    """Measure, and print three tables."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--orders", type=int, default=4, metavar="N", help="the corpus's, and N-1 others")
    parser.add_argument("--share", type=float, default=0.1, help="the share of answered messages that the person wrote")
    parser.add_argument("--spam", type=int, default=150, metavar="N", help="the first N of the second half")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    corpus = load_corpus(options.corpus)
    written = _made_up(corpus, options.share, random.Random(options.seed))
    if not written:
        parser.exit(1, "no message of this corpus answers another: it has no header fields to measure by\n")
    samples = Packed(Sample(each.name, each.label, read(_bytes(each))) for each in corpus)
    runs = [_Run(list(ordered), written) for ordered in in_orders(samples, options.orders)]
    halves = common.halves(corpus)
    spam = [_bytes(each) for each in halves.second if each.label is Label.SPAM][: options.spam]
    attacks = [
        *_into_sent(halves.first, written, spam),
        *_behind_nat(halves.first, written, spam, random.Random(options.seed)),
    ]
    tables = [[_online(way, tokens, runs) for way, tokens in _WAYS.items()], list(_as_if(runs)), attacks]
    if options.json:
        common.report(list(chain.from_iterable(tables)), True)
        return
    for table in tables:
        common.report(table, False)
        print()


def _made_up(corpus: Sequence[Labelled], share: float, chance: random.Random) -> _Written:
    """Make up sent mail: of the messages that ham answers and the corpus lacks, a share, to all who answer them."""
    there, answering = set(), defaultdict(list)
    for each in corpus:
        message = parse(_bytes(each))
        there.add(message.first("message-id").strip())
        named = message.first("in-reply-to").strip().partition(">")[0]
        if each.label is Label.HAM and named.startswith("<") and message.first("from"):
            answering[f"{named}>"].append((each.name, message.first("from")))
    written: dict[str, bytes] = {}
    for named in sorted(answering.keys() - there):
        if chance.random() < share:
            to = ",\n ".join(dict.fromkeys(sender for _, sender in answering[named]))
            head = f"From: you@home.example\nTo: {to}\nMessage-ID: {named}\nSubject: hello\n\nhello\n"
            written.update((name, head.encode("utf-8", "surrogateescape")) for name, _ in answering[named])
    return written


class _Run:
    """One order of the messages, and what is known of each when it comes."""

    def __init__(self, samples: Sequence[Sample], written: _Written) -> None:
        self._samples = [_of_nobody(sample) for sample in samples]
        self.is_answer = [sample.name in written for sample in samples]
        self.known = []
        lessons = MemoryLessons()
        for sample in samples:
            _send(lessons, written, sample.name)
            self.known += [seen.known for seen in lessons.seen([sample.reading.relations])]
            lessons.learn([sample.reading._replace(tokens={})], sample.label, "", 0.0, how=How.HAND)

    def online(self, allowed: frozenset[Acquaintance]) -> list[Outcome]:
        """Return the outcomes if only these of the tokens exist."""
        return [outcome for (outcome,) in self._judged(allowed, ())]

    def as_if(self, more: Sequence[frozenset[Acquaintance]]) -> Iterator[list[Outcome]]:
        """Yield the judgements of each message from an unknown sender: unchanged, and with each added knowledge."""
        for known, outcomes in zip(self.known, self._judged(frozenset(Acquaintance), more), strict=True):
            if not known:
                yield outcomes

    def _judged(
        self, allowed: frozenset[Acquaintance], more: Sequence[frozenset[Acquaintance]]
    ) -> Iterator[list[Outcome]]:
        learner = Learner(Scoring())
        for sample, known in zip(self._samples, self.known, strict=True):
            it = _with_tokens(sample, known & allowed)
            yield [learner.judge(it), *(learner.judge(_with_tokens(sample, each)) for each in more)]
            learner.learn(it)

    def of_answers(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Return the outcomes of the answers to sent mail."""
        return [outcome for outcome, is_answer in zip(outcomes, self.is_answer, strict=True) if is_answer]

    def of_correspondents(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Return the outcomes of the ham of correspondents."""
        both = zip(outcomes, self.known, strict=True)
        return [outcome for outcome, known in both if _CORRESPONDENT in known and outcome.label is Label.HAM]


def _online(way: str, tokens: frozenset[Acquaintance], runs: Sequence[_Run]) -> dict[str, object]:
    """Return means over the orders; for the probabilities, over all of them together."""
    outcomes = [run.online(tokens) for run in runs]
    found = [figures(each) for each in outcomes]
    row: dict[str, object] = {"known": way}
    for name, shown in (("one_minus_roca_of_all", "(1-ROCA)%"), ("ham_lost", "ham called spam")):
        row[shown] = float(np.mean([each[name] for each in found]))
    row["spam caught %"] = 100 - float(np.mean([each["sm"] for each in found]))
    groups = {"answers": _Run.of_answers, "correspondents": _Run.of_correspondents}
    for name, group in groups.items():
        of_group = [outcome for run, each in zip(runs, outcomes, strict=True) for outcome in group(run, each)]
        row |= {f"{name}: {what}": value for what, value in _of_ham(of_group, len(runs)).items()}
    return row


def _of_ham(outcomes: Sequence[Outcome], orders: int) -> dict[str, object]:
    """Return their number per order, and how they are judged."""
    p = np.array([outcome.probability for outcome in outcomes])
    return {
        "n": len(outcomes) / orders,
        "called spam": _number(outcomes, Verdict.SPAM) / orders,
        "unsure": _number(outcomes, Verdict.UNSURE) / orders,
        "mean p": float(p.mean()),
        "p of 99 %": float(np.quantile(p, 0.99)),
        "greatest p": float(p.max()),
    }


def _as_if(runs: Sequence[_Run]) -> Iterator[dict[str, object]]:
    """Yield the judgements of messages from unknown senders, and as if they were known."""
    ways = {"as it is": frozenset(), **{way: known for way, known in _WAYS.items() if known}}
    judged = [outcomes for run in runs for outcomes in run.as_if(list(ways.values())[1:])]
    for label in Label:
        of_label = [outcomes for outcomes in judged if outcomes[0].label is label]
        for number, way in enumerate(ways):
            outcomes = [each[number] for each in of_label]
            row: dict[str, object] = {"of nobody known": label.word, "as if": way, "n": len(outcomes) / len(runs)}
            for verdict in (Verdict.SPAM, Verdict.UNSURE):
                row[f"called {verdict}"] = _number(outcomes, verdict) / len(runs)
            yield row | {"mean p": float(np.mean([outcome.probability for outcome in outcomes]))}


def _number(outcomes: Iterable[Outcome], verdict: Verdict) -> int:
    return sum(outcome.verdict is verdict for outcome in outcomes)


def _into_sent(first: Sequence[Labelled], written: _Written, spam: Sequence[bytes]) -> Iterator[dict[str, object]]:
    fields = ("received", "from", "in-reply-to", "references")
    from_there = [with_fields_of(raw, _FROM_THERE, fields) for raw in spam]
    filters = _Filters(first, written)
    yield filters.caught("none", spam)
    yield filters.caught("from one address, as answers", from_there)
    for name, raw in _SENT.items():
        filters.lessons.add_sent({identity(raw): addressees(parse(raw))})
        yield filters.caught(name, from_there)


def _behind_nat(
    first: Sequence[Labelled], written: _Written, spam: Sequence[bytes], chance: random.Random
) -> Iterator[dict[str, object]]:
    filters = _Filters(first, written, above=_OF_ALL)
    ham = [raw for raw in (_bytes(each) for each in first if each.label is Label.HAM) if _has_both(raw)]
    letters = [chance.choice(ham) for _ in spam]
    yield filters.caught("behind NAT: none", [_OF_ALL + raw for raw in spam])
    for what, fields in (("From", ("from",)), ("From and Received", ("from", "received"))):
        forged = [_OF_ALL + with_fields_of(raw, letter, fields) for raw, letter in zip(spam, letters, strict=True)]
        yield filters.caught(f"behind NAT: {what} of a correspondent", forged)


class _Filters:
    """Lessons from messages that all have one more field at the top, with the knowledge of senders and without."""

    def __init__(self, messages: Sequence[Labelled], written: _Written, above: bytes = b"") -> None:
        self.lessons, self._without = MemoryLessons(), MemoryLessons()
        for each in messages:
            reading = read(above + _bytes(each))
            _send(self.lessons, written, each.name)
            self.lessons.learn([reading], each.label, "", 0.0, how=How.HAND)
            self._without.learn([reading._replace(relations=Relations())], each.label, "", 0.0, how=How.HAND)

    def caught(self, name: str, spam: Sequence[bytes]) -> dict[str, object]:
        """Return how much of the spam is called spam."""
        readings = [read(raw) for raw in spam]
        found = _called_spam(self.lessons, readings)
        without = _called_spam(self._without, readings)
        return {"attack": name, "spam": len(spam), "caught": found, "without senders": without}


def _called_spam(lessons: MemoryLessons, readings: Iterable[Reading]) -> int:
    judge = Filter(lessons, Scoring(), Senders()).judge
    return sum(judge(reading).verdict is Verdict.SPAM for reading in readings)


def _send(lessons: MemoryLessons, written: _Written, name: str) -> None:
    """Write the mail that a message answers, as the service keeps it from a folder of sent mail."""
    if name in written:
        lessons.add_sent({identity(written[name]): addressees(parse(written[name]))})


def _of_nobody(sample: Sample) -> Sample:
    return sample._replace(reading=sample.reading._replace(relations=Relations()))


def _with_tokens(sample: Sample, known: Iterable[Acquaintance]) -> Sample:
    tokens = {**sample.reading.tokens, **dict.fromkeys(tokens_of(known), 1)}
    return sample._replace(reading=sample.reading._replace(tokens=tokens))


def _has_both(raw: bytes) -> bool:
    return {"from", "received"} <= parse(raw).by_name().keys()


def _bytes(message: Labelled) -> bytes:
    return Path(message.path).read_bytes()


if __name__ == "__main__":
    main()
