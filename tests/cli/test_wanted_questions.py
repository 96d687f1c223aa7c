"""`review` with a young filter: it first asks which messages of the inbox were wanted."""

from pathlib import Path

import pytest

from spamnb.base.label import Label
from spamnb.cli.common import first_questions
from spamnb.cli.common.sample_mail import message
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from tests.cli.conftest import Run, ledger_file, mail, maildir


@pytest.fixture
def asked(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command as at a terminal, with 22 letters in the inbox, and five spam learned; `stdin` is what is typed."""
    monkeypatch.setattr(first_questions, "is_dialogue", lambda: True)
    maildir(home / "Maildir", INBOX=[message("ham", number) for number in range(22)])
    run("init", "--no-learn")
    run("train", "--spam", mail(home / "a", "spam", 5))
    return run


def learned_ham(home: Path) -> int:
    """How many of the letters are learned as ham, by a decision."""
    with Ledger(str(ledger_file(home))) as ledger:
        found = [ledger.lessons.find(read(message("ham", number)).digest) for number in range(22)]
        return sum(one is not None and one.decision is Label.HAM for one in found)


def test_the_way_is_named(asked: Run) -> None:
    """`status`, `init` and `doctor` say how many answers let the filter begin, and by which command."""
    way = "To begin now, answer 20 questions: spamnb review"
    assert asked("status").out.splitlines()[0].endswith(f"It has learned 0 of 20 ham and 5 spam. {way}")
    assert f"learned: {way}" in asked("doctor").out.partition("What to do:")[2]


def test_answers_begin_it(home: Path, asked: Run) -> None:
    """It shows ten messages at a time. If all were wanted, the filter then moves mail."""
    said = asked("review", stdin=b"y\ny\n").out
    assert "To begin now, say which of these you wanted." in said
    assert said.count("Did you want all 10?") == 2 and said.count("10 learned as ham, by your decision. To undo:") == 2
    assert "The filter moves spam to Junk, when the service runs." in said
    assert learned_ham(home) == 20
    assert "Did you want" not in asked("review").out


def test_enter_leaves_them(home: Path, asked: Run) -> None:
    """Enter decides nothing about ten messages, says so, and goes on to the next ones, as in other dialogues."""
    said = asked("review", stdin=b"\n\n").out
    assert said.count("Left as before: you have decided nothing about 10 messages.") == 2
    assert learned_ham(home) == 0


def test_named_messages_are_left_alone(home: Path, asked: Run) -> None:
    """The numbers name messages that were not wanted: nothing is learned from them. Who stops is asked again."""
    said = asked("review", stdin=b"1 3-4\ns\n").out
    assert "7 learned as ham" in said
    assert learned_ham(home) == 7
    assert "Did you want all 10?" in asked("review", stdin=b"s\n").out


def test_nobody_is_asked_without_a_terminal(home: Path, asked: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere, and with --json, nothing is asked."""
    assert "Did you want" not in asked("review", "--json").out
    monkeypatch.setattr(first_questions, "is_dialogue", lambda: False)
    assert "Did you want" not in asked("review").out
    assert learned_ham(home) == 0
