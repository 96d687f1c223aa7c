"""Figures of judged mail and of its senders: sums that triggers keep, and `verify` checks."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spamnb.acts import training
from spamnb.base.label import How, Label
from spamnb.ledger.history.figures import Bin, Caught, Judged, Received
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import Reading
from tests.ledger.plans import plans
from tests.profiles import daily

DAY = 86_400.0


def judge(ledger: Ledger, name: str, verdict: str, probability: float, at: float) -> bytes:
    """Judge a message of that name; its identity."""
    known = ledger.messages.ensure(name.encode(), name)
    ledger.messages.judged(known.id, verdict, probability, at)
    return known.digest


def decide(ledger: Ledger, digest: bytes, label: Label, *, weak: bool = False) -> None:
    """Learn a message."""
    training.learn(ledger, Reading(digest, "m", {"a": 1}), label, "a test", 9.0, weak=weak, how=How.HAND)


def test_by_span(ledger: Ledger) -> None:
    """Each span of time has its verdicts, and what a person has decided against them, counted when it was judged."""
    judge(ledger, "a", "ham", 0.01, 10 * DAY)
    lost = judge(ledger, "b", "spam", 0.99, 10 * DAY + 900)
    missed = judge(ledger, "c", "ham", 0.01, 11 * DAY - 1)
    unsure = judge(ledger, "d", "unsure", 0.5, 11 * DAY)
    weak = judge(ledger, "e", "spam", 0.97, 11 * DAY + 5)
    for digest, label in ((lost, Label.HAM), (missed, Label.SPAM), (unsure, Label.HAM)):
        decide(ledger, digest, label)
    decide(ledger, weak, Label.HAM, weak=True)
    assert ledger.figures.judged([9 * DAY, 10 * DAY, 11 * DAY, 12 * DAY]) == [
        Judged(9 * DAY, 10 * DAY),
        Judged(10 * DAY, 11 * DAY, ham=2, spam=1, lost=1, missed=1),
        Judged(11 * DAY, 12 * DAY, unsure=1, spam=1),
    ]
    training.forget(ledger, [lost], "a test", 9.0, how=How.HAND)
    assert ledger.figures.judged([10 * DAY, 11 * DAY])[0].lost == 0, "what is undone is corrected no more"
    assert ledger.verify() == []


def test_received(ledger: Ledger) -> None:
    """What came counts without its verdicts, and what a person called spam; a weak lesson is not a person's word."""
    for number, verdict in enumerate(("ham", "unsure", "spam", "spam", "unsure")):
        judge(ledger, f"m{number}", verdict, 0.5, 10 * DAY + number)
    decide(ledger, b"m0", Label.SPAM)
    decide(ledger, b"m1", Label.SPAM)
    decide(ledger, b"m2", Label.HAM)
    decide(ledger, b"m3", Label.SPAM, weak=True)
    assert ledger.figures.received([9 * DAY, 10 * DAY, 10 * DAY + 4, 11 * DAY]) == [
        Received(9 * DAY, 10 * DAY, 0, 0),
        Received(10 * DAY, 10 * DAY + 4, 4, 2),
        Received(10 * DAY + 4, 11 * DAY, 1, 0),
    ]


def test_caught(ledger: Ledger) -> None:
    """Spam counts as caught if the filter could move it then. Before, it would have been caught, if a person agrees."""
    for number, verdict in enumerate(("spam", "spam", "ham", "spam", "spam", "unsure", "spam")):
        judge(ledger, f"m{number}", verdict, 0.5, 10.0 + number)
    for number, label in ((0, Label.SPAM), (2, Label.SPAM), (4, Label.HAM), (5, Label.SPAM)):
        decide(ledger, b"m%d" % number, label)
    assert ledger.figures.caught([0.0, 13.0, 20.0], 12.0) == [
        Caught(0.0, 13.0, caught=0, would=1, spam=2),
        Caught(13.0, 20.0, caught=2, would=0, spam=3),
    ]
    assert ledger.figures.caught([0.0, 20.0], -math.inf) == [Caught(0.0, 20.0, caught=4, would=0, spam=6)]
    assert ledger.figures.caught([0.0, 20.0], math.inf) == [Caught(0.0, 20.0, caught=0, would=1, spam=3)]


def test_nothing_yet(ledger: Ledger) -> None:
    """An empty ledger has empty figures."""
    assert ledger.figures.judged([0.0, DAY]) == [Judged(0.0, DAY)]
    assert ledger.figures.judged([0.0]) == []
    assert {one.messages for one in ledger.figures.probabilities(20)} == {0}
    assert ledger.messages.numbers() == {}
    assert ledger.figures.weekly(DAY) == (0, 0)


def test_by_week(ledger: Ledger) -> None:
    """How much comes in a week is told by the labels and verdicts of two weeks, not by one message, nor in one day."""
    now = 100 * DAY
    judge(ledger, "old", "spam", 0.99, now - 15 * DAY)
    for number in range(6):
        judge(ledger, f"ham {number}", "ham", 0.01, now - (2 * number + 1) * DAY)
    judge(ledger, "unsure", "unsure", 0.5, now - DAY)
    judge(ledger, "one spam", "spam", 0.99, now - DAY)
    assert ledger.figures.weekly(now) == (3, 0)
    decide(ledger, b"ham 0", Label.SPAM)
    decide(ledger, b"unsure", Label.SPAM)
    assert ledger.figures.weekly(now) == (2, 2)
    assert ledger.figures.weekly(now - 14.5 * DAY) == (0, 0), "half a day"


def test_by_probability(ledger: Ledger) -> None:
    """The bins hold all judged messages; a probability of 1 is in the last one."""
    for number, probability in enumerate([0.0, 0.049, 0.05, 0.5, 0.95, 1.0]):
        judge(ledger, str(number), "spam" if probability == 1.0 else "unsure", probability, 1.0)
    decide(ledger, b"5", Label.SPAM)
    decide(ledger, b"0", Label.HAM)
    bins = ledger.figures.probabilities(20)
    assert [(number, one.messages) for number, one in enumerate(bins) if one.messages] == [
        (0, 2),
        (1, 1),
        (10, 1),
        (19, 2),
    ]
    assert (bins[0], bins[19]) == (
        Bin(0.0, 0.05, ham=1, undecided=1, verdicts=(0, 2, 0)),
        Bin(0.95, 1.0, spam=1, undecided=1, verdicts=(0, 1, 1)),
    )
    assert len(ledger.figures.probabilities(1000)) == 1000


def test_by_probability_in_a_span(ledger: Ledger) -> None:
    """The bins of a span hold what was judged in it, and nothing of its end."""
    for number, at in enumerate([0.5, 1.0, 1.5, 2.0]):
        judge(ledger, str(number), "spam", 1.0, at)
    assert [one.messages for one in ledger.figures.probabilities(2, 1.0, 2.0)] == [0, 2]


@pytest.mark.parametrize("days", [1, 365])
def test_of_a_span_by_the_index_alone(ledger: Ledger, days: int) -> None:
    """For any span the figures are read from one index, and nothing is sorted."""

    def ask() -> None:
        ledger.figures.judged([0.0, days * DAY])
        ledger.figures.probabilities(20, 0.0, days * DAY)
        ledger.figures.corrections(5)
        ledger.messages.numbers()

    for (step,) in plans(ledger, ask):
        assert step.partition(" ")[2] == "message USING COVERING INDEX message_judged"


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Sets the time zone of this process until the test ends."""

    def set_zone(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield set_zone
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("zone", ["<+0545>-05:45", "<-0330>03:30", "UTC0"])
def test_local_days(ledger: Ledger, zone: str, local: Callable[[str], None]) -> None:
    """A local day is exact, whatever the time zone."""
    local(zone)
    midnight = time.mktime((2026, 3, 1, 0, 0, 0, 0, 0, -1))
    judge(ledger, "before", "ham", 0.0, midnight - 1)
    judge(ledger, "after", "spam", 1.0, midnight)
    days = ledger.figures.judged([midnight - DAY, midnight, midnight + DAY])
    assert [(one.ham, one.spam) for one in days] == [(1, 0), (0, 1)]


NAMES = st.sampled_from(["a", "b", "c"])
JUDGED = st.tuples(
    st.just("judge"), NAMES, st.sampled_from(["ham", "unsure", "spam"]), st.floats(0, 1), st.floats(0, 5000)
)
LEARNED = st.tuples(st.just("learn"), NAMES, st.sampled_from(Label), st.booleans())
CAME = st.tuples(st.just("came"), NAMES, st.sampled_from(["", "x@y", "z@y"]), st.sampled_from(["", "list.y"]))
STEPS = st.lists(st.one_of(JUDGED, LEARNED, CAME, st.tuples(st.sampled_from(["forget", "remove"]), NAMES)), max_size=12)


def apply(ledger: Ledger, step: Sequence[Any]) -> None:
    """Do one thing to a message."""
    what, name, *rest = step
    match what:
        case "judge":
            judge(ledger, name, *rest)
        case "learn":
            decide(ledger, name.encode(), rest[0], weak=rest[1])
        case "came":
            ledger.messages.came_from([(name.encode(), *rest)])
        case "forget":
            training.forget(ledger, [name.encode()], "a test", 9.0, how=How.HAND)
        case _:
            with ledger.transaction():
                ledger._connection.execute("DELETE FROM action WHERE message IN (SELECT id FROM message)")
                ledger._connection.execute("DELETE FROM message WHERE digest = ?", (name.encode(),))


@settings(max_examples=daily(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_always_the_sums(tmp_path_factory: pytest.TempPathFactory, steps: list[Sequence[Any]]) -> None:
    """After any change of messages, a sender's numbers are the sums over them, and no empty row is left."""
    with Ledger(str(tmp_path_factory.mktemp("f") / "ledger.sqlite")) as ledger, ledger.without_fsync():
        for step in steps:
            apply(ledger, step)
        assert ledger.verify() == []
        unused = "SELECT count(*) FROM sender WHERE id NOT IN (SELECT coalesce(sender, 0) FROM message"
        assert ledger._connection.row(f"{unused} UNION ALL SELECT coalesce(list, 0) FROM message)") == (0,)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE sender SET judged_spam = 4",
        "UPDATE sender SET corrected = 1",
        "INSERT INTO sender (is_list, name, messages) VALUES (1, 'l', 2)",
        "DROP TRIGGER message_changed; UPDATE message SET label = 1",
    ],
)
def test_verify_proves_them(ledger: Ledger, damage: str) -> None:
    """Each row that is not the sum over the messages is a fault of the ledger."""
    judge(ledger, "a", "ham", 0.5, 1.0)
    ledger.messages.came_from([(b"a", "x@y", "")])
    assert ledger.verify() == []
    with ledger.transaction():
        for statement in damage.split(";"):
            ledger._connection.execute(statement)
    assert ledger.verify() != []
    assert ledger.lessons.verify() == [], "what was learned is as it was"
