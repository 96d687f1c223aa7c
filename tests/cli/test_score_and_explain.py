"""`score` and `explain`."""

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

from spamnb.bayes.calibration import SLOPE
from spamnb.cli.common.sample_mail import message
from tests.cli.conftest import At, Run, maildir, mbox
from tests.web.doubtful import DOUBTFUL


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
    """`score --json` prints one object per line with at least path, verdict, probability and score."""
    lines = run("score", "--json", "spam.eml", "ham.eml").out.splitlines()
    objects = [json.loads(line) for line in lines]
    assert [(found["path"], found["verdict"]) for found in objects] == [("spam.eml", "spam"), ("ham.eml", "ham")]
    assert all(type(found[key]) is float for found in objects for key in ("probability", "score"))
    assert objects[0]["score"] > objects[1]["score"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_mbox(taught: Path, run: Run, end: bytes) -> None:
    """Each message of an mbox has a number; an mbox with a single message is that message."""
    (taught / "box").write_bytes(mbox("spam", range(600, 604), end))
    (taught / "one").write_bytes(mbox("spam", range(600, 601), end))
    result = run("score", "box")
    assert [line.split()[2] for line in result.out.splitlines()] == ["box:1", "box:2", "box:3", "box:4"]
    assert run("score", "one").code == 0


def test_from_in_the_text_divides_nothing(taught: Path, run: Run) -> None:
    """A line of text that begins with "From " does not separate messages: an mbox writer adds the time."""
    (taught / "a").write_bytes(
        b"From a@b Mon Jan  1 10:00:00 2024\n" + message("ham", 7) + b"\n\nFrom all of us, bye\n"
    )
    (taught / "b").write_bytes(message("ham", 8) + b"\n\nFrom a@b Mon Jan  1 10:00:00 2024\nis the line\n")
    assert len(run("score", "a", "b").out.splitlines()) == 2


def test_standard_input(taught: Path, run: Run) -> None:
    """- is standard input: a message or an mbox."""
    assert run("score", "-", stdin=message("spam", 601)).code == 0
    assert run("score", "-", stdin=message("ham", 601)).code == 1
    several = run("score", "-", stdin=mbox("spam", range(600, 603)))
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


def test_standard_input_is_the_default_in_a_pipe(taught: Path, run: Run) -> None:
    """`score` and `explain` without a path read standard input, unless it is a terminal."""
    assert run("score", stdin=message("spam", 601)).out.startswith("S ")
    assert run("score", stdin=message("ham", 601)).code == 1
    assert run("explain", stdin=message("ham", 601)).out.startswith("ham, probability of spam ")
    assert run("score").code == 3, "nothing comes"


@pytest.mark.parametrize("command", ["score", "explain"])
def test_a_terminal_is_not_read(taught: Path, at_terminal: At, command: str) -> None:
    """At a terminal `score` and `explain` without a path say what to give."""
    code, shown, _ = at_terminal(command)
    assert code == 64
    assert f"{command} needs a PATH: a message file" in shown
    assert f"pipe a message into spamnb {command}" in shown
    assert ("To check the filter itself: spamnb doctor" in shown) is (command == "score"), "who types `spamnb check`"


def test_paths_that_hold_no_mail_do_not_hinder_the_others(taught: Path, run: Run) -> None:
    """`score` scores all paths that it can, reports a fault for each other one, and ends with 3."""
    (taught / "empty").mkdir()
    result = run("score", "missing", "spam.eml", "empty", "/dev/null", "ham.eml")
    assert result.code == 3
    assert [line.split()[2] for line in result.out.splitlines()] == ["spam.eml", "ham.eml"]
    assert [line.split(":")[1] for line in result.err.splitlines()] == [
        " there is no missing",
        " empty holds no messages",
        " /dev/null is a device, a pipe or a socket",
    ]
    alone = run("score", "missing")
    assert (alone.code, alone.out) == (3, "")


def test_explain_shows_clues_and_teachers(taught: Path, run: Run) -> None:
    """`explain` shows tokens with their counts and weights, and which learned messages taught the strongest."""
    result = run("explain", "spam.eml", "--clues", "3")
    assert result.code == 0
    assert result.out.startswith("spam, probability of spam ")
    assert "in ham  in spam  log-odds  contributes" in result.out
    assert "For spam:" in result.out
    assert "Nothing points to ham." in result.out
    assert "For ham:" not in result.out
    learned = result.out.partition("Learned from:")[2]
    assert "spam  20" in learned
    assert ".example)" in learned


def test_explain_says_who_it_is_not(taught: Path, run: Run) -> None:
    """`explain` asks whether a doubtful message is who it says, and says why; of others it says nothing of this."""
    (taught / "doubtful.eml").write_bytes(DOUBTFUL["name"])
    told = run("explain", "doubtful.eml").out.partition("\nIs it who it says?\n")[2]
    sentence = "It calls itself letters@harbourbank.example, but it comes from x9@parcel-news.example."
    assert told.splitlines() == [f"  {sentence}", "  This is the first mail from x9@parcel-news.example here."]
    facts = json.loads(run("explain", "--json", "doubtful.eml").out)["who_it_is"]
    assert facts[0] == {"kind": "name", "sentence": sentence}
    assert [fact["kind"] for fact in facts] == ["name", "since"]
    assert "who it says" not in run("explain", "spam.eml").out
    assert json.loads(run("explain", "--json", "spam.eml").out)["who_it_is"] == []


def test_explain_json(taught: Path, run: Run) -> None:
    """`explain --json` prints the same as one object, with all clues, the strongest first."""
    found = json.loads(run("explain", "--json", "lessons/spam/1.eml").out)
    assert found["learned_as"] == "spam"
    assert found["verdict"] == "spam"
    assert len(found["clues"]) <= found["known"] <= found["tokens"]
    assert {"token", "ham", "spam", "log_odds"} <= set(found["clues"][0])
    assert found["taught_by"][found["clues"][0]["token"]][0]["label"] in ("ham", "spam")


def test_explain_says_when_the_message_itself_was_learned(taught: Path, run: Run) -> None:
    """If the message itself is learned, `explain` says so."""
    assert "This message itself counts as ham (trained by hand)." in run("explain", "lessons/ham/3.eml").out


def test_clues_are_sorted_by_what_they_contribute(taught: Path, run: Run) -> None:
    """Each side's clues are sorted by weight times log-odds, and their shares by these are shown, in text and JSON."""
    found = json.loads(run("explain", "--json", "spam.eml").out)["clues"]
    contributions = [clue["contribution"] for clue in found]
    assert contributions == sorted(contributions, key=abs, reverse=True)
    assert all(abs(clue["contribution"] - clue["weight"] * clue["log_odds"]) < 0.001 for clue in found)
    lines = run("explain", "spam.eml").out.partition("For spam:\n")[2].splitlines()
    assert abs(float(lines[0].split()[-1]) - max(clue["share"] for clue in found)) < 0.01


@pytest.mark.parametrize("clues", ["1", "3", "1000"])
@pytest.mark.parametrize("mail", ["spam.eml", "ham.eml"])
def test_shares_add_up(taught: Path, run: Run, mail: str, clues: str) -> None:
    """The contributions of the clues add up to the log-odds of the probability, to the last digit shown."""
    found = json.loads(run("explain", "--json", mail).out)
    assert abs(sum(clue["share"] for clue in found["clues"]) - SLOPE * found["score"]) < 0.001
    shown = run("explain", mail, "--clues", clues).out.partition("contributes\n")[2].partition("\nThat is the ")[0]
    *parts, total = (Decimal(one) for one in re.findall(r"[+-][0-9]+\.[0-9]{2}$", shown, re.MULTILINE))
    assert sum(parts) == total
    assert abs(float(total) - SLOPE * found["score"]) < 0.006


def test_the_first_lines_say_that_the_message_is_learned(taught: Path, run: Run) -> None:
    """The second line says that a message is itself learned; --without-itself judges it without that lesson."""
    with_itself = run("explain", "lessons/ham/3.eml").out.splitlines()
    assert with_itself[1].startswith("This message itself counts as ham (trained by hand).")
    without = run("explain", "--without-itself", "lessons/ham/3.eml").out.splitlines()
    assert without[1] == "This message itself counts as ham (trained by hand). This lesson is left out here."
    found = json.loads(run("explain", "--json", "--without-itself", "lessons/ham/3.eml").out)
    assert (found["learned_as"], found["without_itself"]) == ("ham", True)
    taught_with = json.loads(run("explain", "--json", "lessons/ham/3.eml").out)
    assert found["score"] > taught_with["score"]
    run("untrain", "lessons/ham/3.eml")
    forgotten = json.loads(run("explain", "--json", "lessons/ham/3.eml").out)
    assert (found["score"], found["clues"]) == (forgotten["score"], forgotten["clues"])
    assert "not learned: there is nothing" in run("explain", "--without-itself", "spam.eml").out.splitlines()[1]


def test_explain_without_a_ledger(home: Path, run: Run) -> None:
    """A filter without a ledger explains that it knows nothing, and makes none."""
    (home / "x").write_bytes(message("ham", 1))
    result = run("explain", "x")
    assert (result.code, result.out.startswith("unsure, probability of spam 0.5000")) == (0, True)
    assert "spamnb train" in result.err
    assert [path.name for path in home.iterdir()] == ["x"]
    assert (run("score", "x").code, [path.name for path in home.iterdir()]) == (2, ["x"])


def test_explain_takes_one_message(taught: Path, run: Run) -> None:
    """`explain` refuses several messages with a usage error that names the way out."""
    result = run("explain", "lessons")
    assert result.code == 64
    assert "holds several messages" in result.err


def test_a_word(taught: Path, run: Run) -> None:
    """`explain --word` shows each place in which learned messages have a word, with counts and lessons."""
    found = json.loads(run("explain", "--json", "spam.eml").out)
    token = next(clue["token"] for clue in found["clues"] if ":" not in clue["token"] and clue["spam"])
    known = json.loads(run("explain", "--json", "--word", f" {token.upper()} ").out)
    clue = next(clue for clue in found["clues"] if clue["token"] == token)
    assert known["word"] == token
    (of_text,) = [one for one in known["tokens"] if one["token"] == token]
    assert (of_text["ham"], of_text["spam"], of_text["log_odds"]) == (clue["ham"], clue["spam"], clue["log_odds"])
    assert {one["token"].rpartition(":")[2] for one in known["tokens"]} == {token}
    assert known["taught_by"][token]
    shown = run("explain", "--word", token)
    assert (shown.code, shown.err) == (0, "")
    assert [token, str(clue["ham"]), str(clue["spam"])] in [line.split()[:3] for line in shown.out.splitlines()]
    assert f"Learned from:\n  {token}\n" in shown.out


def test_a_word_that_nobody_has_learned(taught: Path, run: Run) -> None:
    """For an unknown word `explain --word` says so, and names longer words with that beginning."""
    clues = json.loads(run("explain", "--json", "spam.eml").out)["clues"]
    token = max((clue["token"] for clue in clues if clue["token"].isalpha()), key=len)
    shown = run("explain", "--word", token[:-1]).out
    assert f"No learned message holds {token[:-1]}." in shown
    assert token in shown.partition("Longer words with this beginning: ")[2].strip().split(", ")


def test_a_word_cannot_control_the_terminal(taught: Path, run: Run) -> None:
    """Control characters of a word are escaped; bytes that are not text are in no message."""
    assert "\x1b" not in run("explain", "--word", "\x1b[31m").out
    assert "No learned message holds x?." in run("explain", "--word", "x\udce9").out


def test_a_word_before_anything_was_learned(home: Path, run: Run) -> None:
    """Without a ledger `explain --word` says that nothing is learned, and makes none."""
    assert run("explain", "--word", "offer").out == (
        "No learned message holds offer. The filter has learned 0 ham and 0 spam messages.\n"
    )
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("more", [("spam.eml",), ("--without-itself",), ("--clues", "3")])
def test_a_word_and_a_message(taught: Path, run: Run, more: tuple[str, ...]) -> None:
    """`explain` takes a word or a message, not both; an empty word is refused."""
    result = run("explain", "--word", "offer", *more)
    assert (result.code, "takes only the word" in result.err) == (64, True)
    assert run("explain", "--word", " ").code == 64
