"""A round of one ledger: what it sends, what it takes over, and what stays."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
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
from spamnb.exchange.port import Account, Log, News, news_of
from spamnb.exchange.rounds import _RECEIVED_TOGETHER, Round, exchange, is_forgotten
from spamnb.ledger.copies import copy as copies
from spamnb.ledger.copies.recovery import restore
from spamnb.ledger.history.journal import Action
from spamnb.ledger.ledger import Ledger, Shared
from spamnb.ledger.lessons.batch import Batch
from spamnb.ledger.lessons.export_format import parse
from spamnb.mail.reading import Reading
from tests.exchange.interrupted import Interrupted
from tests.exchange.learned import ALL, a_round, by_the_ledger, by_the_log
from tests.ledger.test_read_again import former_tokenizer

HAM, SPAM = Label
Made = Callable[[str], Ledger]


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


def test_what_one_host_learns_another_knows(log: Log, ledger: Made) -> None:
    """One round sends a lesson, another host's takes it over with label, tokens and counts; forgetting too."""
    one, two = ledger("one"), ledger("two")
    teach(one, 1, HAM)
    teach(one, 2, SPAM, weak=True)
    teach(one, 3, SPAM)
    teach(one, 3, None, 2.0)
    assert a_round(one, log, host="mx1") == Round(3, 3, 0, is_over=True)
    assert a_round(two, log, host="mx2") == Round(0, 3, 3, is_over=True)
    assert by_the_ledger(one) == by_the_ledger(two) == by_the_log(log.receive("anna", 0, ALL))
    teach(two, 1, SPAM, 3.0)
    assert a_round(two, log, host="mx2") == Round(1, 1, 0, is_over=True)
    assert a_round(one, log, host="mx1") == Round(0, 1, 1, is_over=True)
    assert label(one, 1) is SPAM
    assert a_round(one, log, host="mx1") == Round(is_over=True)


def test_the_history_says_where_it_was_learned(ledger: Made) -> None:
    """In the history a lesson of another host names that host; the lesson itself keeps its own reason."""
    log = MemoryLog()
    one, two = ledger("one"), ledger("two")
    teach(one, 1, HAM)
    a_round(one, log, host="mx1")
    a_round(two, log, host="mx2")

    def last(of: Ledger) -> Action:
        return next(of.journal.newest(1))

    assert (last(two).why, last(two).how, last(two).at) == ("moved to a folder (on mx1)", How.MOVE, 1.0)
    assert last(one).why == "moved to a folder"
    found = two.lessons.find(reading(1).digest)
    assert found is not None
    assert found.why == "moved to a folder"
    known = two.messages.find(reading(1).digest)
    assert known is not None
    assert (known.label, known.summary) == (HAM, "message 1")


def test_a_decision_of_another_host_ends_a_rescue(ledger: Made) -> None:
    """A decision of another host counts like one of this host: a message that was rescued here is spam again."""
    log = MemoryLog()
    one, two = ledger("one"), ledger("two")
    teach(two, 1, HAM, 1.0)
    message = two.messages.ensure(reading(1).digest, "")
    two.messages.rescued(message.id, 1.0)
    teach(one, 1, SPAM, 2.0)
    a_round(two, log, host="mx2")
    assert two.messages.get(message.id).rescued_at == 1.0
    a_round(one, log, host="mx1")
    a_round(two, log, host="mx2")
    assert two.messages.get(message.id).rescued_at is None


def test_imports_are_not_sent(ledger: Made) -> None:
    """Imported counts, and tokens that were read again, stay on their host."""
    log = MemoryLog()
    one, two = ledger("one"), ledger("two")
    with former_tokenizer():
        teach(one, 1, HAM)
    import_counts(one, parse((line.encode() for line in one.lessons.export()), "f"), "f", 2.0)
    assert waiting(one) == (1, 1.0)
    assert a_round(one, log) == Round(1, 1, 0, is_over=True)
    one.lessons.batcher().read_again([Batch.of([reading(1, other=1)])])
    assert waiting(one) == (0, None)
    assert a_round(one, log) == Round(is_over=True)
    a_round(two, log, host="mx2")
    assert two.lessons.totals().tolist()[:2] == [1, 0]
    assert one.lessons.totals().tolist()[:2] == [2, 0]
    assert two.lessons.counts(["word", "other"]).messages.tolist() == [[1, 0], [0, 0]]


def test_how_much_waits_to_be_sent(ledger: Made) -> None:
    """The ledger knows without the log how many lessons wait, and since when the oldest waits."""
    one = ledger("one")
    assert waiting(one) == (0, None)
    for number in range(5):
        teach(one, number, HAM, 10.0 - number)
    assert waiting(one) == (5, 6.0)
    with mock.patch.object(Shared, "MOST", 3):
        assert waiting(one) == (3, 8.0)
    a_round(one, MemoryLog())
    assert waiting(one) == (0, None)


# --- something else happens at the same time ----------------------------------------------------------------------


def interrupted(ledger: Ledger, log: Log, at: int, meanwhile: Callable[[], None], **more: Any) -> Round:
    """Make a round at whose `at`th call something else happens; `has`, `send` and `receive` are calls."""
    busy: Any = Interrupted(log, at, meanwhile)
    return exchange(ledger, busy, "anna", "mx1", news_of(log, ["anna"])["anna"], **more)


def test_what_is_learned_meanwhile_is_sent_before_anything_is_taken_over(ledger: Made) -> None:
    """A decision in the middle of a round is not overwritten by what another host sent before."""
    log = MemoryLog()
    one, two = ledger("one"), ledger("two")
    teach(two, 1, SPAM, 1.0)
    a_round(two, log, host="mx2")
    done = interrupted(one, log, 0, lambda: teach(one, 1, HAM, 2.0))
    assert (label(one, 1), done.sent, done.is_over) == (HAM, 1, True)
    a_round(two, log, host="mx2")
    assert label(two, 1) is HAM


def test_a_lesson_is_sent_with_the_place_of_its_own_moment(ledger: Made) -> None:
    """A lesson is sent with the place that its host knew when it was learned: later rows stay as they are."""
    log = MemoryLog()
    one, two = ledger("one"), ledger("two")
    teach(one, 1, SPAM, 1.0)
    a_round(one, log, host="mx1")
    a_round(two, log, host="mx2")
    teach(one, 2, HAM, 2.0)
    teach(one, 1, HAM, 3.0)

    def by_a_command() -> None:
        """Another process sends and receives; then another host decides again."""
        a_round(one, log, host="mx1")
        a_round(two, log, host="mx2")
        teach(two, 1, SPAM, 2.5)  # its clock is slow
        a_round(two, log, host="mx2")
        a_round(one, log, host="mx1")

    steps = iter([True, True])
    interrupted(one, log, 0, by_a_command, go_on=lambda: next(steps, False))
    assert label(one, 1) is SPAM
    a_round(one, log, host="mx1")
    a_round(two, log, host="mx2")
    assert (label(one, 1), label(two, 1)) == (SPAM, SPAM)


def test_a_stale_answer_is_not_taken_over(ledger: Made) -> None:
    """Rows whose answer came late do not undo what another process has received since."""
    log = MemoryLog()
    one, two = ledger("one"), ledger("two")
    teach(two, 1, SPAM, 1.0)
    a_round(two, log, host="mx2")

    def by_a_command() -> None:
        teach(two, 1, HAM, 2.0)
        a_round(two, log, host="mx2")
        a_round(one, log, host="mx1")

    steps = iter([True, True])
    interrupted(one, log, 0, by_a_command, go_on=lambda: next(steps, False))
    assert (label(one, 1), one.state.received) == (HAM, 2)


def test_places_are_of_one_log(ledger: Made) -> None:
    """If another process has begun with a different log, the round ends and leaves the places as they are."""
    former, log = MemoryLog("former"), MemoryLog("new")
    one = ledger("one")
    teach(one, 1, SPAM)

    def begun_by_a_command() -> None:
        exchange(one, log, "anna", "mx1", news_of(log, ["anna"])["anna"], lambda: False)

    assert not interrupted(one, former, 1, begun_by_a_command).is_over
    assert (one.state.log, one.state.sent) == ("new", 0)
    assert a_round(one, log) == Round(1, 1, 0, is_over=True)


def test_news_may_be_old(ledger: Made) -> None:
    """News from before another process's round do not start everything again; news of a log that was put back do."""
    log = MemoryLog()
    one = ledger("one")
    old = news_of(log, ["anna"])["anna"]
    for number in range(3):
        teach(one, number, HAM)
    a_round(one, log)
    assert exchange(one, log, "anna", "mx1", old) == Round(is_over=True)
    log._accounts.clear()
    assert exchange(one, log, "anna", "mx1", news_of(log, ["anna"])["anna"]) == Round(3, 3, 0, is_over=True)


def test_another_log_is_sent_everything(ledger: Made) -> None:
    """To a different log, or to an older copy put back, a host sends everything again, and receives all of it."""
    log = MemoryLog("first")
    one, two = ledger("one"), ledger("two")
    teach(one, 1, HAM)
    teach(two, 2, SPAM)
    for each in (one, two, one):
        a_round(each, log)
    other = MemoryLog("second")
    assert a_round(one, other) == Round(2, 2, 0, is_over=True)
    assert a_round(two, other) == Round(2, 2, 0, is_over=True)
    assert by_the_ledger(two) == by_the_log(other.receive("anna", 0, ALL))


def test_a_round_ends_when_it_is_to(ledger: Made) -> None:
    """A round that is asked to end does so after a transaction; the next one goes on from there."""
    log = MemoryLog()
    one, two = ledger("one"), ledger("two")
    for number in range(120):
        teach(one, number, HAM)
    a_round(one, log, host="mx1")
    steps, received = iter([True, True, True, True]), 2 * _RECEIVED_TOGETHER
    news = news_of(log, ["anna"])["anna"]
    done = exchange(two, log, "anna", "mx2", news, lambda: next(steps, False))
    assert (done.received, done.is_over, two.state.received) == (received, False, received)
    assert exchange(two, log, "anna", "mx2", news) == Round(0, 120 - received, 120 - received, is_over=True)


def test_cut_after_it_was_sent(ledger: Made) -> None:
    """A lesson whose answer is lost is sent again, which writes no row; a decision in between is not lost."""
    log = MemoryLog()
    one = ledger("one")

    def cut() -> None:
        raise ExchangeAwayError("cut")

    teach(one, 1, HAM, 1.0)
    with pytest.raises(ExchangeAwayError):
        interrupted(one, log, 1, cut)
    assert (one.state.sent, len(log.receive("anna", 0, ALL))) == (0, 1)
    assert a_round(one, log) == Round(1, 1, 0, is_over=True)
    assert log.accounts(["anna"])["anna"].last == 1
    teach(one, 2, HAM, 2.0)
    with pytest.raises(ExchangeAwayError):
        interrupted(one, log, 1, cut)
    teach(one, 2, SPAM, 3.0)
    a_round(one, log)
    assert label(one, 2) is SPAM


def test_a_ledger_that_is_put_back_receives_what_it_has_missed(ledger: Made, tmp_path: Path) -> None:
    """A ledger restored from a copy receives everything since that copy from the log."""
    log = MemoryLog()
    one, two = ledger("one"), ledger("two")
    teach(one, 1, HAM)
    a_round(one, log, host="mx1")
    path, copy = one.path, str(tmp_path / "copy.sqlite")
    copies.write(path, copy)
    teach(one, 1, SPAM, 2.0)
    teach(one, 2, SPAM, 2.0)
    a_round(one, log, host="mx1")
    one.close()
    restore(path, copy, 3.0)
    with Ledger(path) as back:
        teach(back, 3, HAM, 4.0)
        assert a_round(back, log, host="mx1") == Round(1, 3, 2, is_over=True)
        a_round(two, log, host="mx2")
        assert by_the_ledger(back) == by_the_ledger(two) == by_the_log(log.receive("anna", 0, ALL))
        assert (label(back, 1), label(back, 2)) == (SPAM, SPAM)


# --- a host that is new to a user, and a user who is forgotten ----------------------------------------------------


def test_mail_is_not_moved_by_a_part_of_what_others_know(ledger: Made) -> None:
    """A host that is new to a user moves no mail until it has received all earlier lessons."""
    log = MemoryLog()
    one, two = ledger("one"), ledger("two")
    for number in range(30):
        teach(one, number, HAM)
    for number in range(100, 160):
        teach(one, number, SPAM)
    a_round(one, log, host="mx1")
    learning, scoring = Learning(minimum_messages=5), Scoring()
    news = news_of(log, ["anna"])["anna"]
    steps = iter([True, True])
    exchange(two, log, "anna", "mx2", news, lambda: next(steps, False))
    lacking = begin_if_ready(two, scoring, learning)
    assert lacking == f"{_RECEIVED_TOGETHER} of 90 changes from other hosts have arrived"
    assert missing_by_numbers(two, learning) == lacking
    config = Config((Mailbox("/m", {}),), "/l", learning=learning)  # type: ignore[arg-type]
    assert hindrance(two, config, 1.0).words == lacking
    exchange(two, log, "anna", "mx2", news)
    assert begin_if_ready(two, scoring, learning) == ""
    assert begin_if_ready(one, scoring, learning) == ""


def test_a_host_that_has_moved_mail_goes_on(ledger: Made) -> None:
    """A host that has moved mail before does not wait for others, nor does one that no longer shares lessons."""
    learning, scoring = Learning(minimum_messages=1), Scoring()
    one = ledger("one")
    one.state.to_receive = 10
    assert begin_if_ready(one, scoring, learning).startswith("0 of 10")
    one.state.begun_with = 1
    assert begin_if_ready(one, scoring, learning) == ""
    one.state.begun_with = None
    await_nobody(one)
    await_nobody(one)
    assert begin_if_ready(one, scoring, learning).startswith("1 more ham")


def test_places_that_0_1_0_has_written(ledger: Made) -> None:
    """A ledger of version 0.1.0 keeps its places in the log."""
    one = ledger("one")
    with closing(sqlite3.connect(one.path)) as former, former:
        former.executemany("INSERT INTO state VALUES (?, ?)", [("told", "3"), ("heard", "5"), ("to hear", "7")])
    assert (one.state.sent, one.state.received, one.state.to_receive) == (3, 5, 7)


def test_places_above_which_nothing_is(ledger: Made) -> None:
    """If rows were deleted, a host still reaches the last place of its account."""
    log = MemoryLog()
    one, two = ledger("one"), ledger("two")
    teach(one, 1, HAM)
    a_round(one, log, host="mx1")
    log.forget("anna", 0.5)
    assert a_round(two, log, host="mx2") == Round(is_over=True)
    assert (two.state.received, two.state.to_receive) == (1, 1)
    assert begin_if_ready(two, Scoring(), Learning(minimum_messages=1)).startswith("1 more ham")


def test_a_forgotten_user(log: Log, ledger: Made) -> None:
    """A ledger that shared before its user was forgotten has to be removed; one made later is kept."""
    one, two = ledger("one"), ledger("two")
    for each in (one, two):
        teach(each, 1, HAM, 10.0)
        a_round(each, log)
    log.forget("anna", 5.0)  # whatever the clock of the host says that forgets
    for each in (one, two):
        assert a_round(each, log) == Round(is_forgotten=True)
        assert log.receive("anna", 0, ALL) == []
    new = ledger("new")
    assert a_round(new, log).is_over
    teach(new, 2, HAM, 1.0)
    assert a_round(new, log) == Round(1, 1, 0, is_over=True)
    assert a_round(two, log).is_forgotten, "a host that was away since then"
    log.forget("anna", 6.0)
    assert a_round(new, log).is_forgotten


def test_a_ledger_that_never_shared(ledger: Made) -> None:
    """A ledger that is new to the log belongs to the forgotten user if it has an older entry than the forgetting."""
    old, new, empty = ledger("old"), ledger("new"), ledger("empty")
    teach(old, 1, HAM, 10.0)
    teach(new, 1, HAM, 30.0)
    news = News("log", Account(0, 20.0))
    assert [is_forgotten(each, news) for each in (old, new, empty)] == [True, False, False]
    assert not is_forgotten(old, News("log", Account(3)))


def test_taken_over_by_a_function(ledger: Made) -> None:
    """Taking over an empty list changes nothing."""
    one = ledger("one")
    assert take_over(one, [], {}) == 0
    assert one.lessons.last_change() == 0
