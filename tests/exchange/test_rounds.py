"""A round of one ledger: what it sends, what it takes over, and what stays."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import repeat
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from spamnb.acts.may_move import await_nobody, begin_if_ready, hindrance, missing_by_numbers
from spamnb.acts.training import forget, import_counts, learn, take_over
from spamnb.base.errors import ExchangeAwayError
from spamnb.base.label import How, Label
from spamnb.config import Config, Learning, Mailbox, Scoring
from spamnb.exchange.memory import MemoryLog
from spamnb.exchange.port import LessonLog, LogAccount, News, news_of
from spamnb.exchange.rounds import _RECEIVED_TOGETHER, Round, exchange, is_forgotten
from spamnb.ledger.copies import copy as copies
from spamnb.ledger.copies.recovery import restore
from spamnb.ledger.ledger import ExchangeState, Ledger
from spamnb.ledger.lessons.batch import Batch
from spamnb.ledger.lessons.export_format import parse
from spamnb.mail.reading import Reading
from tests.exchange.interrupted import Interrupted
from tests.exchange.learned import ALL, a_round, by_the_ledger, by_the_log, rounds
from tests.ledger.test_read_again import former_tokenizer

HAM, SPAM = Label
Made = Callable[[str], Ledger]


@pytest.fixture
def memory() -> MemoryLog:
    """A log in memory."""
    return MemoryLog()


def reading(number: int, **tokens: int) -> Reading:
    """A message."""
    return Reading(bytes([number]) * 16, f"message {number}", tokens or {"word": 1, f"w{number}": 2})


def teach(ledger: Ledger, number: int, label: Label | None, at: float = 1.0, *, weak: bool = False) -> None:
    """Learn or forget a message."""
    if label is None:
        forget(ledger, [reading(number).digest], "untrained", at, how=How.HAND)
    else:
        learn(ledger, reading(number), label, "moved to a folder", at, how=How.MOVE, weak=weak)


def label(ledger: Ledger, number: int) -> Label | None:
    """Return the label of a message."""
    found = ledger.lessons.find(reading(number).digest)
    return None if found is None else found.label


def waiting(ledger: Ledger) -> tuple[int, float | None]:
    """Return how many lessons wait to be sent, and when the oldest was learned."""
    shared = ledger.shared()
    return shared.unsent, shared.waiting_since


def after(steps: int) -> Callable[[], bool]:
    """Return a `go_on` that asks a round to end after some steps."""
    left = repeat(True, steps)
    return lambda: next(left, False)


def test_what_one_host_learns_another_knows(log: LessonLog, one: Ledger, two: Ledger) -> None:
    """One round sends a lesson, another host's takes it over with label, tokens and counts; forgetting too."""
    teach(one, 1, HAM)
    teach(one, 2, SPAM, weak=True)
    teach(one, 3, SPAM)
    teach(one, 3, None, 2.0)
    assert a_round(one, log) == Round(3, 3, 0, is_over=True)
    assert a_round(two, log) == Round(0, 3, 3, is_over=True)
    assert by_the_ledger(one) == by_the_ledger(two) == by_the_log(log.receive("anna", 0, ALL))
    teach(two, 1, SPAM, 3.0)
    assert a_round(two, log) == Round(1, 1, 0, is_over=True)
    assert a_round(one, log) == Round(0, 1, 1, is_over=True)
    assert label(one, 1) is SPAM
    assert a_round(one, log) == Round(is_over=True)


def test_the_history_says_where_it_was_learned(memory: MemoryLog, one: Ledger, two: Ledger) -> None:
    """In the history a lesson of another host names that host; the lesson itself keeps its own reason."""
    teach(one, 1, HAM)
    rounds(memory, one, two)
    here, there = (next(each.journal.newest(1)) for each in (one, two))
    assert here.why == "moved to a folder"
    assert (there.why, there.how, there.at) == ("moved to a folder (on one)", How.MOVE, 1.0)
    found, known = two.lessons.find(reading(1).digest), two.messages.find(reading(1).digest)
    assert found is not None
    assert known is not None
    assert (found.why, known.label, known.summary) == ("moved to a folder", HAM, "message 1")


def test_a_decision_of_another_host_ends_a_rescue(memory: MemoryLog, one: Ledger, two: Ledger) -> None:
    """A decision of another host counts like one of this host: a message that was rescued here is spam again."""
    teach(two, 1, HAM, 1.0)
    message = two.messages.ensure(reading(1).digest, "")
    two.messages.rescued(message.id, 1.0)
    teach(one, 1, SPAM, 2.0)
    rounds(memory, two)
    assert two.messages.get(message.id).rescued_at == 1.0
    rounds(memory, one, two)
    assert two.messages.get(message.id).rescued_at is None


def test_imports_are_not_sent(memory: MemoryLog, one: Ledger, two: Ledger) -> None:
    """Imported counts, and tokens that were read again, stay on their host."""
    with former_tokenizer():
        teach(one, 1, HAM)
    import_counts(one, parse((line.encode() for line in one.lessons.export()), "f"), "f", 2.0)
    assert waiting(one) == (1, 1.0)
    assert a_round(one, memory) == Round(1, 1, 0, is_over=True)
    one.lessons.batcher().read_again([Batch.of([reading(1, other=1)])])
    assert waiting(one) == (0, None)
    assert a_round(one, memory) == Round(is_over=True)
    rounds(memory, two)
    assert [each.lessons.totals().tolist()[:2] for each in (one, two)] == [[2, 0], [1, 0]]
    assert two.lessons.counts(["word", "other"]).messages.tolist() == [[1, 0], [0, 0]]


def test_how_much_waits_to_be_sent(memory: MemoryLog, one: Ledger) -> None:
    """The ledger knows without the log how many lessons wait, and since when the oldest waits."""
    assert waiting(one) == (0, None)
    for number in range(5):
        teach(one, number, HAM, 10.0 - number)
    assert waiting(one) == (5, 6.0)
    with mock.patch.object(ExchangeState, "MOST", 3):
        assert waiting(one) == (3, 8.0)
    rounds(memory, one)
    assert waiting(one) == (0, None)


# --- something else happens at the same time ----------------------------------------------------------------------


def interrupted(ledger: Ledger, log: LessonLog, at: int, meanwhile: Callable[[], object], **more: Any) -> Round:
    """Make a round at whose `at`th call something else happens; `has`, `send` and `receive` are calls."""
    busy: Any = Interrupted(log, at, meanwhile)
    return exchange(ledger, busy, "anna", "one", news_of(log, ["anna"])["anna"], **more)


def cut() -> None:
    """Lose the connection."""
    raise ExchangeAwayError("cut")


def test_what_is_learned_meanwhile_is_sent_before_anything_is_taken_over(
    memory: MemoryLog, one: Ledger, two: Ledger
) -> None:
    """A decision in the middle of a round is not overwritten by what another host sent before."""
    teach(two, 1, SPAM, 1.0)
    rounds(memory, two)
    done = interrupted(one, memory, 0, lambda: teach(one, 1, HAM, 2.0))
    assert (label(one, 1), done.sent, done.is_over) == (HAM, 1, True)
    rounds(memory, two)
    assert label(two, 1) is HAM


def test_a_lesson_is_sent_with_the_place_of_its_own_moment(memory: MemoryLog, one: Ledger, two: Ledger) -> None:
    """A lesson is sent with the place that its host knew when it was learned: later rows stay as they are."""
    teach(one, 1, SPAM, 1.0)
    rounds(memory, one, two)
    teach(one, 2, HAM, 2.0)
    teach(one, 1, HAM, 3.0)

    def by_a_command() -> None:
        """Another process sends and receives; then another host decides again."""
        rounds(memory, one, two)
        teach(two, 1, SPAM, 2.5)  # its clock is slow
        rounds(memory, two, one)

    interrupted(one, memory, 0, by_a_command, go_on=after(2))
    assert label(one, 1) is SPAM
    rounds(memory, one, two)
    assert (label(one, 1), label(two, 1)) == (SPAM, SPAM)


def test_a_stale_answer_is_not_taken_over(memory: MemoryLog, one: Ledger, two: Ledger) -> None:
    """Rows whose answer came late do not undo what another process has received since."""
    teach(two, 1, SPAM, 1.0)
    rounds(memory, two)

    def by_a_command() -> None:
        teach(two, 1, HAM, 2.0)
        rounds(memory, two, one)

    interrupted(one, memory, 0, by_a_command, go_on=after(2))
    assert (label(one, 1), one.state.received) == (HAM, 2)


def test_places_are_of_one_log(one: Ledger) -> None:
    """If another process has begun with a different log, the round ends and leaves the places as they are."""
    former, log = MemoryLog("former"), MemoryLog("new")
    teach(one, 1, SPAM)
    assert not interrupted(one, former, 1, lambda: a_round(one, log, go_on=after(0))).is_over
    assert (one.state.log, one.state.sent) == ("new", 0)
    assert a_round(one, log) == Round(1, 1, 0, is_over=True)


def test_news_may_be_old(memory: MemoryLog, one: Ledger) -> None:
    """News from before another process's round do not start everything again; news of a log that was put back do."""
    old = news_of(memory, ["anna"])["anna"]
    for number in range(3):
        teach(one, number, HAM)
    rounds(memory, one)
    assert exchange(one, memory, "anna", "one", old) == Round(is_over=True)
    memory._accounts.clear()
    assert a_round(one, memory) == Round(3, 3, 0, is_over=True)


def test_another_log_is_sent_everything(memory: MemoryLog, one: Ledger, two: Ledger) -> None:
    """To a different log, or to an older copy put back, a host sends everything again, and receives all of it."""
    teach(one, 1, HAM)
    teach(two, 2, SPAM)
    rounds(memory, one, two, one)
    other = MemoryLog("second")
    assert [a_round(each, other) for each in (one, two)] == 2 * [Round(2, 2, 0, is_over=True)]
    assert by_the_ledger(two) == by_the_log(other.receive("anna", 0, ALL))


def test_a_round_ends_when_it_is_to(memory: MemoryLog, one: Ledger, two: Ledger) -> None:
    """A round that is asked to end does so after a transaction; the next one goes on from there."""
    for number in range(120):
        teach(one, number, HAM)
    rounds(memory, one)
    received = 2 * _RECEIVED_TOGETHER
    done = a_round(two, memory, go_on=after(4))
    assert (done.received, done.is_over, two.state.received) == (received, False, received)
    assert a_round(two, memory) == Round(0, 120 - received, 120 - received, is_over=True)


def test_cut_after_it_was_sent(memory: MemoryLog, one: Ledger) -> None:
    """A lesson whose answer is lost is sent again, which writes no row; a decision in between is not lost."""
    teach(one, 1, HAM, 1.0)
    with pytest.raises(ExchangeAwayError):
        interrupted(one, memory, 1, cut)
    assert (one.state.sent, len(memory.receive("anna", 0, ALL))) == (0, 1)
    assert a_round(one, memory) == Round(1, 1, 0, is_over=True)
    assert memory.accounts(["anna"])["anna"].last == 1
    teach(one, 2, HAM, 2.0)
    with pytest.raises(ExchangeAwayError):
        interrupted(one, memory, 1, cut)
    teach(one, 2, SPAM, 3.0)
    rounds(memory, one)
    assert label(one, 2) is SPAM


def test_a_ledger_that_is_put_back_receives_what_it_has_missed(
    memory: MemoryLog, one: Ledger, two: Ledger, tmp_path: Path
) -> None:
    """A ledger restored from a copy receives everything since that copy from the log."""
    teach(one, 1, HAM)
    rounds(memory, one)
    copy = str(tmp_path / "copy.sqlite")
    copies.write(one.path, copy)
    for number in (1, 2):
        teach(one, number, SPAM, 2.0)
    rounds(memory, one)
    one.close()
    restore(one.path, copy, 3.0)
    with Ledger(one.path) as back:
        teach(back, 3, HAM, 4.0)
        assert a_round(back, memory) == Round(1, 3, 2, is_over=True)
        rounds(memory, two)
        assert by_the_ledger(back) == by_the_ledger(two) == by_the_log(memory.receive("anna", 0, ALL))
        assert (label(back, 1), label(back, 2)) == (SPAM, SPAM)


# --- a host that is new to a user, and a user who is forgotten ----------------------------------------------------


def test_mail_is_not_moved_by_a_part_of_what_others_know(memory: MemoryLog, one: Ledger, two: Ledger) -> None:
    """A host that is new to a user moves no mail until it has received all earlier lessons."""
    for number in range(90):
        teach(one, number, HAM if number < 30 else SPAM)
    rounds(memory, one)
    learning, scoring = Learning(minimum_messages=5), Scoring()
    a_round(two, memory, go_on=after(2))
    missing = begin_if_ready(two, scoring, learning)
    assert missing == f"{_RECEIVED_TOGETHER} of 90 changes from other hosts have arrived"
    assert missing_by_numbers(two, learning) == missing
    config = Config((Mailbox("/m", {}),), "/l", learning=learning)  # type: ignore[arg-type]
    assert hindrance(two, config, 1.0).words == missing
    rounds(memory, two)
    assert [begin_if_ready(each, scoring, learning) for each in (one, two)] == ["", ""]


def test_a_host_that_has_moved_mail_goes_on(one: Ledger) -> None:
    """A host that has moved mail before does not wait for others, nor does one that no longer shares lessons."""
    learning, scoring = Learning(minimum_messages=1), Scoring()
    one.state.to_receive = 10
    assert begin_if_ready(one, scoring, learning).startswith("0 of 10")
    one.state.begun_with = 1
    assert begin_if_ready(one, scoring, learning) == ""
    one.state.begun_with = None
    await_nobody(one)
    await_nobody(one)
    assert begin_if_ready(one, scoring, learning).startswith("1 more ham")


def test_places_that_0_1_0_has_written(one: Ledger) -> None:
    """A ledger of version 0.1.0 keeps its places in the log."""
    with closing(sqlite3.connect(one.path)) as former, former:
        former.executemany("INSERT INTO state VALUES (?, ?)", [("told", "3"), ("heard", "5"), ("to hear", "7")])
    assert (one.state.sent, one.state.received, one.state.to_receive) == (3, 5, 7)


def test_places_above_which_nothing_is(memory: MemoryLog, one: Ledger, two: Ledger) -> None:
    """If rows were deleted, a host still reaches the last place of its account."""
    teach(one, 1, HAM)
    rounds(memory, one)
    memory.forget("anna", 0.5)
    assert a_round(two, memory) == Round(is_over=True)
    assert (two.state.received, two.state.to_receive) == (1, 1)
    assert begin_if_ready(two, Scoring(), Learning(minimum_messages=1)).startswith("1 more ham")


def test_a_forgotten_user(log: LessonLog, one: Ledger, two: Ledger, ledger: Made) -> None:
    """A ledger that shared before its user was forgotten has to be removed; one made later is kept."""
    for each in (one, two):
        teach(each, 1, HAM, 10.0)
    rounds(log, one, two)
    log.forget("anna", 5.0)  # whatever the clock of the host says that forgets
    assert [a_round(each, log) for each in (one, two)] == 2 * [Round(is_forgotten=True)]
    assert log.receive("anna", 0, ALL) == []
    rounds(log, new := ledger("new"))
    teach(new, 2, HAM, 1.0)
    assert a_round(new, log) == Round(1, 1, 0, is_over=True)
    assert a_round(two, log).is_forgotten, "a host that was away since then"
    log.forget("anna", 6.0)
    assert a_round(new, log).is_forgotten


def test_a_ledger_that_never_shared(one: Ledger, two: Ledger, ledger: Made) -> None:
    """A ledger that is new to the log belongs to the forgotten user if it has an older entry than the forgetting."""
    teach(one, 1, HAM, 10.0)
    teach(two, 1, HAM, 30.0)
    news = News("log", LogAccount(0, 20.0))
    assert [is_forgotten(each, news) for each in (one, two, ledger("empty"))] == [True, False, False]
    assert not is_forgotten(one, News("log", LogAccount(3)))


def test_taken_over_by_a_function(one: Ledger) -> None:
    """Taking over an empty list changes nothing."""
    assert take_over(one, [], {}) == 0
    assert one.lessons.last_change() == 0
