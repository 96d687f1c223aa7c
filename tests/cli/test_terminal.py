"""The output on a terminal, and that in a pipe."""

import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from spamnb.cli.common.output import is_confirmed
from spamnb.cli.common.sample_mail import message
from tests.cli.conftest import COMMAND, At, Run, mail, maildir
from tests.patience import PATIENCE

pytestmark = pytest.mark.thorough  # a process on a terminal for each


def test_bar_on_a_terminal(home: Path, at_terminal: At, process: Run) -> None:
    """Long work shows a bar with its total on a terminal, and none in a pipe; results go to standard output."""
    mail(home / "a", "ham", 70)
    code, shown, out = at_terminal("train", "--ham", "a", stdout_is_file=True)
    assert (code, out) == (0, "learned 70 messages as ham\n")
    assert "learning ham" in shown
    assert "70/70" in shown
    code, shown, out = at_terminal("score", "a", stdout_is_file=True)
    assert code == 0
    assert len(out.splitlines()) == 70
    assert "scoring" in shown
    assert "70/70" in shown
    assert process("untrain", "a").err == ""
    assert "learning" not in at_terminal("-q", "train", "--ham", "a")[1]


def test_lines_are_the_progress_of_score(home: Path, at_terminal: At) -> None:
    """If `score` prints its lines on the terminal, no bar appears between them."""
    mail(home / "a", "ham", 3)
    code, shown, _ = at_terminal("score", "a")
    assert code == 0
    assert "scoring" not in shown
    assert len([line for line in shown.splitlines() if line.startswith("U 0.5")]) == 3


@pytest.mark.parametrize(
    ("answer", "confirmed"), [("y", True), ("Yes ", True), ("n", False), ("", False), ("yesterday", False)]
)
def test_only_a_yes_is_a_yes(monkeypatch: pytest.MonkeyPatch, answer: str, confirmed: bool) -> None:
    """A question is answered with y or yes, in any case; every other answer is a no."""
    monkeypatch.setattr("builtins.input", lambda question: answer)
    assert is_confirmed("Really?") == confirmed
    assert is_confirmed("Really?", default=True) == (confirmed or not answer)


def test_a_narrow_terminal(home: Path, at_terminal: At, run: Run) -> None:
    """Sentences and questions are broken at words, and not in a pipe; what may be copied stays on its line."""
    maildir(home / "Maildir", INBOX=[message("ham", 1)], Junk=[message("spam", 1)])
    code, shown, _ = at_terminal("init", answers=["n\n"], columns=34)
    assert code == 0
    assert "Learn from the mail in the\r\nfolders now? [Y/n] " in shown
    assert "To learn later:\r\nspamnb init --learn" in shown
    words = (line for line in shown.split("\r\n") if " " in line and "/" not in line and "  " not in line)
    assert max(map(len, words)) < 34
    said = run("pause", "1h").out
    assert said.count("\n") == 1 and "It still judges mail, but leaves it in its folder." in said


@pytest.mark.parametrize(("answer", "learned"), [("y\n", True), ("\n", True), ("n\n", False), ("\x04", False)])
def test_init_asks_on_a_terminal(home: Path, at_terminal: At, run: Run, answer: str, learned: bool) -> None:
    """On a terminal init asks whether to learn; Enter is a yes, and the end of input is not."""
    maildir(home / "Maildir", INBOX=[message("ham", 1)], Junk=[message("spam", 1)])
    code, shown, _ = at_terminal("init", answers=[answer])
    assert code == 0
    assert "Learn from the mail in the folders now? [Y/n]" in shown
    assert ("1 ham, 1 spam" in run("status").out) == learned
    assert ("Skipped: the filter begins with nothing, and learns from what you move and keep." in shown) != learned
    assert ("To learn later: spamnb init --learn" in shown) != learned


@pytest.mark.parametrize("arguments", [("init", "--learn"), ("init", "--no-learn"), ("-q", "init")])
def test_init_does_not_ask_what_was_said(home: Path, at_terminal: At, arguments: tuple[str, ...]) -> None:
    """--learn, --no-learn and -q leave nothing to ask."""
    maildir(home / "Maildir", INBOX=[message("ham", 1)])
    code, shown, _ = at_terminal(*arguments)
    assert code == 0
    assert "[y/n]" not in shown.lower()


@pytest.mark.parametrize("times", [1, 1000])
def test_ctrl_c_at_the_question(home: Path, at_terminal: At, times: int) -> None:
    """Ctrl-C at a question, once or again and again, ends with 130 and a line, not with a traceback."""
    maildir(home / "Maildir", INBOX=[message("ham", 1)])
    code, shown, _ = at_terminal("init", answers=["\x03"], times=times)
    assert code == 130
    assert "spamnb: interrupted" in shown
    assert "Traceback" not in shown


def shown_by_run(*options: str) -> str:
    """What `run` shows at a terminal, until it says that Ctrl-C ends it; then it is interrupted."""
    ours, theirs = pty.openpty()
    wide = os.environ | {"COLUMNS": "300"}
    with subprocess.Popen([*COMMAND, *options, "run"], stdin=theirs, stdout=theirs, stderr=theirs, env=wide) as child:
        os.close(theirs)
        shown, end = b"", time.monotonic() + PATIENCE
        try:
            while b"Ctrl-C" not in shown and time.monotonic() < end:
                if select.select([ours], [], [], 0.02)[0]:
                    shown += os.read(ours, 65536)
            child.send_signal(signal.SIGINT)
            assert child.wait(PATIENCE) == 0
        finally:
            child.kill()
            os.close(ours)
    return shown.decode()


def test_what_run_says_at_a_terminal(home: Path, at_terminal: At, run: Run, process: Run) -> None:
    """At a terminal `run` says whether mail moves and how it ends; with --once or in a pipe it says neither."""
    maildir(home / "Maildir", INBOX=[message("ham", 1)], Junk=[message("spam", 1)])
    nothing = "By itself, the filter moves nothing until you have kept 20 ham and moved 5 spam to Junk."
    assert f"\n{nothing}\n" in run("init").out
    assert f"{nothing}\r\nCtrl-C ends the service" in shown_by_run()
    assert "Ctrl-C" not in at_terminal("run", "--once")[1]
    assert process("run", "--once").out == ""


def test_run_at_a_terminal_moves(home: Path, run: Run) -> None:
    """If enough is learned, `init` and `run` say that the filter moves spam, and to which folder."""
    ham, spam = ([message(kind, each) for each in range(25)] for kind in ("ham", "spam"))
    maildir(home / "Maildir", INBOX=ham, Spam=spam)
    assert "\nThe filter moves spam to Spam, when the service runs.\n" in run("init", "--learn").out
    assert "The filter moves spam to Spam.\r\nCtrl-C ends the service" in shown_by_run()
