"""Measure attacks on the statistics: spam, or mail to be learned, that is written to make the filter err.

Each filter learns the first half of a corpus with its default settings. Then the second half is scored, with its spam
changed by an attacker:

words: n words are added to each spam: random ones (from all words of the first half: a dictionary), or the n that point
most to this very person's ham, which the attacker knows. letters: a whole letter of the person's own ham, of the first
half, is added to each spam; in sight, or hidden in HTML, by a `style` attribute or by a style sheet. taken for ham: k
spam messages with 200 of the person's words are filed as ham by mistake, or kept until they are learned as ham. Then
the rest of the spam comes, unchanged or with the same words. dictionary: mail that is rightly learned as spam holds the
3500 words that are in most of the person's ham (Nelson et al., "Exploiting machine learning to subvert your spam
filter", 2008); its share of the training mail is given. corrections: the person moves n of the messages with 200 of the
person's words to Junk, then the rest comes. history: each spam has the From field of a letter of the person's own ham,
or its Received fields too (as if somebody had broken into a correspondent's mailbox), or answers such a letter, which
any reader of a list's archive can forge. Also spam that was answered once, so that its sender is a correspondent,
before all spam comes from there. These run with `--history` alone; the table also shows what spamnb catches if it knows
nobody. hidden: one message has a letter of the ham of another corpus and the text of a spam, for the first 100 spam of
the second half. It is written in ways that may hide the one from the filter, or the other from the reader
(`hiding.py`). These run with `--hidden OTHERS` alone, by spamnb alone; once with all fields of the spam's header, and
once with four. As Markdown there is one line per group of ways, with the way by which least is caught. header: the
texts of the first 300 spam of the second half are one HTML part in base64 each. From is the first field. After it come
lines at which some programs end a header, or more header than is read. These run with `--header` alone, by spamnb
alone. signed: the first 150 spam of the second half, signed by the spammer's own domain, with List-Unsubscribe, by
spamnb alone. The person names the server that says so. Each is judged; then the first half of them is moved to Junk,
and the rest comes from other addresses, subdomains or paths of the spammers. They have one domain, or a domain for each
two messages. These run with `--signed` alone.

(1-ROCA)% is 100 times 1 minus the area under the ROC curve; lower is better.

    python benchmarks/attacks.py CORPUS [--seed 0] [--limit N] [--only TEXT] [--markdown | --json]
                                [--history | --header | --signed | --hidden OTHERS]
"""

import json
import multiprocessing
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import common
import numpy as np
from attacked import (
    HIDDEN,
    HIDDEN_BY_SHEET,
    IN_SIGHT,
    Vocabulary,
    as_answer,
    as_one_part,
    as_signed_newsletter,
    letter,
    lines,
    with_body,
    with_fields_of,
    with_text,
)
from hiding import WAYS

from spamnb.base.label import How, Label, Verdict
from spamnb.config import Scoring, Senders
from spamnb.evaluation.corpus import Labelled, load_corpus
from spamnb.evaluation.measures import one_minus_roca
from spamnb.filter.judge import Filter
from spamnb.filter.vouching import Trusted
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.parsing.message import parse
from spamnb.mail.reading import Reading, read
from spamnb.mail.relations import Relations

_NUMBERS = (50, 200, 1000)
_CORRECTIONS = (5, 20)
_MISTAKES = (1, 5, 20, 100)
_SHARES = (0.01, 0.05, 0.10)
_BAIT = 200  # words of the person in mail that should pass for ham
_DICTIONARY = 3500  # words: with those of the message, about the largest number of tokens that is read

_ANSWERED = (1, 5)
_FORGED = {
    "From forged: a correspondent, over another path": ("from",),
    "a correspondent's mailbox: From and Received": ("from", "received"),
}

_HIDDEN_OF = 100  # spam that is written with a letter
_SIGNED, _SERVER = 150, "mx.home.example"
_SPAMMERS: dict[str, Callable[[int], str]] = {
    "one domain": lambda _: "offers.example",
    "a domain for each": lambda number: f"offers{number}.example",
}
_AS_BEFORE = "news@mail.{}", "9.9.9.7"
_OTHERWISE = {
    "a new local part": ("deals@mail.{}", "9.9.9.7"),
    "a new subdomain": ("news@letters.{}", "9.9.9.7"),
    "a new path": ("news@mail.{}", "8.8.4.4"),
    "all three": ("deals@letters.{}", "8.8.4.4"),
}
_FEW_FIELDS = ("from", "to", "subject", "date")
_FIRST = 300  # spam whose header is attacked
_BEHIND_FROM = {
    "no line": b"",
    "a blank": b" \n",
    "a tab": b"\t\n",
    "`this is no field`": b"this is no field\n",
    "`.`": b".\n",
    "`>From a@b`": b">From a@b\n",
    "`Foo Bar: x`": b"Foo Bar: x\n",
    "NUL": b"\0\n",
    "a BOM before a field": "\ufeffX-Pad: x\n".encode(),
    "a field of 66,000 letters": b"X-Pad: " + b"a" * 66_000 + b"\n",
    "600 fields": b"".join(b"X-Pad-%d: x\n" % number for number in range(600)),
}

_SHOWN = {
    "spam caught %": ".1f",
    "ham called spam": "d",
    "unsure ham %": ".1f",
    "(1-ROCA)%": ".2g",
}  # in the narrow table


@dataclass(frozen=True, slots=True)
class Attack:
    """The messages to learn besides the first half, and the messages to score."""

    name: str
    learned: list[Labelled]
    scored: list[Labelled]


def main() -> None:
    """Attack each filter, and print what it still catches, and which ham it calls spam."""
    parser = common.arguments(__doc__)
    parser.add_argument("corpus", metavar="CORPUS", help="a directory with an `index`, or with `ham/` and `spam/`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, metavar="N", help="the first N messages")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the attacks with this in their names")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--history", action="store_true", help="only attacks on known senders, with and without that")
    how.add_argument(
        "--header", action="store_true", help="only lines in the header that are not fields, by spamnb alone"
    )
    how.add_argument(
        "--signed", action="store_true", help="only newsletters of spammers who sign them, by spamnb alone"
    )
    how.add_argument("--hidden", metavar="OTHERS", help="only ways to hide a letter of the ham of that corpus")
    parser.add_argument("--markdown", action="store_true", help="print the figures as a table in Markdown")
    options = parser.parse_args()

    corpus = common.halves(load_corpus(options.corpus)[: options.limit])
    if options.hidden:
        of_ways = _of_hidden(corpus, load_corpus(options.hidden), options.only, options.seed)
        if options.markdown:
            _print_groups(of_ways)
        else:
            common.report([row._asdict() for row in of_ways], options.json)
        return
    if options.signed:
        common.report([row._asdict() for row in _of_signed(corpus)], options.json)
        return
    figures = []
    with tempfile.TemporaryDirectory() as directory:
        attacker = _Attacker(Path(directory), corpus, options.seed)
        all_of_them, contenders = attacker.attacks(), common.contenders()
        if options.history:
            all_of_them, contenders = attacker.on_history(), [lambda _: _InProcess(True), lambda _: _InProcess(False)]
        elif options.header:
            all_of_them, contenders = attacker.on_header(), [lambda _: _InProcess(True)]
        attacks = [attack for attack in all_of_them if options.only in attack.name]
        for make in contenders:
            figures += _withstood(make, corpus, attacks)
    if options.markdown:
        _print_markdown(figures)
    else:
        common.report(figures, options.json)


class _OfWay(NamedTuple):
    """How many spam are caught if they are written in one way."""

    group: str
    way: str
    all_fields: int
    few_fields: int
    called_ham: int  # of both together


@dataclass(frozen=True, slots=True)
class _Hidden:
    """The state that measuring processes get by fork: a filter, and each spam with its text and another's letter."""

    contender: common.Contender
    spam: list[tuple[bytes, str, str]]

    def caught(self, group: str, name: str) -> _OfWay:
        """Return how many of the spam are caught, and called ham, if they are written in one way."""
        way = WAYS[group][name]
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "message"

            def verdict(raw: bytes, fields: Sequence[str], own: str, other: str) -> str:
                path.write_bytes(with_body(raw, way(other, own), fields))
                return common.scored(self.contender, [Labelled(str(path), path.name, Label.SPAM)])[0].verdict

            of_all, of_few = (
                [verdict(raw, fields, own, other) for raw, own, other in self.spam] for fields in ((), _FEW_FIELDS)
            )
        called_ham = (of_all + of_few).count(Verdict.HAM)
        return _OfWay(group, name, of_all.count(Verdict.SPAM), of_few.count(Verdict.SPAM), called_ham)


_HIDDEN: list[_Hidden] = []


def _caught(way: tuple[str, str]) -> _OfWay:
    return _HIDDEN[0].caught(*way)


class _Signed(NamedTuple):
    """How many newsletters of spammers are caught, without and with a server that vouches for them."""

    spammers: str
    mail: str
    messages: int
    caught_without: int
    caught: int


def _of_signed(corpus: common.Halves) -> Iterator[_Signed]:
    """Yield what is caught of signed spam at first, and after half of it was moved to Junk."""
    spam = [_bytes(each) for each in corpus.second if each.label is Label.SPAM][:_SIGNED]
    half = len(spam) // 2
    for spammers, domain_of in _SPAMMERS.items():
        first = _signed_by(spam, domain_of, half, *_AS_BEFORE)
        contender = _InProcess(True)
        contender.train(corpus.first)
        yield _Signed(spammers, "at first", len(first), *map(contender.caught, (None, _SERVER), (first, first)))
        contender.learn(first[:half], Label.SPAM)
        for mail, (sender, address) in {"the same address": _AS_BEFORE, **_OTHERWISE}.items():
            rest = _signed_by(spam, domain_of, half, sender, address)[half:]
            yield _Signed(spammers, mail, len(rest), *map(contender.caught, (None, _SERVER), (rest, rest)))


def _signed_by(
    spam: Sequence[bytes], domain_of: Callable[[int], str], half: int, sender: str, address: str
) -> list[Reading]:
    return [
        read(as_signed_newsletter(raw, _SERVER, sender.format(domain_of(number % half)), address))
        for number, raw in enumerate(spam)
    ]


def _of_hidden(corpus: common.Halves, others: Sequence[Labelled], only: str, seed: int) -> list[_OfWay]:
    """Return how many of the first spam are caught with a letter of others' ham, by the way of writing.

    The first way of each group is always among them.
    """
    ham = [each for each in others if each.label is Label.HAM]
    random.Random(seed).shuffle(ham)
    letters = filter(None, (letter(_bytes(each)).strip() for each in ham))
    spam = ((_bytes(each), letter(_bytes(each))) for each in corpus.second if each.label is Label.SPAM)
    shown = ((raw, own) for raw, own in spam if own.strip())
    pairs = [(raw, own, next(letters)) for raw, own in islice(shown, _HIDDEN_OF)]
    _HIDDEN.append(_Hidden(_trained(lambda _: _InProcess(True), Path(), corpus.first), pairs))
    ways = []
    for group, (first, *others_of_group) in WAYS.items():
        if chosen := [name for name in others_of_group if only in name]:
            ways += [(group, name) for name in (first, *chosen)]
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("fork")) as pool:
        return list(pool.map(_caught, ways))


def _withstood(
    make: Callable[[Path], common.Contender], corpus: common.Halves, attacks: Sequence[Attack]
) -> list[dict[str, object]]:
    """Measure one filter under the attacks. It is trained again only if it learns from an attack."""
    figures = []
    with tempfile.TemporaryDirectory() as directory:
        clean = _trained(make, Path(directory), corpus.first)
        for attack in attacks:
            with tempfile.TemporaryDirectory() as another:
                contender = clean
                if attack.learned:
                    contender = _trained(make, Path(another), [*corpus.first, *attack.learned])
                scored = common.scored(contender, attack.scored)
            figures.append({"filter": contender.name, "attack": attack.name} | _measures(attack.scored, scored))
    return figures


def _trained(
    make: Callable[[Path], common.Contender], directory: Path, messages: Sequence[Labelled]
) -> common.Contender:
    contender = make(directory)
    contender.train(messages)
    return contender


class _InProcess:
    """spamnb in this process, with or without its knowledge of senders and threads."""

    def __init__(self, with_history: bool) -> None:
        self.name = "with history" if with_history else "without"
        self._with_history = with_history
        self._lessons = MemoryLessons()

    def train(self, messages: Sequence[Labelled]) -> None:
        """Learn the messages with their true labels, each class in order."""
        for label in Label:
            self.learn([self._read(message) for message in messages if message.label is label], label)

    def learn(self, readings: Sequence[Reading], label: Label) -> None:
        """Learn some messages."""
        self._lessons.learn(readings, label, "", 0.0, how=How.HAND)

    def caught(self, server: str | None, readings: Sequence[Reading]) -> int:
        """Return how many of the messages are spam; server: that the person has named."""
        judge = Filter(self._lessons, Scoring(), Senders(), Trusted(server)).judge
        return sum(judge(reading).verdict is Verdict.SPAM for reading in readings)

    def score(self, messages: Sequence[Labelled], *_options: str) -> list[str]:
        """Return a line for each message, as `spamnb score --json` prints it."""
        judge = Filter(self._lessons, Scoring(), Senders()).judge
        found = (judge(self._read(message)) for message in messages)
        return [json.dumps({"verdict": one.verdict, "score": one.log_odds}) for one in found]

    def _read(self, message: Labelled) -> Reading:
        reading = read(_bytes(message))
        return reading if self._with_history else reading._replace(relations=Relations())


class _Attacker:
    """Writes attacked messages to files below a directory."""

    def __init__(self, directory: Path, corpus: common.Halves, seed: int) -> None:
        self._directory = directory
        self._corpus = corpus
        self._chance = random.Random(seed)
        self._ham, self._spam = ([each for each in corpus.second if each.label is label] for label in Label)
        self._known_ham, self._known_spam = (
            [Path(each.path).read_bytes() for each in corpus.first if each.label is label] for label in Label
        )
        self._vocabulary = Vocabulary(self._known_ham, self._known_spam)
        self._number = 0

    def attacks(self) -> Iterator[Attack]:
        """Yield all attacks, and first none."""
        yield self._changed("none", lambda raw: raw)
        for number in _NUMBERS:
            yield self._changed(
                f"{number} random words",
                lambda raw, n=number: with_text(raw, lines(self._vocabulary.random_words(n, self._chance))),
            )
        for number in _NUMBERS:
            words = self._vocabulary.typical_of_ham(number)
            yield self._changed(
                f"the {number} words most typical of ham", lambda raw, w=words: with_text(raw, lines(w))
            )
        yield self._with_letters("hidden", HIDDEN)
        yield self._with_letters("in sight", IN_SIGHT)
        yield from self._taken_for_ham()
        yield from self._dictionary()
        yield from self._moved_to_junk()
        for how, markup in HIDDEN_BY_SHEET.items():
            yield self._with_letters(f"hidden by a style sheet: {how}", markup)

    def on_history(self) -> Iterator[Attack]:
        """Yield first none, then attacks on known senders and threads, if the mail has a header."""
        yield self._changed("none", lambda raw: raw)
        letters = [raw for raw in self._known_ham if _has_all(raw)]
        bait = [raw for raw in map(_bytes, self._spam) if _has_all(raw)]
        if not letters or not bait:
            return
        for name, fields in _FORGED.items():
            yield self._changed(name, lambda raw, f=fields: with_fields_of(raw, self._chance.choice(letters), f))
        yield self._changed(
            "an answer in a thread of the ham", lambda raw: as_answer(raw, self._chance.choice(letters))
        )

        def all_of_it(raw: bytes) -> bytes:
            other = self._chance.choice(letters)
            return as_answer(with_fields_of(raw, other, ("from", "received")), other)

        yield self._changed("a correspondent's mailbox, and an answer in their thread", all_of_it)
        answered = self._chance.choice(bait)

        def from_there(each: Labelled, label: Label) -> Labelled:
            return self._file(with_fields_of(_bytes(each), answered, ("from", "received")), label)

        order = self._chance.sample(self._spam, len(self._spam))
        for number in _ANSWERED:
            learned = [from_there(each, Label.HAM) for each in order[:number]]
            scored = [from_there(each, Label.SPAM) for each in order[number:]]
            yield Attack(f"{number} spam of one sender answered, then all from there", learned, [*self._ham, *scored])

    def on_header(self) -> Iterator[Attack]:
        """Yield attacks by lines at which some programs end a header, or by more header than is read."""
        for name, more in _BEHIND_FROM.items():
            spam = [self._file(as_one_part(_bytes(each), more), Label.SPAM) for each in self._spam[:_FIRST]]
            yield Attack(f"one part in base64, behind From {name}", [], [*self._ham, *spam])

    def _with_letters(self, how: str, markup: bytes) -> Attack:
        return self._changed(
            f"a whole letter of the ham, {how}",
            lambda raw: with_text(raw, letter(self._chance.choice(self._known_ham)), markup),
        )

    def _moved_to_junk(self) -> Iterator[Attack]:
        bait = lines(self._vocabulary.typical_of_ham(_BAIT))
        order = self._chance.sample(self._spam, len(self._spam))
        for number in _CORRECTIONS:
            learned, rest = (
                [self._file(with_text(_bytes(each), bait), Label.SPAM) for each in part]
                for part in (order[:number], order[number:])
            )
            yield Attack(
                f"the {_BAIT} words most typical of ham, after {number} were moved to Junk",
                learned,
                [*self._ham, *rest],
            )

    def _taken_for_ham(self) -> Iterator[Attack]:
        bait = lines(self._vocabulary.typical_of_ham(_BAIT))
        order = self._chance.sample(self._spam, len(self._spam))
        for number in _MISTAKES:
            mistakes, rest = order[:number], order[number:]
            learned = [self._file(with_text(_bytes(each), bait), Label.HAM) for each in mistakes]
            times = f"{number} spam taken for ham" if number > 1 else "1 spam taken for ham"
            yield Attack(f"{times}, then spam as it is", learned, [*self._ham, *rest])
            again = [self._file(with_text(_bytes(each), bait), Label.SPAM) for each in rest]
            yield Attack(f"{times}, then with the same words", learned, [*self._ham, *again])

    def _dictionary(self) -> Iterator[Attack]:
        words = self._vocabulary.common_in_ham(_DICTIONARY)
        for share in _SHARES:
            number = round(len(self._corpus.first) * share / (1 - share))
            learned = []
            for _ in range(number):
                raw = self._chance.choice(self._known_spam)
                mixed = self._chance.sample(words, len(words))
                learned.append(self._file(with_text(raw, lines(mixed)), Label.SPAM))
            yield Attack(f"dictionary mail is {share:.0%} of what is learned", learned, self._corpus.second)

    def _changed(self, name: str, change: Callable[[bytes], bytes]) -> Attack:
        return Attack(name, [], [*self._ham, *(self._file(change(_bytes(each)), Label.SPAM) for each in self._spam)])

    def _file(self, raw: bytes, label: Label) -> Labelled:
        self._number += 1
        path = self._directory / f"{self._number}.eml"
        path.write_bytes(raw)
        return Labelled(str(path), path.name, label)


def _has_all(raw: bytes) -> bool:
    """Tell whether it has the fields from which history is made."""
    fields = parse(raw).by_name()
    return {"from", "received", "message-id"} <= fields.keys()


def _bytes(message: Labelled) -> bytes:
    return Path(message.path).read_bytes()


def _measures(messages: Sequence[Labelled], scored: Sequence[common.Scored]) -> dict[str, object]:
    spam = np.array([message.label for message in messages], dtype=bool)
    verdicts = np.array([each.verdict for each in scored])
    lost = int(((verdicts == "spam") & ~spam).sum())
    return {
        "spam caught": int((verdicts[spam] == "spam").sum()),
        "spam caught %": 100.0 * float((verdicts[spam] == "spam").mean()),
        "spam taken for ham %": 100.0 * float((verdicts[spam] == "ham").mean()),
        "ham called spam": lost,
        "ham called spam %": 100.0 * lost / int((~spam).sum()),
        "unsure ham %": 100.0 * float((verdicts[~spam] == "unsure").mean()),
        "(1-ROCA)%": one_minus_roca(np.array([each.rank for each in scored]), spam),
    }


def _print_groups(figures: Sequence[_OfWay]) -> None:
    """Print a line per group of ways: what is caught in sight, and at least."""
    print("| group | ways | all fields, in sight | at least | few fields, in sight | at least | way | called ham |")
    print("|---" * 8 + "|")
    for group in dict.fromkeys(row.group for row in figures):
        in_sight, *others = (row for row in figures if row.group == group)
        worst = min(others, key=lambda row: row.few_fields)
        of_all = f"{in_sight.all_fields} | {min(row.all_fields for row in others)}"
        print(
            f"| {group} | {len(others)} | {of_all} | {in_sight.few_fields} | {worst.few_fields} | {worst.way} | "
            f"{max(row.called_ham for row in others)} |"
        )


def _print_markdown(figures: Sequence[dict[str, object]]) -> None:
    """Print a line per attack, with the filters side by side."""
    names = list(dict.fromkeys(str(row["filter"]) for row in figures))
    print("| attack | " + " | ".join(f"{column}, {name}" for column in _SHOWN for name in names) + " |")
    print("|---" * (1 + len(_SHOWN) * len(names)) + "|")
    for attack in dict.fromkeys(str(row["attack"]) for row in figures):
        rows = {str(row["filter"]): row for row in figures if row["attack"] == attack}
        cells = [format(rows[name][column], _SHOWN[column]) for column in _SHOWN for name in names]
        print(f"| {attack} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
