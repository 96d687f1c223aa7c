"""`history`: its lines, and the options that choose them."""

import json
import time
from pathlib import Path

from spamnb.base.label import How
from spamnb.ledger.ledger import Ledger
from tests.cli.conftest import Run, ledger_file, mail
from tests.lessons import set_label


def fill(home: Path) -> None:
    """Three judgements, one of them withheld and one corrected by a person, and a weak lesson."""
    with Ledger(str(ledger_file(home))) as ledger:
        now = time.time() - 100
        inbox = ledger.locations.folder(ledger.locations.mailbox("/mail")[0], "INBOX")
        for number, (verdict, summary) in enumerate(
            (("ham", "Lunch (a@b.example)"), ("unsure", "Offer (c@d.example)"), ("spam", "Pills (e@f.example)"))
        ):
            known = ledger.messages.ensure(summary.encode(), summary)
            ledger.messages.judged(known.id, verdict, 0.5, now + number)
            ledger.journal.judged(
                known.id,
                (inbox, f"{number}"),
                verdict,
                0.5,
                "why",
                now + number,
                withheld=verdict == "spam",
                how=How.MAILDIR,
            )


def test_every_judgement_is_shown(home: Path, run: Run) -> None:
    """The history has ham, unsure and withheld judgements, each with the folder in which the message stays."""
    fill(home)
    spam, unsure, ham = run("history").out.splitlines()
    assert "judged spam [withheld], stays in INBOX: why" in spam
    assert "judged unsure, stays in INBOX: why" in unsure
    assert "judged ham, stays in INBOX: why" in ham
    found = json.loads(run("history", "--json", "--limit", "1").out)
    assert (found["kind"], found["state"], found["verdict"], found["moved_by"]) == ("judged", "withheld", "spam", None)


def test_what_became_of_a_judgement(home: Path, run: Run) -> None:
    """The line of a judgement says how its message was learned afterwards, and whether weakly."""
    run("train", "--spam", mail(home / "a", "spam", 1))
    with Ledger(str(ledger_file(home))) as ledger:
        folder = ledger.locations.folder(ledger.locations.mailbox("/mail")[0], "INBOX")
        ledger.journal.judged(1, (folder, "1"), "ham", 0.1, "ham", 1.0, how=How.MAILDIR)
    assert "judged ham (later learned spam), stays in INBOX: ham " in run("history").out.splitlines()[0]
    found = json.loads(run("history", "--json", "--limit", "1").out)
    assert (found["learned_later"], found["learned_later_weak"]) == ("spam", False)


def test_weak_lessons_are_shown_as_weak(home: Path, run: Run) -> None:
    """A lesson that no person decided is shown as learned weakly."""
    run("train", "--ham", mail(home / "a", "ham", 1))
    with Ledger(str(ledger_file(home))) as ledger:
        set_label(ledger, 1, 0, time.time(), "read and kept", weak=True)
    assert "learned weakly ham: read and kept" in run("history").out
    assert "counts as weakly ham (read and kept)" in run("explain", "a/0.eml").out
    assert json.loads(run("explain", "--json", "a/0.eml").out)["learned_weakly"] is True
    assert json.loads(run("history", "--json", "--limit", "1").out)["after_weak"] is True


def test_choosing(home: Path, run: Run) -> None:
    """Lines are chosen by a word, a time, a verdict, a kind and a folder; an empty result is reported."""
    fill(home)
    for arguments, number in (
        (("OFFER",), 1),
        (("--verdict", "spam"), 1),
        (("--kind", "judged"), 3),
        (("--kind", "moved"), 0),
        (("--folder", "INBOX", "--verdict", "ham"), 1),
        (("--since", "1h"), 3),
        (("--until", "1h"), 0),
        (("--before", "3", "--limit", "1"), 1),
        (("no such word",), 0),
    ):
        assert len(run("history", "--json", *arguments).out.splitlines()) == number, arguments
    assert run("history", "--json", "\udce9", "--kind", "judged").out == "", "bytes that are no text are nowhere"
    assert run("history", "--folder", "\udce9").code == 64
    assert run("history", "xyzzy").out == "Nothing in the history matches that.\n"
    assert run("history", "--before", "3", "--limit", "1").out.startswith("2  ")


def test_an_answer_is_called_so(home: Path, run: Run) -> None:
    """A person's answer has the kind "answered", both as an option and in the output for programs."""
    run("train", "--ham", mail(home / "a", "ham", 1))
    with Ledger(str(ledger_file(home))) as ledger:
        ledger.journal.settled(1, "answered at the prompt", time.time(), 0)
    run("undo", "2")
    lines = run("history", "--json", "--kind", "answered").out.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["answered", "answered"]
    assert run("history", "--kind", "settled").code == 64


def test_a_folder_that_was_never_met(home: Path, run: Run) -> None:
    """A mistyped folder is a wrong call, which names those there are."""
    fill(home)
    result = run("history", "--folder", "Imbox")
    assert (result.code, "the history has: INBOX" in result.err) == (64, True)


def test_reading_makes_no_ledger(home: Path, run: Run) -> None:
    """`history` of a filter that has no ledger makes none."""
    assert run("history").out == "The filter has not moved or learned anything yet.\n"
    assert run("history", "--json").out == ""
    assert list(home.iterdir()) == []


def test_history_lists_the_newest_first(home: Path, run: Run) -> None:
    """`history` lists actions with id, time, what and why, the newest first; with --json as objects."""
    assert run("history").out == "The filter has not moved or learned anything yet.\n"
    run("train", "--ham", mail(home / "a", "ham", 3))
    run("untrain", "a/2.eml")
    lines = run("history").out.splitlines()
    assert [int(line.split()[0]) for line in lines] == [4, 3, 2, 1]
    assert "forgot, was ham: forgotten by hand" in lines[0]
    assert "learned ham: trained by hand" in lines[1]
    objects = [json.loads(line) for line in run("history", "--json", "--limit", "2").out.splitlines()]
    assert [(one["id"], one["before"], one["after"]) for one in objects] == [(4, "ham", None), (3, None, "ham")]
