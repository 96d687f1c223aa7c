"""What a person at a terminal sees, and what a pipe does not."""

import fcntl
import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from spamnb.cli.output import is_confirmed
from spamnb.cli.sample_mail import message
from tests.cli.conftest import COMMAND, PATIENCE, Run, mail, maildir

At = Callable[..., tuple[int, str, str]]


@pytest.fixture
def at_terminal(home: Path) -> At:
    """Run a command at a terminal of its own, and answer its question, if there is an answer.

    Returns its exit code, what the terminal showed, and standard output where that is a file.
    """

    def control() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # or Ctrl-C would reach nobody

    def call(*arguments: object, answer: str = "", stdout_is_file: bool = False) -> tuple[int, str, str]:
        ours, theirs = pty.openpty()
        with open(home / "out", "w+b") as out:
            child = subprocess.Popen(
                [*COMMAND, *map(str, arguments)],
                stdin=theirs,
                stdout=out if stdout_is_file else theirs,
                stderr=theirs,
                env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
                start_new_session=True,
                preexec_fn=control,  # noqa: PLW1509 - a test has one thread
            )
            os.close(theirs)
            shown, asked, end = b"", False, time.monotonic() + PATIENCE
            while time.monotonic() < end:
                if not select.select([ours], [], [], 1)[0]:
                    if asked:  # what is typed in the very moment in which readline takes over the terminal can be lost
                        os.write(ours, answer.encode())
                    continue
                try:
                    block = os.read(ours, 65536)
                except OSError:  # EIO: the terminal's last user is gone
                    break
                shown += block
                if answer and not asked and b"[y/N] " in shown:
                    os.write(ours, answer.encode())
                    asked = True
            os.close(ours)  # hangs up, and so ends what still runs
            code = child.wait(PATIENCE)
            out.seek(0)
            return code, shown.decode(errors="replace"), out.read().decode()

    return call


def test_bar_on_a_terminal(home: Path, at_terminal: At, process: Run) -> None:
    """Long work shows a bar with its total on a terminal, and none in a pipe; results go where they should."""
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
    """Where `score` prints its lines on the terminal, no bar comes between them."""
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


@pytest.mark.parametrize(("answer", "learned"), [("y\n", True), ("\n", False), ("\x04", False)])
def test_init_asks_on_a_terminal(home: Path, at_terminal: At, run: Run, answer: str, learned: bool) -> None:
    """On a terminal init asks whether to learn; only a yes is a yes, and the end of input is not."""
    maildir(home / "Maildir", INBOX=[message("ham", 1)], Junk=[message("spam", 1)])
    code, shown, _ = at_terminal("init", answer=answer)
    assert code == 0
    assert "Learn from the folders as they are now? [y/N]" in shown
    assert ("1 ham, 1 spam" in run("status").out) == learned
    assert ("Skipped. To learn later: spamnb init --learn" in shown) != learned


@pytest.mark.parametrize("arguments", [("init", "--learn"), ("init", "--no-learn"), ("-q", "init")])
def test_init_does_not_ask_what_was_said(home: Path, at_terminal: At, arguments: tuple[str, ...]) -> None:
    """--learn, --no-learn and -q leave nothing to ask."""
    maildir(home / "Maildir", INBOX=[message("ham", 1)])
    code, shown, _ = at_terminal(*arguments)
    assert code == 0
    assert "[y/N]" not in shown


def test_ctrl_c_at_the_question(home: Path, at_terminal: At) -> None:
    """Ctrl-C at a question ends with 130 and a line, not with a traceback."""
    maildir(home / "Maildir", INBOX=[message("ham", 1)])
    code, shown, _ = at_terminal("init", answer="\x03")
    assert code == 130
    assert "Traceback" not in shown
