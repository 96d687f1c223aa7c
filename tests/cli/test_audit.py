"""`audit` and `review` at the prompt: what they print, and the answers at a terminal."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.filter.explain import named
from spamnb.filter.judge import Clue
from tests.cli.conftest import At, Run, mail, maildir, mbox


@pytest.fixture
def answer(at_terminal: At) -> Callable[..., str]:
    """Run a command at a terminal, and type an answer at each question; what the terminal showed."""

    def call(command: str, answers: Sequence[str]) -> str:
        typed = [one if one == "\x04" else f"{one}\n" for one in answers]
        code, shown, _ = at_terminal(command, answers=typed, prompt="[?] ")
        assert code == 0, shown
        return shown.replace("\r\n", "\n")

    return call


@pytest.fixture
def wrong(taught: Path, run: Run) -> Path:
    """A filter that was taught a spam message as ham; its file."""
    path = mail(taught / "wrong", "spam", 1, first=600) / "600.eml"
    assert run("train", "--ham", path).code == 0
    return path


def findings(run: Run, command: str = "audit") -> list[dict[str, object]]:
    """Return the objects that `--json` prints."""
    result = run(command, "--json")
    assert (result.code, result.err) == (0, "")
    return [json.loads(line) for line in result.out.splitlines()]


def test_json(wrong: Path, run: Run) -> None:
    """Each finding is an object on one line, with the place of the file and three clues."""
    (found,) = findings(run)
    assert list(found) == ["path", "label", "counts_as", "probability", "clear", "weak", "clues", "message", "digest"]
    assert (found["path"], found["label"], found["weak"]) == (str(wrong), "ham", False)
    assert isinstance(found["probability"], float)
    assert found["probability"] > 0.9
    clues = found["clues"]
    assert isinstance(clues, list)
    assert len(clues) == 3
    wrong.unlink()
    assert findings(run)[0]["path"] is None


def test_a_list_in_a_pipe(wrong: Path, run: Run) -> None:
    """Without a terminal the command lists the findings with places and clues, and asks nothing."""
    result = run("audit")
    assert result.code == 0
    above, first, second, third, fourth = result.out.splitlines()
    assert above == "1 message is probably in the wrong folder:"
    assert first.startswith("1. ")
    assert second.startswith("   counts as ham; without it, the probability of spam is ")
    assert third == f"   {wrong}"
    assert re.fullmatch(r"   (?:[a-z', -]+ “[^”]+” \(ham 0, spam \d+\)(?:; |$)){3}", fourth), fourth
    words = [re.sub(r" \(.*", "", one) for one in fourth.strip().split("; ")]
    tokens = [str(one["token"]) for one in findings(run)[0]["clues"]]  # type: ignore[attr-defined]
    assert [f"{one.kind} “{one.text}”" for one in (named(Clue(token, 0, 1, 1.0, 1.0)) for token in tokens)] == words
    assert len(findings(run)) == 1


@pytest.mark.parametrize("command", ["audit", "review"])
def test_nothing_to_ask(home: Path, run: Run, command: str) -> None:
    """If there is nothing to ask, the command says so, also without a ledger. With --json it prints nothing."""
    assert run(command).out.count("\n") == 1
    assert (run(command, "--json").code, run(command, "--json").out) == (0, "")
    assert list(home.iterdir()) == []


def test_answers_at_a_terminal(wrong: Path, run: Run, answer: Callable[..., str]) -> None:
    """A key answers; any other key explains the keys and asks again; one number takes everything back."""
    shown = answer("audit", ["x", "s"])
    assert "1 of 1: " in shown
    assert shown.count("[h]am, [s]pam, [l]ater, ") == 2
    assert "   s  spam: the filter learns it, and moves it to the spam folder" in shown
    assert "   h  ham: you decide that this is right" in shown
    assert "the file stays" in shown
    assert "That was all." in shown
    assert findings(run) == []
    assert json.loads(run("status", "--json").out)["learned"] == {"ham": 25, "spam": 26}
    way_back = shown.partition("To undo: spamnb ")[2].splitlines()[0].split()
    assert len(way_back) == 2
    assert run(*way_back).code == 0
    assert len(findings(run)) == 1
    assert json.loads(run("status", "--json").out)["learned"] == {"ham": 26, "spam": 25}
    assert run("verify").code == 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("keys", "left"), [(["q"], 1), ([""], 1), (["l"], 1), (["\x04"], 1), (["n"], 0), (["h"], 0), (["f"], 0)]
)
def test_keys(wrong: Path, run: Run, answer: Callable[..., str], keys: list[str], left: int) -> None:
    """Stop, later and the end of input change nothing; what was answered is not asked about again."""
    answer("audit", keys)
    assert len(findings(run)) == left
    history = run("history").out
    assert ("not asked about again" in history) == (not left)
    assert ("forgot" in history) == (keys == ["f"])


def test_the_other_way_round(taught: Path, run: Run, answer: Callable[..., str]) -> None:
    """About mail learned as spam the question is whether it is ham, and `?` explains each key."""
    assert run("train", "--spam", mail(taught / "wrong", "ham", 1, first=600)).code == 0
    shown = answer("audit", ["?", "q"])
    explained = shown.partition("[?] ?\n")[2].partition("[h]am")[0].splitlines()
    assert [line.split()[0] for line in explained] == ["s", "h", "l", "v", "f", "n", "q"]
    assert "moves it to the inbox" in explained[1]


def test_viewed(taught: Path, run: Run, answer: Callable[..., str]) -> None:
    """`v` shows sender and text of a message, a screen at a time, and escapes what could control the terminal."""
    lines = [b"line %d \x1b[2J\t\xe2\x80\xae." % number for number in range(60)]
    (taught / "wrong").write_bytes(message("spam", 600).partition(b"\n\n")[0] + b"\n\n" + b"\n".join(lines) + b"\n")
    run("train", "--ham", "wrong")
    (found,) = findings(run)
    shown = answer("audit", ["v", "v", "v", "v", "q"])
    first, second, third, again = shown.split("[?] v\n")[1:]
    assert first.splitlines()[1].startswith("From: ")
    assert "Subject: " in first
    assert "line 0 \\x1b[2J" in first
    assert "\\u202e." in first
    assert not {"\x1b", "\u202e", "\t"} & set(shown)
    assert max(map(str.count, (first, second, third), ["\n"] * 3)) <= 30
    assert "[v] shows more. [h]am" in first
    assert "[v] shows more. [h]am" in second
    assert "line 59 " in third
    assert "what follows" not in third
    assert again.partition("[v] shows")[0] == first.partition("[v] shows")[0]
    assert found["message"] in shown


@pytest.mark.parametrize("is_mbox", [True, False])
def test_viewed_wherever_it_was_learned(taught: Path, run: Run, answer: Callable[..., str], is_mbox: bool) -> None:
    """`v` reads a message out of the mbox that it was learned from, or says that its file is gone."""
    file = taught / "wrong"
    file.write_bytes(mbox("spam", range(600, 602)))
    assert run("train", "--ham", file).code == 0
    if not is_mbox:
        file.unlink()
    shown = answer("audit", ["v", "q"])
    assert ("\nFrom: " in shown) == is_mbox
    assert ("Its file is gone, or cannot be read" in shown) != is_mbox


def test_viewed_in_a_mailbox(taught: Path, run: Run, answer: Callable[..., str]) -> None:
    """`v` reads a message in its watched folder, even after its flags have changed."""
    root = maildir(taught / "Maildir", Junk=[])
    assert run("init", "--no-learn").code == 0
    kept = root / "cur" / "1800000000.M2P1.host:2,S"
    kept.write_bytes(message("spam", 601))
    assert run("run", "--once").code == 0
    kept.rename(kept.with_name("1800000000.M2P1.host:2,RS"))
    shown = answer("review", ["v", "s"])
    assert "\nFrom: " in shown
    assert "To undo: spamnb undo " in shown
    assert len(list((root / ".Junk" / "cur").iterdir())) == 1


def test_review(taught: Path, run: Run) -> None:
    """`review` lists unlearned and weakly learned mail of the watched mailbox, with --json as `audit` does."""
    root = maildir(taught / "Maildir", Junk=[])
    assert run("init", "--no-learn").code == 0
    (root / "new" / "1800000000.M1P1.host").write_bytes(b"Subject: odd\nFrom: x@y.example\n\nunheard words\n")
    kept = root / "cur" / "1800000000.M2P1.host:2,S"
    kept.write_bytes(message("spam", 601))
    assert run("run", "--once").code == 0
    first, second = findings(run, "review")
    assert (first["path"], first["label"], first["weak"]) == (str(kept), None, False), "nobody has called it anything"
    assert second["message"] == "odd (x@y.example)"
    shown = run("review").out
    assert shown.startswith("1. ")
    assert shown.splitlines()[1].startswith("   counts as nothing; the probability of spam is ")
