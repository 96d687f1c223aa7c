"""`statement`: what it prints, as lines and as JSON."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from spamnb.acts import training
from spamnb.base.label import How, Label, Role
from spamnb.cli.common.sample_mail import message
from spamnb.cli.statement import _lines
from spamnb.identity.digests import identity
from spamnb.ledger.history.actions import Cause
from spamnb.ledger.history.messages import MovedToSpam
from spamnb.ledger.history.state import Told
from spamnb.ledger.ledger import Ledger
from spamnb.review.at_most import Drawn
from spamnb.review.period import Month
from spamnb.review.statement import CurrentFile, Shown, Statement
from tests.cli.conftest import Run, ledger_file

OCTOBER = datetime(2026, 10, 5, 12).timestamp()


def move(home: Path, number: int, at: float) -> None:
    """The filter has moved a message to Junk, and its file is gone since."""
    with Ledger(str(ledger_file(home))) as ledger:
        known = ledger.messages.ensure(identity(message("spam", number)), f"Offer {number} (a@b.example)")
        ledger.messages.judged(known.id, "spam", 0.99, at)
        mailbox = ledger.locations.mailbox("/mail")[0]
        inbox, junk = ledger.locations.folder(mailbox, "INBOX"), ledger.locations.folder(mailbox, "Junk")
        judged = {"how": How.MAILDIR, "verdict": "spam", "probability": 0.99, "goal": Role.SPAM}
        ends = (inbox, f"{number}"), (junk, f"{number}")
        action = ledger.journal.intend(known.id, *ends, Cause("spam", at, **judged))  # type: ignore[arg-type]
        ledger.journal.set_state(action, "done")


def test_without_an_answer_there_is_no_bound(home: Path, run: Run) -> None:
    """It says how many messages were moved and drawn; a month without a move has none."""
    for number in range(4):
        move(home, number, OCTOBER + number)
    lines = run("statement", "2026-10").out.splitlines()
    assert lines[0] == "4 messages moved to Junk in October 2026"
    assert lines[-1].startswith("Drawn at random so far: 1. You have answered none of them, so nobody knows")
    assert run("statement", "2026-09").out.splitlines()[0] == "0 messages moved to Junk in September 2026"


def test_the_bound_of_what_was_answered(home: Path, run: Run) -> None:
    """With decisions about all messages, each draw is answered, and the bound says for how many messages it stands."""
    for number in range(4):
        move(home, number, OCTOBER + number)
        with Ledger(str(ledger_file(home))) as ledger:
            training.learn_message(ledger, message("spam", number), Label.SPAM, "said", OCTOBER + 9, how=How.HAND)
    found = json.loads(run("statement", "2026-10", "--json").out)
    assert (found["moved"], found["drawn"], found["answered"], found["behind"]) == (4, 1, 1, 4)
    assert (found["answered_ham"], found["at_most"], found["shown"]) == (0, 4, [])
    last = run("statement", "2026-10").out.splitlines()[-1]
    assert last.endswith("So at most 4 of the 4 messages that they stand for were yours (95 %).")


@pytest.mark.parametrize("word", ["2026", "2026-13", "0000-01", "october"])
def test_a_month_is_written_as_2026_11(home: Path, run: Run, word: str) -> None:
    """Another word is wrong usage, and the error shows how to write a month."""
    result = run("statement", word)
    assert (result.code, "write a month as 2026-11" in result.err) == (64, True)


def test_nothing_is_known_yet(home: Path, run: Run) -> None:
    """Without a ledger it says so."""
    assert run("statement").out == "The filter has not moved or learned anything yet.\n"


def test_what_is_shown() -> None:
    """Each message has its day, its subject and sender, and why it is shown."""
    moved = MovedToSpam(b"1", "Your booking (hotel@example.org)", OCTOBER, 0.97, None, weak=False, rescued=False)
    shown = [Shown(moved, CurrentFile("/x", Label.SPAM), *rest) for rest in ((3, 2300, False), (0, 0, True))]
    answered = (Drawn(100, False),) * 12
    found = Statement(Month(2026, 10), 214, 2, 96, 100, tuple(shown), 14, answered)
    assert _lines(found) == [
        "214 messages moved to Junk in October 2026",
        "Look at these two. If one is yours, move it out of Junk.",
        "   5 Oct  Your booking (hotel@example.org)  3 of 2300 of your letters look so",
        "   5 Oct  Your booking (hotel@example.org)  drawn at random",
        "Caught 96 of 100 spam. 2 came back because you want them.",
        "Drawn at random so far: 14. You have answered 12, and none of these was yours. So at most 265 of the 1200"
        " messages that they stand for were yours (95 %).",
    ]


def told(home: Path) -> list[bytes]:
    """The newest letter shows two messages that the filter learned weakly as spam. Returns them."""
    shown = [message("spam", number) for number in (50, 51)]
    with Ledger(str(ledger_file(home))) as ledger:
        for content in shown:
            training.learn_message(ledger, content, Label.SPAM, "kept", OCTOBER, how=How.SILENCE, weak=True)
        ledger.state.told = Told("2026-10", b"letter", OCTOBER, tuple(map(identity, shown)), ())
    return shown


def decisions(home: Path, contents: list[bytes]) -> list[Label | None]:
    """Return what a person has called these messages."""
    with Ledger(str(ledger_file(home))) as ledger:
        lessons = [ledger.lessons.find(identity(content)) for content in contents]
    return [None if lesson is None else lesson.decision for lesson in lessons]


def test_none_of_these_is_mine(home: Path, run: Run) -> None:
    """--none learns as spam what the newest letter shows, except what was answered since; undo takes it back."""
    shown = told(home)
    with Ledger(str(ledger_file(home))) as ledger:
        training.learn_message(ledger, shown[0], Label.HAM, "said", OCTOBER + 9, how=How.HAND)
    out = run("statement", "--none").out
    assert out.startswith("1 learned as spam, by your decision. To undo: spamnb undo ")
    assert decisions(home, shown) == [Label.HAM, Label.SPAM]
    assert run(*out.split()[-2:]).code == 0
    assert decisions(home, shown) == [Label.HAM, None]
    assert run("statement", "--none").out.startswith("1 learned")


def test_none_without_a_letter(home: Path, run: Run) -> None:
    """Without a letter, or with a month, --none is wrong usage, and says what to do."""
    for arguments in ((), ("2026-10",)):
        result = run("statement", *arguments, "--none")
        assert (result.code, "at a terminal" in result.err) == (64, True)


@pytest.mark.parametrize(("typed", "label"), [(b"y\n", Label.SPAM), (b"n\n", None), (b"\n", None), (b"", None)])
def test_asked_at_a_terminal(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch, typed: bytes, label: Label | None
) -> None:
    """At a terminal it asks about what it shows; only a yes is an answer."""
    content = message("spam", 60)
    with Ledger(str(ledger_file(home))) as ledger:
        training.learn_message(ledger, content, Label.SPAM, "kept", OCTOBER, how=How.SILENCE, weak=True)
    moved = MovedToSpam(identity(content), "Offer (a@b.example)", OCTOBER, 0.97, None, weak=False, rescued=False)
    shown = (Shown(moved, CurrentFile("/x", Label.SPAM), 3, 2300, is_drawn=False),)
    found = Statement(Month(2026, 10), 1, 0, 1, 1, shown, 1, ())
    monkeypatch.setattr("spamnb.cli.statement.statement", lambda *_: found)
    monkeypatch.setattr("spamnb.cli.statement.is_dialogue", lambda: True)
    assert "Is all of this spam?" in run("statement", stdin=typed).out
    assert decisions(home, [content]) == [label]
