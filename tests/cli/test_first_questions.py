"""`init` at a terminal: its questions about what looks like spam."""

from pathlib import Path

import pytest

from spamnb.base.label import Label
from spamnb.cli.common import first_questions
from spamnb.cli.common.sample_mail import message
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from tests.cli.conftest import Run, checked, ledger_file, maildir

_LYING = range(50, 58)
Label_ = tuple[Label | None, bool] | None


@pytest.fixture
def asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process, as at a terminal; `stdin` is what is typed."""
    monkeypatch.setattr(first_questions, "is_dialogue", lambda: True)
    return run


def _mailbox(home: Path, junk: int) -> Path:
    """A mailbox with eight spam among the ham: five in the inbox, three in Archive."""
    ham, spam = ([message(kind, n) for n in range(60)] for kind in ("ham", "spam"))
    inbox, archive = [*ham[:30], *spam[50:55]], [*ham[30:], *spam[55:58]]
    return maildir(home / "Maildir", INBOX=inbox, Archive=archive, Junk=spam[:junk])


def _taught(home: Path, number: int) -> Label_:
    """What a spam message teaches, and whether weakly."""
    with Ledger(str(ledger_file(home))) as ledger:
        lesson = ledger.lessons.find(read(message("spam", number)).digest)
        return lesson and (lesson.label, lesson.weak)


def _in_junk(root: Path) -> int:
    return len(list(root.glob(".Junk/*/17*")))


def test_an_answer_is_a_decision_and_moves_after_a_question(home: Path, asked: Run) -> None:
    """init shows what looks like spam, learns the answers, moves spam if told to, and never asks about it again."""
    root = _mailbox(home, 30)
    done = asked("init", "--learn", stdin=b"x\n1-7\n\n")
    assert done.code == 0
    assert "8 messages outside of Junk look like spam.\n\n1  " in done.out
    assert "Archive  1.00\n" in done.out
    assert done.out.count("Are these 8 spam? [y] all, [n] none") == 2, "what cannot be read is asked again"
    assert "1 learned as ham, by your decision. To undo: spamnb undo" in done.out
    assert "7 learned as spam, by your decision. To undo: spamnb undo" in done.out
    assert "Move the 7 to Junk? [Y/n] " in done.out
    assert _in_junk(root) == 37
    taught = [_taught(home, number) for number in _LYING]
    assert sorted(map(str, taught)) == sorted(map(str, [(Label.SPAM, False)] * 7 + [(Label.HAM, False)]))
    again = asked("init", "--learn", stdin=b"")
    assert "look like spam" not in again.out
    undo = done.out.rpartition("To undo: spamnb undo ")[2].split("\n")[0].split()
    assert asked("undo", *undo).code == 0
    assert _in_junk(root) == 30
    assert asked("verify").code == 0


def test_who_stops_is_asked_the_next_time(home: Path, asked: Run) -> None:
    """Without an answer the messages are sifted, nothing moves, and the next call asks about them again."""
    root = _mailbox(home, 30)
    for typed in (b"s\n", b"", b"v 2\ns\n"):
        done = asked("init", "--learn", stdin=typed)
        assert done.code == 0
        assert "Are these 8 spam?" in done.out
        assert "8 messages outside of Junk look like spam: 8 count as weakly spam" in done.out
        assert "Move the" not in done.out
        assert _taught(home, 50) == (Label.SPAM, True)
        assert _in_junk(root) == 30
    assert "Subject: " in done.out, "the message was shown"
    declined = asked("init", "--learn", stdin=b"y\nn\n")
    assert "8 learned as spam, by your decision" in declined.out
    assert _in_junk(root) == 30
    assert _taught(home, 50) == (Label.SPAM, False)


@pytest.mark.parametrize("junk", [30, 2])
def test_enter_leaves_the_messages_and_says_so(home: Path, asked: Run, junk: int) -> None:
    """Enter decides nothing, whether the messages look like spam or Junk has too little to tell; it goes on."""
    root = _mailbox(home, junk)
    done = asked("init", "--learn", stdin=b"\n\ns\n")
    screens = {30: ["8"], 2: ["10", "10"]}[junk]
    for shown in screens:
        assert f"Are these {shown} spam? [y] all, [n] none, or the numbers of those that are; " in done.out
        assert f"Left as before: you have decided nothing about {shown} messages.\n" in done.out
    assert "by your decision" not in done.out and "Move the" not in done.out
    asked_about = [line.split("  ")[1] for line in done.out.splitlines() if line.split("  ")[0].isdecimal()]
    assert len(set(asked_about)) == len(asked_about), "what was left is not asked again"
    assert _in_junk(root) == junk


def test_a_message_in_two_kinds_of_folders_is_a_question(home: Path, asked: Run) -> None:
    """A message in the inbox and in Junk is no correction: init asks which is right, and keeps the answer."""
    ham, spam = ([message(kind, n) for n in range(40)] for kind in ("ham", "spam"))
    root = maildir(home / "Maildir", INBOX=[*ham, spam[0]], Junk=[*spam, ham[0]])
    said = "2 messages are in Junk and in another folder too. They count as spam until you answer."
    done = asked("init", "--learn", stdin=b"\n")
    assert "corrected" not in done.out
    assert f"\n{said}\n\n1  " in done.out
    assert "INBOX, Junk" in done.out and "Are these 2 spam?" in done.out
    assert "Left as before: you have decided nothing about 2 messages." in done.out
    answered = asked("init", "--learn", stdin=b"1\n\n")
    assert "1 learned as ham" in answered.out and "1 learned as spam" in answered.out
    assert "Move the 1 to Junk? [Y/n] " in answered.out
    assert len(list(root.glob("cur/17*"))) == 40, "the spam has left the inbox"
    again = asked("init", "--learn")
    assert "in another folder" not in again.out and "1 message as spam" not in again.out
    with Ledger(str(ledger_file(home))) as ledger:
        decisions = [ledger.lessons.find(read(one).digest) for one in (ham[0], spam[0])]
    assert [one and one.decision for one in decisions] == [Label.HAM, Label.SPAM]


def test_a_message_in_two_kinds_of_folders_without_a_terminal(home: Path, run: Run) -> None:
    """In a pipe init says how many there are, and which call asks about them."""
    ham, spam = ([message(kind, n) for n in range(40)] for kind in ("ham", "spam"))
    maildir(home / "Maildir", INBOX=[*ham, spam[0]], Junk=spam)
    said = "1 message is in Junk and in another folder too. It counts as spam until you answer. At a terminal"
    assert f"\n{said} `spamnb init --learn` asks" in run("init", "--learn").out


def test_none_of_them_is_spam(home: Path, asked: Run) -> None:
    """Who says that none is spam makes all of them ham, and is not asked again."""
    _mailbox(home, 30)
    assert "8 learned as ham, by your decision" in asked("init", "--learn", stdin=b"n\n").out
    assert [_taught(home, number) for number in _LYING] == [(Label.HAM, False)] * 8
    assert "Are these" not in asked("init", "--learn").out


def test_with_little_in_junk_the_most_unusual_are_asked_about(home: Path, asked: Run) -> None:
    """If Junk has too little to tell, init says so, and asks about the mail that is least like the other mail."""
    _mailbox(home, 2)
    done = asked("init", "--learn", stdin=b"s\n")
    assert "Junk holds 2 messages, too few to tell what else is spam." in done.out
    assert "Are these 10 spam? [y] all, [n] none" in done.out
    shown = done.out.partition("other mail.")[2].partition("Are these")[0]
    assert shown.count("@friends.example") < 5, "most of the ten are spam"


def test_nobody_is_asked_without_a_terminal(home: Path, run: Run) -> None:
    """In a pipe init does not ask, and says which call does."""
    _mailbox(home, 30)
    done = run("init", "--learn", stdin=b"y\n")
    assert (
        "8 messages outside of Junk look like spam: 8 count as weakly spam. At a terminal `spamnb init --learn` "
        in done.out
    )
    assert "Are these" not in done.out


@pytest.mark.parametrize(
    ("answer", "line"), [(b"\n", "\nauthserv_id: example.org\n"), (b"n\n", "\n#authserv_id: example")]
)
def test_the_own_server_is_asked_about(home: Path, asked: Run, answer: bytes, line: str) -> None:
    """init asks whether the server that checked the newest mail counts, and writes it; after a no as a comment."""
    maildir(home / "Maildir", INBOX=checked())
    done = asked("init", "--no-learn", stdin=answer)
    assert "Your mail server at example.org checks who signed a message." in done.out
    assert line in (home / ".config/spamnb/config.yaml").read_text()
    assert asked("config", "--check").code == 0


def test_without_a_terminal_the_own_server_is_a_comment(home: Path, run: Run) -> None:
    """If nobody can be asked, init writes the server as a comment."""
    maildir(home / "Maildir", INBOX=checked())
    assert "example.org" not in run("init", "--learn").out
    assert "\n#authserv_id: example.org\n" in (home / ".config/spamnb/config.yaml").read_text()
