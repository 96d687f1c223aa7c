"""`status`, `history`, `undo`, `verify`, `pause`, `resume`."""

import contextlib
import json
import os
import sqlite3
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from spamnb.cli.output import clock
from spamnb.cli.sample_mail import message
from spamnb.cli.times import moment as _moment
from spamnb.config import Mailbox, Role, render
from spamnb.errors import UsageError
from spamnb.ledger.ledger import Ledger
from spamnb.policy import BREAKER_NOTE
from spamnb.service.alone import alone
from tests.cli.conftest import Run, mail, maildir


def ledger_file(home: Path) -> Path:
    """Where the ledger lies when nobody says."""
    return home / ".local/share/spamnb/ledger.sqlite"


def counts(home: Path) -> list[tuple[object, ...]]:
    """The counts of all tokens that were learned, by text."""
    with contextlib.closing(sqlite3.connect(ledger_file(home))) as db:
        rows = db.execute(
            "SELECT text, ham_messages, spam_messages, ham_occurrences, spam_occurrences"
            " FROM token JOIN count ON count.token = token.id"
            " WHERE ham_messages + spam_messages > 0 ORDER BY text"
        )
        return rows.fetchall()


def test_status_says_what_is_missing(home: Path, run: Run) -> None:
    """Before enough was learned, `status` says how much is missing, and that nothing is moved."""
    mail(home / "a", "spam", 3)
    run("train", "--spam", "a")
    result = run("status")
    assert "0 ham, 3 spam" in result.out
    assert "20 more ham messages and 17 more spam messages" in result.out
    found = json.loads(run("status", "--json").out)
    assert found["moves"] == "nothing"
    assert found["learned"] == {"ham": 0, "spam": 3}
    assert found["ledger"] == str(ledger_file(home))


def test_history_lists_the_newest_first(home: Path, run: Run) -> None:
    """`history` lists actions with id, time, what and why, the newest first; with --json as objects."""
    assert run("history").out == "Nothing has been moved or learned yet.\n"
    run("train", "--ham", mail(home / "a", "ham", 3))
    run("untrain", "a/2.eml")
    lines = run("history").out.splitlines()
    assert [int(line.split()[0]) for line in lines] == [4, 3, 2, 1]
    assert "forgot, was ham: forgotten by hand" in lines[0]
    assert "learned ham: trained by hand" in lines[1]
    objects = [json.loads(line) for line in run("history", "--json", "--limit", "2").out.splitlines()]
    assert [(one["id"], one["before"], one["after"]) for one in objects] == [(4, "ham", None), (3, None, "ham")]


def test_undo_of_learning_gives_the_counts_of_before(home: Path, run: Run) -> None:
    """Learnings and corrections are taken back exactly, the newest first."""
    run("train", "--ham", mail(home / "a", "ham", 30))
    before = counts(home)
    start = time.time()
    run("train", "--spam", mail(home / "b", "spam", 30))
    run("train", "--spam", "a")
    run("untrain", "a/1.eml", "b/1.eml")
    result = run("undo", "--yes", "--since", datetime.fromtimestamp(start).isoformat())
    assert (result.code, result.err, len(result.out.splitlines())) == (0, "", 63)
    assert counts(home) == before
    assert run("verify").code == 0
    assert run("undo", "--since", datetime.fromtimestamp(start).isoformat()).out == "There is nothing to undo.\n"


def test_undo_by_id(home: Path, run: Run) -> None:
    """Single actions are undone by id; what was learned again since is refused and named, the others are undone."""
    run("train", "--ham", mail(home / "a", "ham", 3))
    run("train", "--spam", "a/1.eml")
    result = run("undo", "1", "2")
    assert result.code == 3
    assert result.err == "spamnb: cannot undo 2: the message was learned again since; undo that first\n"
    assert result.out.startswith("undid 1: learned ham")
    assert run("undo", "4", "2").code == 0
    assert json.loads(run("status", "--json").out)["learned"] == {"ham": 1, "spam": 0}
    assert "undone already" in run("undo", "4").err
    assert run("undo", "999").code == 64


def test_undo_of_a_bulk_training_is_quick(home: Path, run: Run) -> None:
    """A mistaken bulk training of 300 messages is taken back in seconds, in few transactions."""
    run("train", "--ham", mail(home / "a", "spam", 300))
    start = time.process_time()
    assert run("-q", "undo", "--yes", "--since", "1h").code == 0
    assert time.process_time() - start < 5
    assert counts(home) == []


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
    assert "moved INBOX → Junk" in run("undo", action["id"]).out
    assert (root / "cur" / "1700000000.M1P1.host:2,S").exists()
    assert run("run", "--once").code == 0
    assert (root / "cur" / "1700000000.M1P1.host:2,S").exists()
    assert json.loads(run("status", "--json").out)["learned"] == {"ham": 25, "spam": 25}
    gone = run("undo", action["id"])
    assert (gone.code, gone.err) == (3, f"spamnb: cannot undo {action['id']}: it is undone already\n")


@pytest.mark.parametrize(
    ("text", "before_now"),
    [("90s", 90), ("30m", 1800), ("2h", 7200), ("3D", 259_200), (" 1w ", 604_800)],
)
def test_spans(text: str, before_now: float) -> None:
    """A time may be a span before now."""
    assert _moment(text, 10_000_000.0) == 10_000_000.0 - before_now


def test_dates() -> None:
    """A time may be a date, a date with a time, today, or yesterday; all in local time."""
    now = datetime(2026, 3, 5, 15, 30)
    midnight = datetime(2026, 3, 5)
    assert _moment("today", now.timestamp()) == midnight.timestamp()
    assert _moment("Yesterday", now.timestamp()) == (midnight - timedelta(days=1)).timestamp()
    assert _moment("2026-01-31", now.timestamp()) == datetime(2026, 1, 31).timestamp()
    assert _moment("2026-01-31 12:00", now.timestamp()) == datetime(2026, 1, 31, 12).timestamp()


@pytest.mark.parametrize("text", ["", "soon", "1y", "-1h", "2026-13-01", "0001-01-01", "9" * 40 + "h", "١h"])
def test_no_times(text: str) -> None:
    """What is no time is refused."""
    with pytest.raises(UsageError, match="is no time"):
        _moment(text, 10_000_000.0)


def test_verify_finds_a_wrong_count(home: Path, run: Run) -> None:
    """`verify` proves that the counts are the sum of what was learned, and finds one that is not."""
    run("train", "--ham", mail(home / "a", "ham", 3))
    assert "3 ham and 0 spam messages" in run("verify").out
    with contextlib.closing(sqlite3.connect(ledger_file(home))) as db, db:
        db.execute("UPDATE count SET ham_messages = ham_messages + 1 WHERE token = 1")
    result = run("verify")
    assert result.code == 3
    assert "token 1" in result.err
    assert "1 fault in the ledger" in result.err


@pytest.fixture
def configured(home: Path) -> Path:
    """A Maildir with its configuration; the ledger is not made yet."""
    root = maildir(home / "Maildir", Junk=[])
    config = home / ".config/spamnb/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(render([Mailbox(path=root, roles={"INBOX": Role.INBOX, "Junk": Role.SPAM})]))
    return home


def test_status_without_a_configuration(home: Path, run: Run) -> None:
    """Without a configuration `status` says `spamnb init`, ends with 78, and makes nothing."""
    result = run("status")
    assert (result.code, result.out) == (78, "")
    assert "Run: spamnb init" in result.err
    result = run("status", "--json")
    assert (result.code, json.loads(result.out)["config"]) == (78, None)
    assert list(home.iterdir()) == []
    run("train", "--ham", mail(home / "a", "ham", 1))
    result = run("status")
    assert (result.code, "1 ham, 0 spam" in result.out, "Run: spamnb init" in result.err) == (78, True, True)


def test_status_makes_no_ledger(configured: Path, run: Run) -> None:
    """`status` of a filter that never ran says that it knows nothing, and makes no ledger."""
    result = run("status")
    assert result.code == 0
    assert "0 ham, 0 spam" in result.out
    assert "not watched yet" in result.out
    assert not ledger_file(configured).parent.exists()
    found = json.loads(run("status", "--json").out)
    assert (found["running"], found["running_since"], found["moves"]) == (False, None, "nothing")


@pytest.mark.parametrize("command", ["status", "score", "explain", "history"])
def test_reading_leaves_the_ledger_as_it_is(configured: Path, run: Run, command: str) -> None:
    """`status`, `score`, `explain` and `history` write nothing to a ledger, and leave no file beside it."""
    run("train", "--ham", mail(configured / "a", "ham", 3))
    before = ledger_file(configured).read_bytes(), sorted(os.listdir(ledger_file(configured).parent))
    run(command, *([] if command in ("status", "history") else ["a/0.eml"]))
    assert (ledger_file(configured).read_bytes(), sorted(os.listdir(ledger_file(configured).parent))) == before


@pytest.mark.parametrize("command", [("score", "x"), ("explain", "x")])
def test_reading_beside_copies_alone_is_an_error(configured: Path, run: Run, command: tuple[str, ...]) -> None:
    """Where the ledger is gone and copies of it are there, nothing is judged as if nothing had been learned."""
    run("train", "--ham", mail(configured / "a", "ham", 3))
    (configured / "x").write_bytes(message("ham", 1))
    copies = ledger_file(configured).parent / "copies"
    copies.mkdir()
    ledger_file(configured).rename(copies / "ledger-2026-01-01.sqlite")
    result = run(*command)
    assert (result.code, "spamnb restore" in result.err) == (3, True)


def test_status_says_since_when_the_service_runs(configured: Path, run: Run) -> None:
    """`status` says whether the service runs, and since when."""
    assert "not running" in run("status").out
    with alone(str(ledger_file(configured))):
        at = os.stat(f"{ledger_file(configured)}.lock").st_mtime
        assert f"running since {clock(at)}" in run("status").out
        found = json.loads(run("status", "--json").out)
        assert (found["running"], found["running_since"]) == (True, at)
    assert "not running" in run("status").out


def test_status_says_what_the_disk_holds(configured: Path, run: Run) -> None:
    """`status` says how much of the disk the ledger, its log and its copies take."""
    run("train", "--ham", mail(configured / "a", "ham", 3))
    copies = ledger_file(configured).parent / "copies"
    copies.mkdir()
    (copies / "ledger-2026-01-01.sqlite").write_bytes(b"x" * 5000)
    with Ledger(str(ledger_file(configured))) as ledger:
        ledger.set_note("a", "b")
        found = json.loads(run("status", "--json").out)["bytes"]
        assert found["log"] == os.path.getsize(f"{ledger_file(configured)}-wal") > 0
    assert (found["ledger"], found["copies"]) == (ledger_file(configured).stat().st_size, 5000)
    assert "its copies 5 KB" in run("status").out


def test_a_tripped_breaker_is_said_first(configured: Path, run: Run) -> None:
    """While the breaker holds moving back, `status` and `doctor` end with 1 and say so before all else."""
    run("train", "--ham", mail(configured / "a", "ham", 1))
    assert run("status").code == 0
    with Ledger(str(ledger_file(configured))) as ledger:
        ledger.set_note(BREAKER_NOTE, str(time.time()))
    status = run("status")
    assert status.code == 1
    assert status.out.startswith("Nothing is moved since ")
    assert "too much mail looked like spam" in status.out.splitlines()[0]
    assert json.loads(run("status", "--json").out)["moves"] == "nothing"
    doctor = run("doctor")
    assert doctor.code == 1
    assert doctor.out.splitlines()[0].split()[:2] == ["fault", "moving"]
    run("resume")
    assert run("status").code == 0


def test_resume(home: Path, run: Run) -> None:
    """`resume` lets the filter move mail again; `status` says so before and after."""
    assert run("resume").out == "Moving was not stopped.\n"
    with Ledger(str(ledger_file(home))) as ledger:
        ledger.set_note(BREAKER_NOTE, str(time.time()))
    assert "spamnb resume" in run("status").out
    assert run("resume").out == "Spam is moved again.\n"
    assert "too much mail looked like spam" not in run("status").out


def test_undo_of_what_is_forgotten(taught: Path, run: Run) -> None:
    """Of an action that retention has forgotten `undo` says so, `history` goes on without it, and `verify` is clean."""
    with Ledger(str(ledger_file(taught))) as ledger:
        inbox = ledger.files.folder(ledger.files.mailbox("/mail")[0], "INBOX")
        newest = next(ledger.journal.newest(1)).id
        for name in ("one", "two"):
            known = ledger.messages.ensure(name.encode(), name, 1.0)
            ledger.files.put(inbox, name, known.id, "appeared", b"", "", 1.0)
            ledger.journal.judged(known.id, (inbox, name), "ham", 0.1, "ham", 1.0)
        ledger.files.gone(inbox, ["one"], 2.0)
        assert sum(ledger.retention.forget(3.0, 3.0)) == 3
    result = run("undo", newest + 1)
    assert (result.code, result.out) == (64, "")
    assert f"action {newest + 1} is forgotten" in result.err
    assert "there is no action" in run("undo", newest + 3).err
    ids = [json.loads(line)["id"] for line in run("history", "--json", "--limit", 3).out.splitlines()]
    assert ids == [newest + 2, newest, newest - 1]
    assert run("verify").code == 0


def test_pause(configured: Path, run: Run) -> None:
    """`pause` stops moving for a span, or until `resume`; `status` says until when, and ends with 0."""
    result = run("pause", "1h")
    assert (result.code, result.out.startswith("Nothing is moved until 20")) == (0, True)
    status = run("status")
    assert (status.code, "paused by hand" in status.out.splitlines()[0]) == (0, True)
    found = json.loads(run("status", "--json").out)
    assert found["paused"] is True
    assert 3500 < found["paused_until"] - time.time() <= 3600
    run("pause")
    assert "until `spamnb resume`" in run("status").out
    found = json.loads(run("status", "--json").out)
    assert (found["paused"], found["paused_until"], found["stopped_at"]) == (True, None, None)
    assert run("resume").out == "Spam is moved again.\n"
    assert json.loads(run("status", "--json").out)["paused"] is False
