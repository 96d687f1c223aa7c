"""`choose`: senders and cutoffs beside the configuration, at the prompt; and every command that goes by them."""

import json
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.evaluation.cutoffs import NOT_SEEN
from spamnb.review.misfiled import Doubts
from tests.cli.conftest import Run, home, mail, maildir, run

__all__ = ["home", "run"]  # fixtures
CONFIG = ".config/spamnb/config.yaml"


def taught(home: Path, run: Run) -> None:
    """Some mail of both kinds."""
    for kind in ("ham", "spam"):
        assert run("train", f"--{kind}", mail(home / kind, kind, 30)).code == 0


def letter(home: Path, kind: str = "ham") -> Path:
    """A message of somebody at a shop."""
    path = home / f"{kind}.eml"
    lines = [line for line in message(kind, 90).split(b"\n") if not line.startswith(b"From:")]
    path.write_bytes(b"\n".join([b"From: Friend <friend@shop.example>", *lines]))
    return path


def test_each_command_goes_by_it(home: Path, run: Run) -> None:
    """A choice holds for score, explain and status at once, until it is taken back."""
    taught(home, run)
    path = letter(home)
    assert run("score", path).code == 1
    said = run("choose", "block", "*@shop.example")
    assert (said.code, "from now on: block *@shop.example" in said.out) == (0, True)
    assert run("score", path).code == 0
    assert "you have chosen to block *@shop.example" in run("explain", path).out
    assert json.loads(run("explain", "--json", path).out)["listed"] == "*@shop.example"
    assert "1 blocked" in run("status").out
    (chosen,) = json.loads(run("status", "--json").out)["chosen"]
    assert (chosen["kind"], chosen["value"], chosen["by"]) == ("block", "*@shop.example", "prompt")
    assert run(*said.out.splitlines()[-1].split("spamnb ")[1].split()).code == 0
    assert run("score", path).code == 1
    assert "You have not chosen anything" in run("choose").out


def test_listed_and_forgotten(home: Path, run: Run) -> None:
    """Without arguments the choices are listed, as lines or JSON; --forget takes back all of a pattern."""
    assert run("choose").out == "You have not chosen anything: only the configuration counts.\n"
    assert run("choose", "--json").out == ""
    run("choose", "block", "a.example", "b@c.example")
    run("choose", "spam_cutoff", "0.97")
    assert [line.split()[:2] for line in run("choose").out.splitlines()[1:]] == [
        ["spam_cutoff", "0.97"],
        ["block", "b@c.example"],
        ["block", "a.example"],
    ]
    assert [json.loads(line)["value"] for line in run("choose", "--json").out.splitlines()] == [
        *(0.97, "b@c.example", "a.example")
    ]
    assert run("choose", "block", "a.example").out == "You have chosen that already.\n"
    assert "no longer: block a.example" in run("choose", "--forget", "A.example", "--forget", "spam_cutoff").out
    assert [json.loads(line)["value"] for line in run("choose", "--json").out.splitlines()] == ["b@c.example"]
    assert run("choose", "--forget", "a.example").code == 3


def test_wrong_use(home: Path, run: Run) -> None:
    """For an impossible choice the error says what to write, and nothing is kept."""
    for words, said in (
        (("block",), "choose block needs a sender"),
        (("ham_cutoff",), "needs a number"),
        (("ham_cutoff", "strict"), "write a number from 0 to 1"),
        (("strict", "0.9"), "choose strict takes nothing more"),
        (("spam_cutoff", "0.9", "0.8"), "choose spam_cutoff takes one number"),
        (("spam_cutoff", "much"), "write a number from 0 to 1"),
        (("block", "*"), "matches all mail"),
        (("block", "\x1b[2J.example"), "cannot be a sender"),
        (("block", "\udcff.example"), "cannot be a sender"),
        (("block", "a.example", "--forget", "a.example"), "give neither with a new choice"),
        (("forbid", "a.example"), "invalid choice: 'forbid'"),
    ):
        result = run("choose", *words)
        assert (result.code, result.out) == (64, ""), words
        assert said in result.err
        assert "\x1b" not in result.err
    assert run("history").out == "" or "chosen" not in run("history").out


def test_how_strict_without_lessons(home: Path, run: Run) -> None:
    """Before both kinds are learned, `choose spam_cutoff` shows the three numbers, and says what is missing."""
    said = run("choose", "spam_cutoff").out
    assert [line.split() for line in said.splitlines()[1:4]] == [
        *(["gentle", "0.99"], ["normal", "0.95", "in", "force"], ["strict", "0.9"])
    ]
    assert "has to learn both ham and spam" in said and NOT_SEEN not in said


def test_how_strict(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each name shows what it would have done to the learned mail; a name is written as a cutoff, and can be undone."""
    taught(home, run)
    said = run("choose", "spam_cutoff").out
    assert said.count("In your learned mail, 30 of 30 spam and 0 of 30 wanted messages would go to Junk.") == 3
    assert NOT_SEEN in said and "To choose: spamnb choose gentle, normal or strict" in said
    assert "from now on: spam_cutoff 0.99" in run("choose", "gentle").out
    assert "gentle       0.99  in force" in run("choose", "spam_cutoff").out
    assert run("strict").code == 0
    assert run("choose").out.splitlines()[1].split()[:2] == ["spam_cutoff", "0.9"]
    run("choose", "spam_cutoff", "0.97")
    assert "In force is another number: 0.97." in run("choose", "spam_cutoff").out
    monkeypatch.setattr("spamnb.cli.common.strictness.is_dialogue", lambda: True)
    assert "Left as before." in run("choose", "spam_cutoff", stdin=b"x\n\n").out
    said = run("choose", "spam_cutoff", stdin=b"n\n").out
    assert "from now on: spam_cutoff 0.95\nTo undo: spamnb undo " in said
    assert run(*said.splitlines()[-1].split("spamnb ")[1].split()).code == 0
    assert run("choose").out.splitlines()[1].split()[:2] == ["spam_cutoff", "0.97"]


def test_how_strict_by_the_configuration(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the configuration names the cutoff, nobody is asked, and a name is refused."""
    maildir(home / "Maildir")
    assert run("init").code == 0
    file = home / CONFIG
    file.write_text(file.read_text() + "scoring: {spam_cutoff: 0.96}\n")
    monkeypatch.setattr("spamnb.cli.common.strictness.is_dialogue", lambda: True)
    assert "The configuration names spam_cutoff" in run("choose", "spam_cutoff", stdin=b"s\n").out
    assert run("choose", "strict").code == 3


def test_the_configuration_stands_above(home: Path, run: Run) -> None:
    """A cutoff in the configuration has priority; an older choice is listed as without effect."""
    maildir(home / "Maildir")
    assert run("init").code == 0
    run("choose", "spam_cutoff", "0.97")
    run("choose", "block", "a.example")
    assert "  spam_cutoff: 0.97\n" in (said := run("config").out)
    assert "#   block        a.example" in said
    file = home / CONFIG
    file.write_text(file.read_text() + "scoring: {spam_cutoff: 0.95}\nsenders: {allow: [a.example]}\n")
    said = run("config").out
    assert "  spam_cutoff: 0.95\n" in said and "  allow:\n  - a.example\n" in said
    assert "# " in said and "spam_cutoff 0.97 has no effect: the configuration names spam_cutoff" in said
    assert "block a.example has no effect" in run("choose").out
    assert "2 without effect (spamnb choose)" in run("status").out
    for words in (("spam_cutoff", "0.9"), ("block", "b@a.example")):
        refused = run("choose", *words)
        assert (refused.code, "has priority" in refused.err) == (3, True)


def test_config_without_a_ledger_that_can_be_read(home: Path, run: Run) -> None:
    """If the ledger cannot be read, `config` still prints the configuration, with a comment about it."""
    maildir(home / "Maildir")
    assert run("init").code == 0
    assert "# you have not chosen anything beside it\n" in run("config").out
    ledger = next((home / ".local/share/spamnb").glob("ledger.sqlite"))
    ledger.write_bytes(b"no ledger" * 1000)
    said = run("config")
    assert (said.code, said.err) == (0, "")
    assert "# the choices beside it cannot be read: " in said.out
    assert "  spam_cutoff: 0.95\n" in said.out


def test_own_mail_is_evaluated_with_what_is_chosen(home: Path, run: Run) -> None:
    """`evaluate` of one's own mail uses the chosen cutoff, and proposes the command that chooses one."""
    ham, spam = ([message(kind, number) for number in range(30)] for kind in ("ham", "spam"))
    maildir(home / "Maildir", INBOX=ham, Junk=spam)
    assert run("init", "--learn").code == 0
    run("choose", "ham_cutoff", "0.0000000001")
    run("choose", "spam_cutoff", "0.0000000002")
    said = run("evaluate", "--at-most-one-ham-in", 20).out
    cutoff = said.partition("`spamnb choose spam_cutoff ")[2].partition("`")[0]
    assert f"  spam_cutoff: {cutoff}\n" in said
    assert run("choose", "spam_cutoff", cutoff).code == 0
    assert (
        f"At {cutoff}, at most one ham in 20 is called spam here: keep this cutoff"
        in run("evaluate", "--at-most-one-ham-in", 20).out
    )


def test_no_cutoff_is_proposed_for_mail_that_is_probably_misfiled(home: Path, run: Run) -> None:
    """While ham is probably misfiled, `evaluate` says what Tune says, and proposes no cutoff that would spare it."""
    ham, spam = ([message(kind, number) for number in range(40)] for kind in ("ham", "spam"))
    maildir(home / "Maildir", INBOX=ham, Junk=spam)
    assert run("init", "--learn").code == 0
    assert "Your mail contradicts itself" not in (said := run("evaluate", "--at-most-one-ham-in", 40).out)
    assert NOT_SEEN in said and "keep this cutoff" in said
    run("train", "--ham", home / "Maildir/.Junk/cur/1700000000.M0P1.Junk:2,S")
    said = run("evaluate", "--at-most-one-ham-in", 60).out
    assert said.startswith(Doubts(1, 0).of_figures)
    assert "contradicts itself, so no cutoff is proposed" in said and "spam_cutoff" not in said
    assert json.loads(run("evaluate", "--at-most-one-ham-in", 60, "--json").out)["spam_cutoff"] is None
