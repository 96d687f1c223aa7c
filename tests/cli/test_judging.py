"""`score` and `explain`."""

import json
from pathlib import Path

import pytest

from spamnb.cli.sample_mail import message
from tests.cli.conftest import Run, maildir, mbox


@pytest.mark.parametrize(("kind", "letter", "code"), [("spam", "S", 0), ("ham", "H", 1)])
def test_one_line_a_message(taught: Path, run: Run, kind: str, letter: str, code: int) -> None:
    """A line holds letter, probability and path; the exit code of a single message is its verdict."""
    result = run("score", f"{kind}.eml")
    got, probability, path = result.out.split()
    assert (got, path, result.code, result.err) == (letter, f"{kind}.eml", code, "")
    assert 0 <= float(probability) <= 1


def test_several_messages_exit_with_0(taught: Path, run: Run) -> None:
    """The exit code of several messages is 0, whatever they are, and each has its line, in order."""
    result = run("score", "ham.eml", "spam.eml", "ham.eml")
    assert result.code == 0
    assert [line.split()[0] for line in result.out.splitlines()] == ["H", "S", "H"]


def test_untaught_filter_is_unsure(run: Run, home: Path) -> None:
    """A filter that has learned nothing is unsure, and says what to do."""
    (home / "a").write_bytes(message("spam", 1))
    result = run("score", "a")
    assert (result.code, result.out) == (2, "U 0.500000 a\n")
    assert "spamnb train" in result.err


def test_json_has_the_promised_keys(taught: Path, run: Run) -> None:
    """`score --json` prints one object a line with at least path, verdict, probability and log_odds."""
    lines = run("score", "--json", "spam.eml", "ham.eml").out.splitlines()
    objects = [json.loads(line) for line in lines]
    assert [(found["path"], found["verdict"]) for found in objects] == [("spam.eml", "spam"), ("ham.eml", "ham")]
    assert all(type(found[key]) is float for found in objects for key in ("probability", "log_odds"))
    assert objects[0]["log_odds"] > objects[1]["log_odds"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_mbox(taught: Path, run: Run, end: bytes) -> None:
    """Each message of an mbox has a number; one that holds a single message is that message."""
    (taught / "box").write_bytes(mbox("spam", range(600, 604), end))
    (taught / "one").write_bytes(mbox("spam", range(600, 601), end))
    result = run("score", "box")
    assert [line.split()[2] for line in result.out.splitlines()] == ["box:1", "box:2", "box:3", "box:4"]
    assert run("score", "one").code == 0


def test_from_in_the_text_divides_nothing(taught: Path, run: Run) -> None:
    """A line of text that begins with "From " is no separator: an mbox writer adds the time."""
    (taught / "a").write_bytes(
        b"From a@b Mon Jan  1 10:00:00 2024\n" + message("ham", 7) + b"\n\nFrom all of us, bye\n"
    )
    (taught / "b").write_bytes(message("ham", 8) + b"\n\nFrom a@b Mon Jan  1 10:00:00 2024\nis the line\n")
    assert len(run("score", "a", "b").out.splitlines()) == 2


def test_standard_input(taught: Path, process: Run) -> None:
    """- is standard input: a message or an mbox."""
    assert process("score", "-", stdin=message("spam", 601)).code == 0
    assert process("score", "-", stdin=message("ham", 601)).code == 1
    several = process("score", "-", stdin=mbox("spam", range(600, 603)))
    assert [line.split()[2] for line in several.out.splitlines()] == ["-:1", "-:2", "-:3"]


def test_directories_and_maildirs(taught: Path, run: Run) -> None:
    """A directory gives its messages and those below it; a Maildir its own, without those of its sub-folders."""
    root = maildir(taught / "Maildir", INBOX=[message("ham", 1)], Junk=[message("spam", 1), message("spam", 2)])
    (root / "dovecot-uidlist").write_text("3 V1 N1\n")
    (root / "tmp" / "half").write_text("not yet delivered")
    assert len(run("score", root).out.splitlines()) == 1
    assert len(run("score", root / ".Junk").out.splitlines()) == 2
    assert len(run("score", "lessons").out.splitlines()) == 50
    (taught / "links").mkdir()
    (taught / "links" / "a").symlink_to(taught / "spam.eml")
    assert run("score", "links").code == 0


def test_explain_shows_clues_and_teachers(taught: Path, run: Run) -> None:
    """`explain` shows tokens with their counts and weights, and which learned messages taught the strongest."""
    result = run("explain", "spam.eml", "--clues", "3")
    assert result.code == 0
    assert result.out.startswith("spam, probability of spam ")
    assert "in ham  in spam  log-odds" in result.out
    assert "For spam:" in result.out
    assert "For ham:" in result.out or "Nothing speaks for ham." in result.out
    learned = result.out.partition("Learned from:")[2]
    assert "spam  20" in learned
    assert ".example)" in learned


def test_explain_json(taught: Path, run: Run) -> None:
    """`explain --json` prints the same as one object, with all clues, the strongest first."""
    found = json.loads(run("explain", "--json", "lessons/spam/1.eml").out)
    assert found["learned_as"] == "spam"
    assert found["verdict"] == "spam"
    assert len(found["clues"]) <= found["known"] <= found["tokens"]
    assert {"token", "ham", "spam", "log_odds"} <= set(found["clues"][0])
    assert found["taught_by"][found["clues"][0]["token"]][0]["label"] in ("ham", "spam")


def test_explain_says_when_the_message_itself_was_learned(taught: Path, run: Run) -> None:
    """Of a message that is itself learned, `explain` says so."""
    assert "This message is itself learned as ham (trained by hand)." in run("explain", "lessons/ham/3.eml").out


def test_explain_takes_one_message(taught: Path, run: Run) -> None:
    """`explain` refuses several messages with a usage error that names the way out."""
    result = run("explain", "lessons")
    assert result.code == 64
    assert "holds several messages" in result.err
