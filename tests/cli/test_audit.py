"""`audit` and `review` at the prompt: what they print, and the answers at a terminal."""

import json
import os
import pty
import select
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from spamnb.cli.sample_mail import message
from tests.cli.conftest import COMMAND, PATIENCE, Run, mail, maildir

_PROMPT = b"Enter: later? "


@pytest.fixture
def answer(home: Path) -> Callable[..., str]:
    """Run a command at a terminal, and type an answer at each question; what the terminal showed."""

    def call(command: str, answers: Sequence[str]) -> str:
        ours, theirs = pty.openpty()
        child = subprocess.Popen(
            [*COMMAND, command], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        shown, given, end = b"", 0, time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if not select.select([ours], [], [], 1)[0]:
                if 0 < given <= len(answers):  # what is typed while readline takes over the terminal can be lost
                    os.write(ours, answers[given - 1].encode() + b"\n")
                continue
            try:
                shown += os.read(ours, 65536)
            except OSError:  # EIO: the terminal's last user is gone
                break
            if shown.count(_PROMPT) > given:
                assert given < len(answers), shown
                os.write(ours, answers[given].encode() + b"\n")
                given += 1
        os.close(ours)
        assert child.wait(PATIENCE) == 0, shown
        return shown.decode(errors="replace")

    return call


@pytest.fixture
def wrong(taught: Path, run: Run) -> Path:
    """A filter that was taught a spam message as ham; its file."""
    path = mail(taught / "wrong", "spam", 1, first=600) / "600.eml"
    assert run("train", "--ham", path).code == 0
    return path


def findings(run: Run, command: str = "audit") -> list[dict[str, object]]:
    """What `--json` prints."""
    result = run(command, "--json")
    assert (result.code, result.err) == (0, "")
    return [json.loads(line) for line in result.out.splitlines()]


def test_json(wrong: Path, run: Run) -> None:
    """Each finding is an object on one line, with where the file lies and three clues."""
    (found,) = findings(run)
    assert list(found) == ["path", "label", "probability", "weak", "clues", "message", "digest"]
    assert (found["path"], found["label"], found["weak"]) == (str(wrong), "ham", False)
    assert isinstance(found["probability"], float)
    assert found["probability"] > 0.9
    clues = found["clues"]
    assert isinstance(clues, list)
    assert len(clues) == 3
    wrong.unlink()
    assert findings(run)[0]["path"] is None


def test_a_list_in_a_pipe(wrong: Path, run: Run) -> None:
    """Without a terminal the findings are listed, each with its place and its clues, and nothing is asked."""
    result = run("audit")
    assert result.code == 0
    first, second, third, fourth = result.out.splitlines()
    assert first.startswith("1. ")
    assert second.startswith("   called ham; without it, the probability of spam is ")
    assert third == f"   {wrong}"
    assert fourth.count("(ham 0, spam ") >= 1
    assert len(findings(run)) == 1


@pytest.mark.parametrize("command", ["audit", "review"])
def test_nothing_to_ask(home: Path, run: Run, command: str) -> None:
    """Where there is nothing to ask, also without a ledger, that is said; --json says nothing; nothing is made."""
    assert run(command).out.count("\n") == 1
    assert (run(command, "--json").code, run(command, "--json").out) == (0, "")
    assert list(home.iterdir()) == []


def test_answers_at_a_terminal(wrong: Path, run: Run, answer: Callable[..., str]) -> None:
    """A key answers; what is no key is asked again; the way back is shown, and leads back."""
    shown = answer("audit", ["x", "m"])
    assert "1 of 1: " in shown
    assert "the file stays" in shown
    assert "That was all." in shown
    assert findings(run) == []
    assert json.loads(run("status", "--json").out)["learned"] == {"ham": 25, "spam": 26}
    way_back = shown.partition("To take that back: spamnb ")[2].splitlines()[0].split()
    assert run(*way_back).code == 0
    assert len(findings(run)) == 1
    assert json.loads(run("status", "--json").out)["learned"] == {"ham": 26, "spam": 25}
    assert run("verify").code == 0


@pytest.mark.parametrize(("keys", "left"), [(["s"], 1), ([""], 1), (["\x04"], 1), (["n"], 0), (["r"], 0), (["f"], 0)])
def test_keys(wrong: Path, run: Run, answer: Callable[..., str], keys: list[str], left: int) -> None:
    """Stop, later and the end of input change nothing; what was answered is not asked about again."""
    answer("audit", keys)
    assert len(findings(run)) == left
    history = run("history").out
    assert ("not asked about again" in history) == (not left)
    assert ("forgot" in history) == (keys == ["f"])


def test_review(taught: Path, run: Run) -> None:
    """`review` lists what lies in the watched mailbox unlearned, and what was learned weakly, by --json as `audit`."""
    root = maildir(taught / "Maildir", Junk=[])
    assert run("init", "--no-learn").code == 0
    (root / "new" / "1800000000.M1P1.host").write_bytes(b"Subject: odd\nFrom: x@y.example\n\nunheard words\n")
    kept = root / "cur" / "1800000000.M2P1.host:2,S"
    kept.write_bytes(message("spam", 601))
    assert run("run", "--once").code == 0
    first, second = findings(run, "review")
    assert (first["path"], first["label"], first["weak"]) == (str(kept), "ham", False)
    assert second["message"] == "odd (x@y.example)"
    assert run("review").out.startswith("1. ")
