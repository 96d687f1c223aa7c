"""A person's choice beside the configuration: an action without a message, in a history of messages."""

import json
import sqlite3
from pathlib import Path

import pytest

from spamnb.acts.undo import foresee, of_ids, since, undo, undos_since
from spamnb.base.label import Role
from spamnb.config import Config
from spamnb.ledger.history.actions import Action
from spamnb.ledger.history.choices import ChoiceKind
from spamnb.ledger.history.describe import as_object, in_words
from spamnb.ledger.history.lines import Wanted
from spamnb.ledger.ledger import Ledger
from tests.cli.conftest import Run, home, ledger_file, mail, run
from tests.ledger.plans import plans
from tests.ledger.test_retention import deleted
from tests.lessons import NO_MAILBOX, learn, lesson

__all__ = ["home", "run"]  # fixtures
OLD, LATER = 1_000.0, 9_000.0


def choose(ledger: Ledger, kind: ChoiceKind, value: str | float, at: float = OLD) -> int:
    """A choice, and the action that names it; the number of that."""
    return ledger.choices.record(kind, value, "page", "said on a page", at)


def in_force(ledger: Ledger) -> list[tuple[str, str | float]]:
    """The choices whose action counts, the oldest first."""
    return [(choice.kind, choice.value) for choice in ledger.choices.standing()]


def take_back(ledger: Ledger, actions: list[Action]) -> None:
    """Undo, without a fault."""
    assert [outcome.fault for outcome in foresee(ledger, NO_MAILBOX, actions)] == [None] * len(actions)
    assert [outcome.fault for outcome in undo(ledger, NO_MAILBOX, actions, lambda: LATER)] == [None] * len(actions)


def test_in_the_history(ledger: Ledger) -> None:
    """The history tells of a choice among what was done to messages, and of no message in it."""
    learn(ledger, [lesson("m", 0, {"a": 1}, OLD)])
    choose(ledger, "block", "*@shop.example")
    choose(ledger, "spam_cutoff", 0.9)
    cutoff, block, _ = lines = ledger.lines.page(9)
    assert [line.action.summary for line in lines] == ["spam_cutoff 0.9", "block *@shop.example", "m"]
    assert (block.action.message, block.action.digest, in_words(block)) == (0, b"", "chosen: said on a page")
    assert as_object(cutoff)["message"] == "spam_cutoff 0.9"
    assert ledger.lines.of([block.action]) == [block]
    assert ledger.journal.of_message(0) == []
    assert ledger.verify() == []


def test_found_by_its_pattern(ledger: Ledger) -> None:
    """The history finds a choice by a part of its pattern or its number, among messages that hold the same."""
    learn(ledger, [lesson("m", 0, {"a": 1}, OLD)])
    choose(ledger, "block", "*@shop.example")
    choose(ledger, "allow", "bücher.example")
    choose(ledger, "spam_cutoff", 0.9)
    for text, found in (
        ("Shop.ex", ["block *@shop.example"]),
        ("block", ["block *@shop.example"]),
        ("BÜCHER.EXAMPLE", ["allow bücher.example"]),
        ("cutoff 0.9", ["spam_cutoff 0.9"]),
        ("m", ["spam_cutoff 0.9", "allow bücher.example", "block *@shop.example", "m"]),
        ("100%", []),
    ):
        assert [line.action.summary for line in ledger.lines.page(9, Wanted(text=text))] == found, text


def test_a_move_of_before(ledger: Ledger) -> None:
    """A pattern that a move chose before lists had their own is about the list; from elsewhere it keeps both."""
    for by in ("move", "page", "prompt"):
        for value in ("news.example", "ann@shop.example"):
            ledger.choices.record("inbox", f"{by}-{value}", by, "a test", OLD)  # type: ignore[arg-type]
    assert [one.value for one in ledger.choices.standing()] == [
        "list:move-news.example",
        "move-ann@shop.example",
        *(f"{by}-{value}" for by in ("page", "prompt") for value in ("news.example", "ann@shop.example")),
    ]
    for by, from_there in (("move", None), ("page", Role.INBOX), ("prompt", Role.INBOX)):
        assert ledger.choices.sorted_to("", f"{by}-news.example") is Role.INBOX
        assert ledger.choices.sorted_to(f"bob@{by}-news.example", "") is from_there
        assert ledger.choices.sorted_to(f"{by}-ann@shop.example", "") is Role.INBOX


def test_taken_back_and_done_again(ledger: Ledger) -> None:
    """To undo a choice is to withdraw it, and the one before it is in force again; and so on down the chain."""
    choose(ledger, "spam_cutoff", 0.9)
    second = choose(ledger, "spam_cutoff", 0.99)
    take_back(ledger, of_ids(ledger, [second]))
    assert in_force(ledger) == [("spam_cutoff", 0.9)]
    take_back(ledger, undos_since(ledger, 0.0))
    assert in_force(ledger) == [("spam_cutoff", 0.9), ("spam_cutoff", 0.99)]
    again, withdrawn = ledger.lines.page(2)
    assert (in_words(withdrawn), in_words(again)) == (
        f"no longer chosen [undone]: undo of {second}",
        f"chosen: undo of {withdrawn.action.id}",
    )
    take_back(ledger, since(ledger, 0.0))
    assert in_force(ledger) == []
    assert ledger.verify() == []


def test_never_forgotten(ledger: Ledger) -> None:
    """Retention forgets old actions around a choice, however old the choice is, but keeps the choice."""
    choose(ledger, "allow", "list.example")
    deleted(ledger, "a", OLD)
    choose(ledger, "ham_cutoff", 0.05)
    deleted(ledger, "newest", LATER)
    ledger.tallies.keep()  # what is not counted yet stays
    assert sum(ledger.retention.forget(5_000.0, 5_000.0)) > 0
    assert ledger.messages.find(b"a") is None
    assert in_force(ledger) == [("allow", "list.example"), ("ham_cutoff", 0.05)]


@pytest.mark.parametrize("values", [(None, None), ("a@b.example", 0.5)])
def test_an_action_is_about_something(ledger: Ledger, values: tuple[str | None, float | None]) -> None:
    """An action is about a message or a choice, or a choice made of a message; a choice is a pattern or a number."""
    row = "INSERT INTO action (at, message, choice, kind, state, why) VALUES (1.0, NULL, NULL, 'chosen', 'done', '')"
    with pytest.raises(sqlite3.IntegrityError):
        ledger._connection._sqlite.execute(row)
    with pytest.raises(sqlite3.IntegrityError):
        ledger._connection._sqlite.execute(
            "INSERT INTO choice (kind, pattern, number, by) VALUES ('allow', ?, ?, 'page')", values
        )


def test_at_the_prompt(home: Path, run: Run) -> None:
    """Every command about the history works if a choice is in it; `undo` withdraws the choice."""
    assert run("train", "--ham", mail(home / "a", "ham", 1)).code == 0
    with Ledger(str(ledger_file(home))) as ledger:
        number = choose(ledger, "block", "*@shop.example", LATER)
    assert "chosen: said on a page" in run("history").out
    assert json.loads(run("history", "--json").out.splitlines()[0])["kind"] == "chosen"
    assert "last action" in run("status").out
    for command in (("verify",), ("undo", str(number)), ("undo", "--only", "undos", "--since", "1h")):
        said = run(*command)
        assert (said.code, said.err) == (0, ""), said
    with Ledger(str(ledger_file(home))) as ledger:
        assert in_force(ledger) == [("block", "*@shop.example")]


def test_copies_and_exports(home: Path, run: Run) -> None:
    """A backup holds the choices, and a restored ledger has those of the copy; an export holds lessons alone."""
    assert run("train", "--ham", mail(home / "a", "ham", 1)).code == 0
    assert run("choose", "block", "*@shop.example").code == 0
    assert run("backup", home / "copy").code == 0
    assert "shop.example" not in run("export", "-").out
    assert run("choose", "--forget", "*@shop.example").code == 0
    assert run("choose", "--json").out == ""
    assert run("restore", home / "copy").code == 0
    assert json.loads(run("choose", "--json").out)["value"] == "*@shop.example"


def test_a_copy_that_was_changed(ledger: Ledger) -> None:
    """A row that cannot be a choice, such as a cutoff with a pattern, is ignored."""
    choose(ledger, "allow", "x.example")
    for kind, pattern, number in (("ham_cutoff", "y.example", None), ("block", None, 0.5)):
        choice = ledger._connection.execute(
            "INSERT INTO choice (kind, pattern, number, by) VALUES (?, ?, ?, 'page')", (kind, pattern, number)
        )
        ledger._connection.execute(
            "INSERT INTO action (at, choice, kind, state, why) VALUES (1.0, ?, 'chosen', 'done', '')", (choice,)
        )
    assert in_force(ledger) == [("allow", "x.example")]
    ledger.choices.over(Config((), Path("/l")))


def test_one_question_by_an_index(ledger: Ledger) -> None:
    """An index of choices alone shows that nothing has changed, however much else was done."""
    (counting,) = plans(ledger, lambda: ledger.choices.over(Config((), Path("/l"))))
    assert counting == ["SEARCH action USING COVERING INDEX action_choice"]
    choose(ledger, "allow", "x.example")
    (plan,) = plans(ledger, ledger.choices.standing)
    assert plan[0] in ("SEARCH a USING INDEX action_choice", "SCAN c"), plan
