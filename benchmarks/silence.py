"""Measure what a stranger can do with the rules of silence and with the circuit breaker.

The user is that of `spamnb evaluate --protocol user`, whose filter decides with the functions of the service.

kept: the stranger sends bait that looks harmless. The user opens and keeps it like ham; then the spam comes for which
it was meant. The first half of the corpus is learned. The bait is in the third quarter, and all spam of the last
quarter is changed. The figure is the share of it that is caught, with the rules, and if all kept mail is learned and
never checked again. `words`: bait and spam hold the 200 words that point most to this very person's ham of the first
half. `sender`: the bait is a letter of the ham, and has the From and Received fields of a spammer, like the spam. The
user keeps 80 % of the bait that is not moved, and treats bait in Junk like ham there. "Later than day 10" leaves out
the first 200 messages of the last quarter. junk: ham that the filter has put into Junk, and that is not rescued. The
user looks into Junk after each message there. The figures are with and without the rule that mail left in Junk is spam;
means over orders. `never rescues` is a user who moves missed spam, looks into Junk, and takes nothing out of it.
filled: a stranger fills Junk with spam of the first half, which is learned, with this number of words of other people's
ham, from OTHER. Mail beyond doubt is learned from silence, after the number of further messages in the rule: in a Junk
that somebody looks at, and in one that nobody has ever opened. Then the second half is judged. breaker: a stranger
sends this number of messages a day, for 50 days, to a person with 20 a day, 32 % of them spam. The figures: after how
many of these messages the breaker trips, if the filter takes all of them for spam. If it does not trip: after how many
more verdicts it trips when the filter takes all mail for spam from then on. "-" is never. The last column is how many
of the person's own messages must come, after the stranger has ended, until that trips it.

    python benchmarks/silence.py kept|junk CORPUS [--orders 3] [--habit NAME …] [--seed 0] [--json]
    python benchmarks/silence.py filled CORPUS OTHER [--sent 1000] [--seed 0] [--json]
    python benchmarks/silence.py breaker [--json]
"""

import contextlib
import functools
import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import common
import numpy as np
from attacked import Vocabulary, lines, with_fields_of, with_text

from spamnb.acts import reconsider
from spamnb.base.label import How, Label, Verdict
from spamnb.config import Learning, Scoring, Senders
from spamnb.evaluation.corpus import Labelled, Sample, load_corpus, samples
from spamnb.evaluation.habits import HABITS, Habit
from spamnb.evaluation.measures import one_minus_roca
from spamnb.evaluation.runs import average
from spamnb.evaluation.user import simulate
from spamnb.evaluation.user_run import UserRun
from spamnb.filter.judge import Filter
from spamnb.ledger.lessons.memory import MemoryLessons
from spamnb.mail.parsing.message import parse
from spamnb.mail.reading import Reading, read
from spamnb.rules import weak_lessons
from spamnb.rules.moving import USUAL, WINDOW, trips

_BAIT = (0, 1, 5, 20)
_WORDS = 200
_KEPT_BY = ("tidy", "careless")
_LOOKING = {
    **{name: HABITS[name] for name in ("tidy", "hasty", "deleting", "careless")},
    "never rescues": replace(HABITS["hasty"], rescue=0.0),
}
_A_DAY, _SPAM_SHARE, _DAYS = 20, 0.32, 50
_FLOODS = (20, 40, 60, 80, 100, 200, 300, 1000)  # messages per day
_BEFORE = 1100  # messages judged before: the number that the breaker looks at
_SETTLED = 200
_NOW = 1e9
_JUNK = {  # by whether somebody looks at it: the rule, and after how many further messages it applies
    "yes": (weak_lessons.silence(_NOW, _NOW, 0.0, lambda _: _NOW), weak_lessons.SILENT_MESSAGES),
    "never": (weak_lessons.silence(_NOW, None, 0.0, lambda _: _NOW), weak_lessons.UNSEEN_MESSAGES),
}
_ADDED, _OTHERS_WORDS = (0, 50, 200, 1000), 3500  # words of other people's ham in a message; from the commonest


def main() -> None:
    """Measure one of the attacks, and print the figures."""
    parser = common.arguments(__doc__)
    parser.add_argument("attack", choices=("kept", "junk", "filled", "breaker"))
    parser.add_argument(
        "corpus", metavar="CORPUS", nargs="?", help="a directory with an `index`, or `ham/` and `spam/`"
    )
    parser.add_argument("other", metavar="OTHER", nargs="?", help="for `filled`: a corpus of other people's mail")
    parser.add_argument("--sent", type=int, default=1000, metavar="N", help="for `filled`: the number of messages")
    parser.add_argument("--orders", type=int, default=3, help="for `junk`: the corpus's own order, and shuffles")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--habit", nargs="+", choices=_LOOKING, default=list(_LOOKING), help="of `junk`")
    options = parser.parse_args()
    if options.attack == "breaker":
        figures = [_flooded(number, options.seed) for number in _FLOODS]
    elif options.corpus is None:
        parser.error("give a CORPUS")
    elif options.attack == "filled":
        if options.other is None:
            parser.error("give an OTHER")
        figures = list(_filled(options.corpus, options.other, options.sent, options.seed))
    elif options.attack == "kept":
        figures = list(_meant_to_be_kept(options.corpus, options.seed))
    else:
        figures = list(_left_in_junk(options.corpus, options.habit, options.orders, options.seed))
    common.report(figures, options.json)


# --- mail that is meant to be kept ----------------------------------------------------------------------------------


def _meant_to_be_kept(corpus: str, seed: int) -> Iterator[dict[str, object]]:
    messages = load_corpus(corpus)
    clean = list(samples(messages))
    for disguise in ("words", "sender"):
        for number in _BAIT:
            stream = _Campaign(messages, clean, disguise, random.Random(seed)).stream(number)
            for habit in _KEPT_BY:
                row: dict[str, object] = {"bait": disguise, "sent": number, "habit": habit}
                for name, rules in (("with the rules", contextlib.nullcontext()), ("all kept learned", _all_kept())):
                    with rules:
                        run = _run(stream, replace(HABITS[habit], learned=len(messages) // 2), seed)
                    row |= {f"{what}, {name}": value for what, value in _of_campaign(run).items()}
                yield row


class _Campaign:
    """The corpus, with bait in its third quarter and changed spam in its last."""

    def __init__(
        self, messages: Sequence[Labelled], clean: Sequence[Sample], disguise: str, chance: random.Random
    ) -> None:
        self._messages, self._clean, self._chance = messages, clean, chance
        self._quarter = len(messages) // 4
        first = messages[: 2 * self._quarter]
        self._ham, self._spam = ([_bytes(one) for one in first if one.label is label] for label in Label)
        self._words = lines(Vocabulary(self._ham, self._spam).typical_of_ham(_WORDS))
        complete = [raw for raw in self._spam if {"from", "received"} <= parse(raw).by_name().keys()]
        self._spammer = chance.choice(complete)
        self._disguise = disguise

    def stream(self, number: int) -> list[Sample]:
        """Return the samples, in order, with that number of bait messages."""
        half, last = 2 * self._quarter, 3 * self._quarter
        bait_at = {half + (place + 1) * self._quarter * 3 // 4 // (number + 1) for place in range(number)}
        found = list(self._clean[:half])
        for place in range(half, last):
            found.append(self._clean[place])
            if place in bait_at:
                found.append(Sample(f"bait {place}", Label.HAM, read(self._bait())))
        for place, message in enumerate(self._messages[last:], last):
            if message.label is Label.HAM:
                found.append(self._clean[place])
            else:
                settled = "late" if place >= last + _SETTLED else "early"
                found.append(Sample(f"meant {settled} {place}", Label.SPAM, read(self._disguised(_bytes(message)))))
        return found

    def _bait(self) -> bytes:
        return self._disguised(self._chance.choice(self._spam if self._disguise == "words" else self._ham))

    def _disguised(self, raw: bytes) -> bytes:
        if self._disguise == "words":
            return with_text(raw, self._words)
        return with_fields_of(raw, self._spammer, ("from", "received"))


def _of_campaign(run: UserRun) -> dict[str, object]:
    meant = [one for one in run.outcomes if one.name.startswith("meant")]
    late = [one for one in meant if one.name.startswith("meant late")]
    return {
        "caught %": _caught(meant),
        "later than day 10 %": _caught(late),
        "bait in Junk": sum(one.verdict is Verdict.SPAM for one in run.outcomes if one.name.startswith("bait")),
        "ham moved": sum(
            one.verdict is Verdict.SPAM and one.label is Label.HAM and not one.name.startswith("bait")
            for one in run.outcomes
        ),
    }


def _caught(outcomes: Sequence[Any]) -> float:
    return 100 * sum(one.verdict is Verdict.SPAM for one in outcomes) / len(outcomes)


@contextlib.contextmanager
def _all_kept() -> Iterator[None]:
    """Learn all kept mail, and never check weak lessons again."""
    with (
        mock.patch.object(weak_lessons, "teaches_ham", lambda *_, **__: True),
        mock.patch.object(reconsider, "outdated", lambda *_: iter(())),
    ):
        yield


# --- silence in Junk ------------------------------------------------------------------------------------------------


def _left_in_junk(corpus: str, habits: Sequence[str], orders: int, seed: int) -> Iterator[dict[str, object]]:
    clean = list(samples(load_corpus(corpus)))
    streams = [clean, *(random.Random(order).sample(clean, len(clean)) for order in range(1, orders))]
    for habit in habits:
        row: dict[str, object] = {"habit": habit}
        for name, rule in (
            ("with", contextlib.nullcontext()),
            ("without", mock.patch.object(weak_lessons.Silence, "teaches", lambda *_: False)),
        ):
            with rule:
                mean = average([_looked_into(stream, _LOOKING[habit], seed) for stream in streams]).mean
            row |= {f"{what}, {name}": value for what, value in mean.items()}
        yield row


def _looked_into(stream: Sequence[Sample], habit: Habit, seed: int) -> dict[str, float | str | None]:
    ham = {one.reading.digest for one in stream if one.label is Label.HAM}
    taught: set[bytes] = set()
    learn = MemoryLessons.learn

    @functools.wraps(learn)
    def watched(self: MemoryLessons, readings: Any, *rest: Any, how: How, **named: Any) -> Any:
        if how is How.SILENCE:
            taught.update(ham & {one.digest for one in readings})
        return learn(self, readings, *rest, how=how, **named)

    with mock.patch.object(MemoryLessons, "learn", watched):
        run = _run(stream, habit, seed)
    found = run.figures()
    return {
        "ham moved": found["ham_lost"],
        "of these learned as spam": len(taught),
        "caught 2nd half %": found["caught_second_half"],
        "(1-ROCA)% 2nd half": found["one_minus_roca_second_half"],
    }


def _run(stream: Sequence[Sample], habit: Habit, seed: int) -> UserRun:
    with mock.patch.dict(HABITS, {"measured": habit}):
        return simulate(stream, Scoring(), Learning(), True, "measured", seed=seed)


# --- Junk that a stranger has filled --------------------------------------------------------------------------------


def _filled(corpus: str, other: str, number: int, seed: int) -> Iterator[dict[str, object]]:
    halves = common.halves(load_corpus(corpus))
    spam = [_bytes(one) for one in halves.first if one.label is Label.SPAM]
    others = [[_bytes(one) for one in load_corpus(other) if one.label is label] for label in Label]
    common_words = Vocabulary(*others).common_in_ham(_OTHERS_WORDS)
    judged = [(one.label, read(_bytes(one))) for one in halves.second]
    rows = [(0, 0, "yes"), *((number, words, looks) for looks in _JUNK for words in _ADDED)]
    for sending, words, looks in rows:
        lessons, chance = MemoryLessons(), random.Random(seed)
        for one in halves.first:
            lessons.learn([read(_bytes(one))], one.label, "", 0.0, how=How.HAND)
        sent = [
            read(_numbered(with_text(chance.choice(spam), lines(chance.sample(common_words, words))), place))
            for place in range(sending)
        ]
        taught = _left_lying(lessons, sent, *_JUNK[looks])
        yield {"looked at": looks, "words": words, "sent": len(sent), "learned": taught} | _of_half(lessons, judged)


def _left_lying(lessons: MemoryLessons, sent: Sequence[Reading], silence: weak_lessons.Silence, after: int) -> int:
    """Learn from silence what it teaches after so many further messages. Returns how many messages."""
    judge, taught = Filter(lessons, Scoring(), Senders()).judge, 0
    waiting: deque[tuple[Reading, float]] = deque()
    for reading in [*sent, *[None] * after]:
        if reading is not None:
            waiting.append((reading, judge(reading).probability))
        if len(waiting) > after or (reading is None and waiting):
            lying, then = waiting.popleft()
            if silence.teaches(then, judge(lying).probability):
                taught += bool(lessons.learn([lying], Label.SPAM, silence.why, 0.0, weak=True, how=silence.how))
    return taught


def _of_half(lessons: MemoryLessons, judged: Sequence[tuple[Label, Reading]]) -> dict[str, object]:
    judge = Filter(lessons, Scoring(), Senders()).judge
    found = [(label, judge(reading)) for label, reading in judged]
    verdicts = {label: [one.verdict for true, one in found if true is label] for label in Label}
    return {
        "caught %": 100 * verdicts[Label.SPAM].count(Verdict.SPAM) / len(verdicts[Label.SPAM]),
        "ham called spam": verdicts[Label.HAM].count(Verdict.SPAM),
        "(1-ROCA)%": one_minus_roca(
            np.array([one.log_odds for _, one in found]), np.array([label for label, _ in found], dtype=bool)
        ),
    }


def _numbered(raw: bytes, number: int) -> bytes:
    """Return the message with its own identity, so that it is not a copy."""
    return with_fields_of(raw, b"Message-ID: <%d@stranger.example>\n\n" % number, ("message-id",))


# --- the circuit breaker --------------------------------------------------------------------------------------------


def _flooded(a_day: int, seed: int) -> dict[str, object]:
    """Return the figures if a stranger sends this number a day, evenly over the day."""
    chance = random.Random(seed)
    share = a_day / (a_day + _A_DAY)
    verdicts = deque((chance.random() < _SPAM_SHARE for _ in range(_BEFORE)), maxlen=_BEFORE)
    flooding, opened_after = 0, None
    for _ in range(_DAYS * (a_day + _A_DAY)):
        is_flood = chance.random() < share
        verdicts.append(is_flood or chance.random() < _SPAM_SHARE)
        flooding += is_flood
        if _opens(verdicts):
            opened_after = flooding
            break
    later = own = None
    if opened_after is None:
        later = _opens_where_all_is_spam(verdicts)
        own = 0
        while _opens_where_all_is_spam(verdicts) is None:
            verdicts.append(chance.random() < _SPAM_SHARE)
            own += 1
    return {
        "sent a day": a_day,
        "share of all mail %": 100 * (share + (1 - share) * _SPAM_SHARE),
        "opens after, of these": opened_after,
        "else, where all is spam, opens after": later,
        "own mail until then": own,
    }


def _opens_where_all_is_spam(verdicts: deque[bool]) -> int | None:
    """Return after how many more verdicts the breaker trips, if all of them are spam; None for never."""
    after = verdicts.copy()
    for number in range(1, USUAL):
        after.append(True)
        if _opens(after):
            return number
    return None


def _opens(verdicts: deque[bool]) -> bool:
    """Tell whether the breaker trips after the newest of these verdicts."""
    all_of_them = list(verdicts)[-(USUAL + WINDOW) :]
    newest, before = all_of_them[-WINDOW:], all_of_them[:-WINDOW]
    return trips(sum(newest), lambda: (before.count(False), before.count(True)))


def _bytes(message: Labelled) -> bytes:
    return Path(message.path).read_bytes()


if __name__ == "__main__":
    main()
