"""`undo` at the prompt: the look before it, the question, and the way back."""

import json
import os
import shlex
from datetime import datetime
from pathlib import Path

import pytest

from spamnb.base.label import How, Role
from spamnb.cli.common.sample_mail import message
from spamnb.config import Mailbox
from spamnb.config.writing import render
from spamnb.ledger.ledger import Ledger
from tests.cli.conftest import At, Run, counts, ledger_file, mail, maildir


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
    assert lines[-1] == "would undo 25 lessons; nothing was changed"
    assert ledger_file(trained).read_bytes() == before
    assert run("undo", "--since", "1h", "--only", "moves", "--dry-run").out == "There is nothing to undo.\n"


def test_a_dry_run_without_a_ledger_makes_none(home: Path, run: Run) -> None:
    """Without a ledger, --dry-run finds nothing to undo and makes nothing."""
    assert run("undo", "--since", "1h", "--dry-run").out == "There is nothing to undo.\n"
    assert list(home.iterdir()) == []


def test_lessons_of_init_are_named(home: Path, run: Run) -> None:
    """The totals name the lessons of `init` apart from others."""
    maildir(home / "Maildir", INBOX=[message("ham", n) for n in range(3)], Junk=[message("spam", n) for n in range(2)])
    run("init", "--learn")
    assert run("train", "--ham", mail(home / "a", "ham", 1, first=100)).code == 0
    total = run("undo", "--since", "1h", "--dry-run").out.splitlines()[-1]
    assert total == "would undo 1 lesson, 5 lessons of init; nothing was changed"


def test_much_is_not_undone_without_a_yes(trained: Path, run: Run) -> None:
    """Without a terminal, more than 20 actions need --yes; without it the command ends with 64 and says so."""
    refused = run("undo", "--since", "1h")
    assert (refused.code, refused.out) == (64, "")
    assert refused.err == ("spamnb: this would undo 25 lessons: list it with --dry-run, and do it with --yes\n")
    assert json.loads(run("status", "--json").out)["learned"] == {"ham": 25, "spam": 0}
    done = run("undo", "--since", "1h", "--yes")
    assert done.code == 0
    said, _, way_back = done.out.splitlines()[-1].partition("; to take that back: spamnb ")
    assert said == "undid 25 actions"
    assert run(*shlex.split(way_back), "--yes").code == 0
    assert json.loads(run("status", "--json").out)["learned"] == {"ham": 25, "spam": 0}
    assert run("verify").code == 0


@pytest.mark.thorough
@pytest.mark.parametrize(("answer", "left"), [("y\n", 0), ("\n", 25), ("\x04", 25)])
def test_a_terminal_is_asked(trained: Path, run: Run, at_terminal: At, answer: str, left: int) -> None:
    """On a terminal the totals come first, and then a question, to which only a yes is a yes."""
    code, shown, _ = at_terminal("undo", "--since", "1h", answers=[answer])
    assert code == 0
    assert "This undoes 25 lessons." in shown
    assert ("Nothing was undone." in shown) == bool(left)
    assert json.loads(run("status", "--json").out)["learned"]["ham"] == left


def test_a_single_id_is_not_asked_about(trained: Path, at_terminal: At) -> None:
    """An action named by its number is undone without a question."""
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
    run("import", "--force", "counts.txt")
    before = counts(trained)
    assert run("undo", "26").code == 0
    assert "  counts taken back: undo of 26  " in run("history", "--limit", 1).out
    refused = run("undo", "27")
    assert (refused.code, "import them again" in refused.err) == (3, True)
    assert run("undo", "--only", "undos", "--since", "1h").out == "There is nothing to undo.\n"
    assert run("import", "--force", "counts.txt").code == 0
    assert counts(trained) == before


def test_what_is_not_in_the_history(trained: Path, run: Run) -> None:
    """A number that never was, and one that retention has forgotten, are refused before anything is undone."""
    assert "there is no action 99: see `spamnb history`" in run("undo", "1", "99").err
    assert json.loads(run("status", "--json").out)["learned"]["ham"] == 25


def test_undo_of_learning_gives_the_counts_of_before(home: Path, run: Run) -> None:
    """Learnings and corrections are taken back exactly, the newest first."""
    run("train", "--ham", mail(home / "a", "ham", 30))
    before = counts(home)
    start = datetime.now().astimezone().isoformat()  # with its zone: an hour of autumn comes twice
    run("train", "--spam", mail(home / "b", "spam", 30))
    run("train", "--spam", "a")
    run("untrain", "a/1.eml", "b/1.eml")
    result = run("undo", "--yes", "--since", start)
    assert (result.code, result.err, len(result.out.splitlines())) == (0, "", 63)
    assert counts(home) == before
    assert run("verify").code == 0
    assert run("undo", "--since", start).out == "There is nothing to undo.\n"


def test_undo_by_id(home: Path, run: Run) -> None:
    """Single actions are undone by id; what was learned again since is refused and named, the others are undone."""
    run("train", "--ham", mail(home / "a", "ham", 3))
    run("train", "--spam", "a/1.eml")
    foreseen = run("undo", "--dry-run", "1", "2")
    assert foreseen.out.splitlines()[-1] == "would undo 1 lesson; nothing was changed"
    result = run("undo", "1", "2")
    assert (result.code, foreseen.code, foreseen.err) == (3, 3, result.err)
    assert result.err == "spamnb: cannot undo 2: the message was learned again since; undo that first\n"
    assert result.out.startswith("undid 1: learned ham")
    assert run("undo", "4", "2").code == 0
    assert json.loads(run("status", "--json").out)["learned"] == {"ham": 1, "spam": 0}
    assert "already undone" in run("undo", "4").err
    assert run("undo", "999").code == 64


def test_undo_of_moves(home: Path, run: Run) -> None:
    """A moved message returns to its folder with the flags it has now, and is neither judged nor moved again."""
    root = maildir(home / "Maildir", Junk=[])
    roles = {"INBOX": Role.INBOX, "Junk": Role.SPAM}
    config = home / ".config/spamnb/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(render([Mailbox(path=root, roles=roles)]) + "\nlearning:\n  dwell_seconds: 0.1\n")
    for kind in ("ham", "spam"):
        run("train", f"--{kind}", mail(home / kind, kind, 25))
    run("run", "--once")
    (root / "new" / "1700000000.M1P1.host").write_bytes(message("spam", 700))
    assert run("run", "--once").code == 0
    moved = root / ".Junk" / "new" / "1700000000.M1P1.host"
    assert moved.exists()
    seen = root / ".Junk" / "cur" / "1700000000.M1P1.host:2,S"
    os.rename(moved, seen)
    (action,) = [one for one in map(json.loads, run("history", "--json").out.splitlines()) if one["kind"] == "moved"]
    assert (action["source"], action["destination"], action["verdict"]) == ("INBOX", "Junk", "spam")
    os.rename(seen, root / "cur" / seen.name)
    for options in ([], ["--dry-run"]):
        left = run("undo", action["id"], *options)
        assert f"cannot undo {action['id']}: the message is no longer in Junk, so it stays" in left.out
        assert (left.code, "undid" in left.out, "would undo 1" in left.out) == (0, False, False)
    os.rename(root / "cur" / seen.name, seen)
    assert "moved INBOX → Junk" in run("undo", action["id"]).out
    assert (root / "cur" / "1700000000.M1P1.host:2,S").exists()
    assert run("run", "--once").code == 0
    assert (root / "cur" / "1700000000.M1P1.host:2,S").exists()
    assert json.loads(run("status", "--json").out)["learned"] == {"ham": 25, "spam": 25}
    gone = run("undo", action["id"])
    assert (gone.code, gone.err) == (3, f"spamnb: cannot undo {action['id']}: it is already undone\n")


def test_undo_of_what_is_forgotten(taught: Path, run: Run) -> None:
    """`undo` says that retention has forgotten an action; `history` and `verify` go on without it."""
    with Ledger(str(ledger_file(taught))) as ledger:
        inbox = ledger.locations.folder(ledger.locations.mailbox("/mail")[0], "INBOX")
        newest = next(ledger.journal.newest(1)).id
        for name in ("one", "two"):
            known = ledger.messages.ensure(name.encode(), name)
            ledger.locations.put(inbox, name, known.id, "appeared", b"", "", 1.0)
            ledger.journal.judged(known.id, (inbox, name), "ham", 0.1, "ham", 1.0, how=How.MAILDIR)
        ledger.locations.gone(inbox, ["one"], 2.0)
        ledger.tallies.keep()
        assert sum(ledger.retention.forget(3.0, 3.0)) == 3
    result = run("undo", newest + 1)
    assert (result.code, result.out) == (64, "")
    assert f"action {newest + 1} is forgotten" in result.err
    assert "there is no action" in run("undo", newest + 3).err
    ids = [json.loads(line)["id"] for line in run("history", "--json", "--limit", 3).out.splitlines()]
    assert ids == [newest + 2, newest, newest - 1]
    assert run("verify").code == 0
