"""`status`, `verify`, `pause` and `resume`."""

import contextlib
import json
import os
import re
import sqlite3
import time
from pathlib import Path

import pytest

from spamnb.acts import training
from spamnb.base.label import How, Label, Role
from spamnb.base.wording import clock
from spamnb.cli.common.sample_mail import message
from spamnb.config import Mailbox
from spamnb.config.writing import render
from spamnb.ledger.file.locks import only_service
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from tests.cli.conftest import Run, ledger_file, mail, maildir
from tests.lessons import wrong_count


def test_status_says_what_is_missing(home: Path, run: Run) -> None:
    """Before enough was learned, `status` says how much is missing, and that nothing is moved."""
    mail(home / "a", "spam", 3)
    run("train", "--spam", "a")
    result = run("status")
    assert "0 ham, 3 spam" in result.out
    assert result.out.startswith("moves mail: no, no mailbox is configured\n")
    found = json.loads(run("status", "--json").out)
    assert (found["moves"], found["moves_mail"], found["needed"]) == ("nothing", "not yet", {"ham": 20, "spam": 2})
    assert found["missing"] == "20 more ham messages and 2 more spam messages to learn"
    assert found["waits_for"] == {
        "cause": "lessons",
        "learned": {"ham": 0, "spam": 3},
        "of": {"ham": 20, "spam": 5},
        "kept": 0,
        "enough_ham_at": None,
        "confirmed": 0,
        "of_confirmed": 5,
        "latest_at": None,
    }
    assert found["learned"] == {"ham": 0, "spam": 3}
    assert found["ledger"] == str(ledger_file(home))


def test_verify_finds_a_wrong_count(home: Path, run: Run) -> None:
    """`verify` proves that the counts are the sum of what was learned, and finds one that is not."""
    run("train", "--ham", mail(home / "a", "ham", 3))
    assert "3 ham and 0 spam messages" in run("verify").out
    with contextlib.closing(sqlite3.connect(ledger_file(home))) as db, db:
        db.execute(wrong_count(1))
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
    """If the ledger is gone but copies are there, judging fails: it would judge as if nothing were learned."""
    run("train", "--ham", mail(configured / "a", "ham", 3))
    (configured / "x").write_bytes(message("ham", 1))
    copies = ledger_file(configured).parent / "copies"
    copies.mkdir()
    ledger_file(configured).rename(copies / "ledger-2026-01-01.sqlite")
    result = run(*command)
    assert (result.code, "spamnb restore" in result.err) == (3, True)


def first_line(run: Run) -> str:
    return run("status").out.splitlines()[0]


def test_whether_mail_moves_is_said_first(configured: Path, run: Run) -> None:
    """`status` begins with whether mail moves; if not, it says in numbers what is missing, and how long that takes."""
    nothing = (
        "moves mail: not yet. By itself, the filter moves nothing until you have kept 20 ham and moved 5 spam to Junk."
    )
    assert first_line(run) == f"{nothing} To learn from the mail in your folders: spamnb init --learn"
    run("train", "--ham", mail(configured / "a", "ham", 20))
    run("train", "--spam", mail(configured / "b", "spam", 2))
    nothing = "moves mail: not yet. By itself, the filter moves nothing until you have moved 3 more spam to Junk"
    learned = "It has learned 20 ham and 2 of 5 spam."
    assert first_line(run) == f"{nothing}. {learned}"
    with Ledger(str(ledger_file(configured))) as ledger:
        for ago in range(1, 15):
            one = ledger.messages.ensure(b"%d" % ago, "made up")
            ledger.messages.judged(one.id, "spam", 0.99, time.time() - 86_400 * ago + 60)
    assert first_line(run) == f"{nothing}; at your 7 a week, about 3 days. {learned}"
    found = json.loads(run("status", "--json").out)
    assert (found["moves_mail"], found["needed"], found["weekly"]) == (
        "not yet",
        {"ham": 0, "spam": 3},
        {"ham": 0, "spam": 7},
    )
    assert f"moves mail: not yet. {found['not_yet']}" == first_line(run)
    run("train", "--spam", mail(configured / "c", "spam", 3, first=50))
    assert first_line(run) == "moves mail: yes, when the service runs"
    with only_service(str(ledger_file(configured))):
        assert first_line(run) == "moves mail: yes"
    found = json.loads(run("status", "--json").out)
    assert (found["moves_mail"], found["not_yet"], found["needed"]) == ("yes", "", {"ham": 0, "spam": 0})


def test_status_counts_the_word_of_the_person(configured: Path, run: Run) -> None:
    """`status` counts what came, and what the person called spam. A verdict counts once the filter may move mail."""

    def judged() -> str:
        return re.sub(" {2,}", "  ", next(line for line in run("status").out.splitlines() if line.startswith("judged")))

    ledger_file(configured).parent.mkdir(parents=True)
    with Ledger(str(ledger_file(configured))) as ledger:
        assert judged() == "judged  nothing yet"
        for number, label in enumerate((Label.SPAM, Label.HAM, None)):
            reading = read(message("spam", number))
            ledger.messages.judged(ledger.messages.ensure(reading.digest, "m").id, "unsure", 0.5, 1.0)
            if label is not None:
                training.learn(ledger, reading, label, "a test", 2.0, how=How.MOVE)
        assert judged() == "judged  3 messages; you called 1 spam"
        ledger.state.begun_with = 20
        assert judged() == "judged  3 unsure", "nobody knows when it began"
        ledger.state.begun_at = 1.0
        assert judged() == "judged  3 messages; you called 1 spam"
        ledger.messages.judged(ledger.messages.ensure(b"1" * 32, "m").id, "ham", 0.0, 2.0)
        assert judged() == "judged  1 ham since moving began"


def test_only_advice_that_helps(configured: Path, run: Run) -> None:
    """`status` and `doctor` advise to learn from the folders only if they hold mail that would be learned."""
    advice = "spamnb init --learn"
    run("run", "--once")
    assert advice not in run("status").out and advice not in run("doctor").out.partition("What to do:")[2]
    (configured / "Maildir/cur/1.old:2,S").write_bytes(message("ham", 1))
    ledger_file(configured).unlink()
    run("run", "--once")
    assert advice in run("status").out and advice in run("doctor").out.partition("What to do:")[2]


def test_status_says_since_when_the_service_runs(configured: Path, run: Run) -> None:
    """`status` says whether the service runs, and since when."""
    assert "not running" in run("status").out
    with only_service(str(ledger_file(configured))):
        at = os.stat(f"{ledger_file(configured)}.lock").st_mtime
        assert f"running since {clock(at)}" in run("status").out
        found = json.loads(run("status", "--json").out)
        assert (found["running"], found["running_since"]) == (True, at)
    assert "not running" in run("status").out


def test_status_says_what_the_disk_holds(configured: Path, run: Run) -> None:
    """`status` says how much of the disk the ledger with its log and the copies take."""
    run("train", "--ham", mail(configured / "a", "ham", 3))
    copies = ledger_file(configured).parent / "copies"
    copies.mkdir()
    (copies / "ledger-2026-01-01.sqlite").write_bytes(b"x" * 5000)
    with Ledger(str(ledger_file(configured))) as ledger:
        ledger.state.restored_at = 1.0
        found = json.loads(run("status", "--json").out)["bytes"]
        assert found["log"] == os.path.getsize(f"{ledger_file(configured)}-wal") > 0
    assert (found["ledger"], found["copies"]) == (ledger_file(configured).stat().st_size, 5000)
    assert "its copies 5 KB" in run("status").out


def test_a_tripped_breaker_is_said_first(configured: Path, run: Run) -> None:
    """While the breaker stops moving, `status` and `doctor` end with 1 and say so first."""
    run("train", "--ham", mail(configured / "a", "ham", 1))
    assert run("status").code == 0
    with Ledger(str(ledger_file(configured))) as ledger:
        ledger.state.stopped_at = time.time()
    status = run("status")
    assert status.code == 1
    assert status.out.startswith("moves mail: stopped since ")
    assert "too much mail looked like spam" in status.out.splitlines()[0]
    found = json.loads(run("status", "--json").out)
    assert (found["moves"], found["moves_mail"]) == ("nothing", "stopped")
    doctor = run("doctor")
    assert doctor.code == 1
    assert doctor.out.splitlines()[0].split()[:2] == ["fault", "moving"]
    run("resume")
    assert run("status").code == 0


def test_resume(home: Path, run: Run) -> None:
    """`resume` lets the filter move mail again; `status` says so before and after."""
    assert run("resume").out == "There is nothing to resume: moving was not stopped.\n"
    with Ledger(str(ledger_file(home))) as ledger:
        ledger.state.stopped_at = time.time()
    assert "spamnb resume" in run("status").out
    assert run("resume").out == "The filter moves spam again.\n"
    assert "too much mail looked like spam" not in run("status").out


def test_pause(configured: Path, run: Run) -> None:
    """`pause` stops moving for a span, or until `resume`; `status` says until when, and ends with 0."""
    result = run("pause", "25h")  # the date is shown, whatever the time of the day is
    until = re.fullmatch(r"The filter moves nothing until (20\d\d-\d\d-\d\d \d\d:\d\d)\. .*\n", result.out)
    assert (result.code, until is not None) == (0, True)
    assert until is not None
    status = run("status")
    assert (status.code, first_line(run)) == (0, f"moves mail: paused until {until[1]}. To go on: spamnb resume")
    found = json.loads(run("status", "--json").out)
    assert (found["paused"], found["moves_mail"]) == (True, "paused")
    assert 25 * 3600 - 100 < found["paused_until"] - time.time() <= 25 * 3600
    run("pause", "1", "week")
    assert 7 * 86_400 - 100 < json.loads(run("status", "--json").out)["paused_until"] - time.time() <= 7 * 86_400
    run("pause")
    assert first_line(run) == "moves mail: paused. To go on: spamnb resume"
    found = json.loads(run("status", "--json").out)
    assert (found["paused"], found["paused_until"], found["stopped_at"]) == (True, None, None)
    assert run("resume").out == "The filter moves spam again.\n"
    assert json.loads(run("status", "--json").out)["paused"] is False


@pytest.mark.parametrize("instead", [None, "an empty directory"])
def test_a_mailbox_that_is_not_there(configured: Path, run: Run, instead: str | None) -> None:
    """If a Maildir is gone or its disk not mounted, `status` names it and the next step, and ends with 1."""
    assert run("status").code == 0
    root = configured / "Maildir"
    root.rename(configured / "away")
    if instead:
        root.mkdir()
    result = run("status")
    assert result.code == 1
    moves, first, step = result.out.splitlines()[:3]
    assert moves == "moves mail: no, the mailbox is not there"
    assert f"{root} is not there" in first
    assert "Mount its disk" in step
    found = run("status", "--json")
    assert (found.code, json.loads(found.out)["mailboxes"][0]["is_there"]) == (1, False)
    assert "\nspamnb_missing_mailboxes 1\n" in run("status", "--prometheus").out
    (configured / "away").rename(root)  # also over the empty directory
    result = run("status")
    assert (result.code, "is not there" in result.out) == (0, False)


def test_metrics(configured: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`status --prometheus` prints metrics, and ends with 0 even if moving has stopped: its output is the answer."""
    with Ledger(str(ledger_file(configured))) as ledger:
        ledger.state.stopped_at = 5.0
    result = run("status", "--prometheus")
    assert (result.code, result.err) == (0, "")
    assert "\nspamnb_breaker_open 1\n" in result.out
    assert result.out == run("status", "--prometheus").out
    monkeypatch.setenv("SPAMNB_INSTANCE", "anna")
    assert '\nspamnb_breaker_open{service="anna"} 1\n' in run("status", "--prometheus").out
    both = run("status", "--prometheus", "--json")
    assert "not allowed with argument" in both.err
