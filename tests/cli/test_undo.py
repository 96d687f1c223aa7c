"""`undo` at the prompt: the look before it, the question, and the way back."""

import json
import shlex
import time
from pathlib import Path

import pytest

from spamnb.cli.sample_mail import message
from tests.cli.conftest import Run, mail
from tests.cli.test_account import counts, ledger_file
from tests.cli.test_terminal import At, at_terminal  # noqa: F401 - a fixture


@pytest.fixture
def trained(home: Path, run: Run) -> Path:
    """A filter that has learned 25 ham messages by mistake."""
    assert run("train", "--ham", mail(home / "a", "spam", 25)).code == 0
    return home


def test_a_dry_run_changes_nothing(trained: Path, run: Run) -> None:
    """--dry-run lists what would be undone, and its totals, and changes nothing."""
    before = ledger_file(trained).read_bytes()
    result = run("undo", "--since", "1h", "--dry-run")
    lines = result.out.splitlines()
    assert (result.code, len(lines)) == (0, 26)
    assert lines[0].startswith("would undo 25: learned ham: trained by hand: ")
    assert lines[-1] == "would undo 25 learnings; nothing was changed"
    assert ledger_file(trained).read_bytes() == before
    assert run("undo", "--since", "1h", "--moves", "--dry-run").out == "There is nothing to undo.\n"


def test_a_dry_run_without_a_ledger_makes_none(home: Path, run: Run) -> None:
    """Where there is no ledger, --dry-run finds nothing to undo and makes nothing."""
    assert run("undo", "--since", "1h", "--dry-run").out == "There is nothing to undo.\n"
    assert list(home.iterdir()) == []


def test_much_is_not_undone_without_a_yes(trained: Path, run: Run) -> None:
    """Without a terminal, more than 20 actions need --yes: else nothing is undone, and 64 says how."""
    refused = run("undo", "--since", "1h")
    assert (refused.code, refused.out) == (64, "")
    assert refused.err == ("spamnb: this would undo 25 learnings: look at it with --dry-run, and do it with --yes\n")
    assert json.loads(run("status", "--json").out)["learned"] == {"ham": 25, "spam": 0}
    done = run("undo", "--since", "1h", "--yes")
    assert done.code == 0
    said, _, way_back = done.out.splitlines()[-1].partition("; to take that back: spamnb ")
    assert said == "undid 25 actions"
    assert run(*shlex.split(way_back), "--yes").code == 0
    assert json.loads(run("status", "--json").out)["learned"] == {"ham": 25, "spam": 0}
    assert run("verify").code == 0


@pytest.mark.parametrize(("answer", "left"), [("y\n", 0), ("n\n", 25), ("\n", 25), ("\x04", 25)])
def test_a_terminal_is_asked(trained: Path, run: Run, at_terminal: At, answer: str, left: int) -> None:  # noqa: F811
    """On a terminal the totals come first, and then a question, to which only a yes is a yes."""
    code, shown, _ = at_terminal("undo", "--since", "1h", answer=answer)
    assert code == 0
    assert "To be undone: 25 learnings." in shown
    assert ("Nothing was undone." in shown) == bool(left)
    assert json.loads(run("status", "--json").out)["learned"]["ham"] == left


def test_a_single_id_is_not_asked_about(trained: Path, at_terminal: At) -> None:  # noqa: F811
    """What a person named by its number is undone without a question."""
    code, shown, _ = at_terminal("undo", "17")
    assert code == 0
    assert "undid 17: learned ham" in shown


def test_an_undo_is_in_the_history_with_what_it_took_back(trained: Path, run: Run) -> None:
    """`history` says of an undo what it took back, and of what was undone by which."""
    run("undo", "3")
    run("undo", "26")
    redo, undo, *_, third, _, _ = [
        json.loads(line) for line in run("history", "--json", "--limit", 99).out.splitlines()
    ]
    assert (redo["takes_back"], undo["takes_back"], undo["state"], undo["undone_by"]) == (26, 3, "undone", 27)
    assert (third["id"], third["state"], third["undone_by"]) == (3, "done", None)
    assert (redo["before"], redo["after"]) == (None, "ham")


def test_an_import_that_was_undone_is_not_kept(trained: Path, run: Run) -> None:
    """The undo of an import cannot be undone, and says to import again; an undo of all undos leaves it out."""
    run("export", "counts.txt")
    run("import", "counts.txt")
    before = counts(trained)
    assert run("undo", "26").code == 0
    refused = run("undo", "27")
    assert (refused.code, "import them again" in refused.err) == (3, True)
    assert run("undo", "--undos", "--since", "1h").out == "There is nothing to undo.\n"
    assert run("import", "counts.txt").code == 0
    assert counts(trained) == before


def test_what_is_not_in_the_history(trained: Path, run: Run) -> None:
    """A number that never was, and one that retention has forgotten, are refused before anything is undone."""
    assert "there is no action 99: see `spamnb history`" in run("undo", "1", "99").err
    assert json.loads(run("status", "--json").out)["learned"]["ham"] == 25


def test_two_thousand_learnings_are_undone_quickly(home: Path, run: Run) -> None:
    """An undo of 2,000 learnings takes less than 4 s of processor time."""
    directory = home / "box"
    directory.write_bytes(
        b"".join(b"From a@b.example Mon Jan  1 10:00:00 2024\n" + message("ham", n) + b"\n" for n in range(2000))
    )
    assert run("train", "--ham", "box").code == 0
    start = time.process_time()
    assert run("-q", "undo", "--yes", "--since", "1h").code == 0
    assert time.process_time() - start < 4
    assert counts(home) == []
