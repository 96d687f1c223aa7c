"""The conditions under which mail may be moved."""

from dataclasses import replace
from pathlib import Path

import pytest

from spamnb.acts import may_move
from spamnb.acts.may_move import (
    MissingCache,
    begin_if_ready,
    find_missing,
    hindrance,
    missing_by_numbers,
    missing_now,
)
from spamnb.acts.withheld import pause
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Learning, Scoring
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from spamnb.rules.moving import Hindrance, Stop

SCORING, LEARNING = Scoring(), Learning()


def teach(ledger: Ledger, kind: str, numbers: range, label: Label, *, weak: bool = False) -> None:
    """Learn made-up messages of a kind as this."""
    ledger.lessons.learn(
        (read(message(kind, number)) for number in numbers), label, "a test", 1.0, weak=weak, how=How.HAND
    )


def test_numbers_come_first(ledger: Ledger) -> None:
    """The filter needs at least the configured number of lessons of each class."""
    teach(ledger, "ham", range(19), Label.HAM)
    teach(ledger, "spam", range(30), Label.SPAM)
    assert find_missing(ledger, SCORING, LEARNING) == "1 more ham message to learn"


def test_proof(ledger: Ledger) -> None:
    """Ham that the filter would take for spam without its lesson shows possible harm; the answer says how much."""
    teach(ledger, "ham", range(20), Label.HAM)
    teach(ledger, "spam", range(60), Label.SPAM)
    assert missing_now(ledger.lessons, SCORING, LEARNING) == ""
    teach(ledger, "spam", range(100, 103), Label.HAM)
    assert missing_now(ledger.lessons, SCORING, LEARNING) == "3 of the newest 20 ham messages would be taken for spam"
    teach(ledger, "ham", range(100, 117), Label.HAM, weak=True)
    assert "3 of the newest 20" in missing_now(ledger.lessons, SCORING, LEARNING)
    teach(ledger, "ham", range(117, 120), Label.HAM, weak=True)
    assert missing_now(ledger.lessons, SCORING, LEARNING) == "", "only the newest count"


def test_a_little_spam_that_was_kept_does_not_stop_it(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weak ham that the filter takes for spam does not count in the proof, if twenty of the newest 25 show no harm.

    What it only doubts shows no harm.
    """
    teach(ledger, "ham", range(20), Label.HAM, weak=True)
    teach(ledger, "spam", range(60), Label.SPAM)
    teach(ledger, "spam", range(100, 105), Label.HAM, weak=True)
    assert missing_now(ledger.lessons, SCORING, LEARNING) == ""
    monkeypatch.setattr(may_move, "_EXCUSED", 2)
    said = missing_now(ledger.lessons, SCORING, LEARNING)
    assert said == "3 of the newest 22 ham messages would be taken for spam"
    assert missing_now(ledger.lessons, replace(SCORING, spam_cutoff=0.9999999), LEARNING) == ""


def test_much_spam_asks_for_more_ham(ledger: Ledger) -> None:
    """Beside much learned spam, a quarter as many ham must be learned: few ham make a filter dangerous."""
    teach(ledger, "ham", range(20), Label.HAM)
    teach(ledger, "spam", range(100), Label.SPAM)
    assert find_missing(ledger, SCORING, LEARNING) == "5 more ham messages to learn"
    teach(ledger, "ham", range(20, 25), Label.HAM)
    assert find_missing(ledger, SCORING, LEARNING) == ""


def test_another_ledger(ledger: Ledger, tmp_path: Path) -> None:
    """What is remembered of one ledger is not said of another: a user who was forgotten may have had the same name."""
    remembered = MissingCache()
    teach(ledger, "ham", range(20), Label.HAM)
    teach(ledger, "spam", range(20), Label.SPAM)
    assert find_missing(ledger, SCORING, LEARNING, remembered) == ""
    with Ledger(str(tmp_path / "another")) as another:
        teach(another, "spam", range(40), Label.SPAM)
        assert another.lessons.last_change() == ledger.lessons.last_change()
        assert find_missing(another, SCORING, LEARNING, remembered) == "20 more ham messages to learn"


def test_it_stays(ledger: Ledger) -> None:
    """A filter that has begun goes on, whatever is learned, unless a higher minimum is configured."""
    teach(ledger, "ham", range(20), Label.HAM)
    teach(ledger, "spam", range(60), Label.SPAM)
    assert begin_if_ready(ledger, SCORING, LEARNING) == ""
    teach(ledger, "spam", range(100, 110), Label.HAM)
    assert find_missing(ledger, SCORING, LEARNING) == ""
    assert begin_if_ready(ledger, SCORING, LEARNING) == ""
    assert "to learn" in find_missing(ledger, SCORING, Learning(minimum_messages=1_000_000))
    assert find_missing(ledger, SCORING, Learning(minimum_messages=5)) == ""


def test_asking_begins_nothing(ledger: Ledger) -> None:
    """Only the service and `train` begin: what `status` asks is not written down."""
    teach(ledger, "ham", range(20), Label.HAM)
    teach(ledger, "spam", range(60), Label.SPAM)
    assert find_missing(ledger, SCORING, LEARNING) == ""
    teach(ledger, "spam", range(100, 110), Label.HAM)
    assert "would be taken for spam" in find_missing(ledger, SCORING, LEARNING)


def test_it_is_asked_again_when_something_was_learned(ledger: Ledger) -> None:
    """The answer is kept until then."""
    one_each, remembered = Learning(minimum_messages=1), MissingCache()
    assert (
        begin_if_ready(ledger, SCORING, one_each, remembered) == "1 more ham message and 1 more spam message to learn"
    )
    teach(ledger, "ham", range(1), Label.HAM)
    assert begin_if_ready(ledger, SCORING, one_each, remembered) == "1 more spam message to learn"
    teach(ledger, "spam", range(1), Label.SPAM)
    assert begin_if_ready(ledger, SCORING, one_each, remembered) == ""


def test_it_is_remembered_where_many_messages_are_asked_about(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a ledger opened to read, the answer is computed once, until a lesson or the service changes it."""
    asked = []

    def counted(*arguments: object) -> str:
        asked.append(arguments)
        return "something"

    monkeypatch.setattr(may_move, "missing_now", counted)
    remembered = MissingCache()
    assert [find_missing(ledger, SCORING, LEARNING, remembered) for _ in range(3)] == ["something"] * 3
    assert len(asked) == 1
    teach(ledger, "ham", range(1), Label.HAM)
    assert find_missing(ledger, SCORING, LEARNING, remembered) == "something"
    assert len(asked) == 2
    assert find_missing(ledger, SCORING, Learning(minimum_messages=3), remembered) == "something"
    assert len(asked) == 3
    monkeypatch.setattr(may_move, "missing_now", lambda *_: "")
    assert begin_if_ready(ledger, SCORING, LEARNING) == ""
    assert find_missing(ledger, SCORING, LEARNING, remembered) == ""


def test_what_hinders(ledger: Ledger) -> None:
    """Missing lessons are reported before a stop; without either there is no hindrance."""
    config = Config(mailboxes=(), ledger=Path(ledger.path), scoring=SCORING, learning=LEARNING)
    pause(ledger, until=10.0)
    assert hindrance(ledger, config, 1.0).words == "20 more ham messages and 5 more spam messages to learn"
    teach(ledger, "ham", range(20), Label.HAM)
    teach(ledger, "spam", range(60), Label.SPAM)
    assert hindrance(ledger, config, 1.0) == Hindrance("", Stop(None, 10.0))
    assert hindrance(ledger, config, 1.0).words == "moving is stopped"
    assert not hindrance(ledger, config, 10.0)


def test_it_knows_enough_until_numbers_are_missing(ledger: Ledger) -> None:
    """While it waits for its person, it judges no ham again; if lessons are taken back, the proof is made again."""
    teach(ledger, "ham", range(20), Label.HAM)
    teach(ledger, "spam", range(60), Label.SPAM)
    known = ledger.messages.ensure(b"%032d" % 1, "", None)
    mailbox, _ = ledger.locations.mailbox("/mail")
    inbox = ledger.locations.folder(mailbox, "INBOX")
    ledger.locations.put(inbox, "1", known.id, "appeared", b"", "", 5.0)
    ledger.messages.judged(known.id, "spam", 1.0, 5.0)
    waits = "it takes 1 message in the inbox for spam, and waits four days at most until you sort the inbox"
    assert missing_by_numbers(ledger, LEARNING) is None
    assert (find_missing(ledger, SCORING, LEARNING), ledger.state.ready_at) == (waits, None)
    assert (begin_if_ready(ledger, SCORING, LEARNING), ledger.state.ready_at) == (waits, 5.0)
    teach(ledger, "spam", range(100, 110), Label.HAM)
    assert missing_by_numbers(ledger, LEARNING) == begin_if_ready(ledger, SCORING, LEARNING) == waits
    assert begin_if_ready(ledger, SCORING, Learning(minimum_messages=100)) == "70 more ham messages to learn"
    assert ledger.state.ready_at is None
    assert "would be taken for spam" in begin_if_ready(ledger, SCORING, LEARNING)
