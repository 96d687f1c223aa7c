"""`users`: which users of a mail host there are and how their filters do; forgetting them; what was skipped."""

import json
import os
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from spamnb.base.errors import LedgerBusyError
from spamnb.base.wording import clock
from spamnb.host import forgetting, letting_go
from spamnb.host.forgetting import forget
from spamnb.host.host import Host
from spamnb.host.register import AccountRow, FilterState, drop, files_in, path_of, read
from spamnb.host.shares import Share
from spamnb.ledger.copies.copy import roll
from spamnb.ledger.file.locks import only_service
from spamnb.ledger.ledger import Ledger
from tests.cli.conftest import At, Run, mail
from tests.consoles import SHOWN, steady
from tests.documents import block
from tests.dying import Fuse, kill, killed
from tests.host.conftest import Site
from tests.lessons import learn, sample_lessons
from tests.registers import put

ANNA = "anna@a.example"
OF_ANNA = AccountRow(
    ANNA,
    "/m/anna",
    FilterState.MOVING,
    5,
    ham=20,
    spam=30,
    judged={"ham": 5, "spam": 2},
    judged_at=1e9,
    bytes=3_000_000,
)
USERS = [
    OF_ANNA,
    AccountRow("bob@a.example", "/m/bob", FilterState.STOPPED),
    AccountRow("carl@a.example", "/m/carl", FilterState.BROKEN, fault="its ledger is damaged", fault_since=1e9),
    AccountRow("dora@a.example", "/m/dora", FilterState.LEARNING, corrected=1),
    AccountRow("eve@a.example", "/m/eve", FilterState.MOVING, corrected=3, polled=True),
    AccountRow("finn@a.example", "/m/finn", FilterState.GONE, gone_at=1e9),
    AccountRow("gesa@a.example", "/m/gesa", FilterState.MOVING, fault="own settings: line 3\x1b[2J"),
]


@pytest.fixture
def host(home: Path) -> Host:
    """A host with mail of Anna, whose register knows more users."""
    site = Site(home)
    site.maildir("a.example/anna/Maildir")
    made = site.host()
    put(made, *USERS)
    return made


@pytest.fixture
def on_host(host: Host, run: Run) -> Run:
    """Run `users` over it."""
    return lambda *arguments, **named: run("--config", host.path, "users", *arguments, **named)


def ledger_of(host: Host, name: str = ANNA) -> Path:
    """The ledger of a user, which has learned something and was copied."""
    path = host.ledgers.fill(name)
    with Ledger(str(path)) as ledger:
        learn(ledger, sample_lessons(2))
    roll(str(path), 1e9, 7)
    roll(str(path), 2e9, 7)
    return path


def test_the_worst_come_first(on_host: Run) -> None:
    """First come users with a broken or stopped filter, then those with a fault, then the most corrected."""
    lines = on_host().out.splitlines()
    assert [line.split("@")[0] for line in lines[1:]] == ["carl", "bob", "gesa", "eve", "dora", "anna", "finn"]
    assert lines[0].split() == ["user", "state", "learned", "judged", "corrected", "last", "mail", "size", "fault"]
    (anna,) = (line for line in lines if ANNA in line)
    assert anna.split() == [ANNA, "moving", "50", "7", "0", *clock(1e9).split(), "3.0", "MB"]
    assert f"its ledger is damaged (since {clock(1e9)})" in lines[1]
    assert f"its mailbox has been away since {clock(1e9)}" in lines[-1]
    assert "own settings: line 3\\x1b[2J" in lines[3]
    assert lines[4].endswith("its folders are polled: they cannot all be watched")
    assert "polled" not in lines[5]


def test_own_settings_that_nobody_has_read(host: Host, on_host: Run) -> None:
    """Faulty own settings are told before any mail comes, in front of those who only have corrections."""
    own = Path(str(host.own_file(ANNA)))
    own.parent.mkdir()
    own.write_text("scoring: {alpha: x}\nspamd: {}\n")
    lines = on_host().out.splitlines()
    assert [line.split("@")[0] for line in lines[1:]] == ["carl", "bob", "anna", "gesa", "eve", "dora", "finn"]
    assert "own settings are not in force: " in lines[3]
    told = json.loads(on_host("--json", ANNA).out)["fault"]
    assert told.startswith(f"own settings are not in force: {own}:1: scoring.alpha: 'x' is not allowed")
    assert told.endswith("; and 1 more fault")
    put(host, replace(OF_ANNA, looked_after_at=os.stat(own).st_ctime + 1))  # the service has read it since
    assert "own settings are not" not in on_host().out


def test_twenty_unless_all_are_wanted(host: Host, on_host: Run) -> None:
    """Twenty are shown, with how many there are and how to see all; `--all` shows them, and names show just those."""
    put(host, *(replace(OF_ANNA, name=f"user{number}@a.example") for number in range(50)))
    lines = on_host().out.splitlines()
    assert len(lines) == 23
    assert (
        lines[-1] == f"These are 20 of 57 users. To list all: spamnb --config {shlex.quote(str(host.path))} users --all"
    )
    assert len(on_host("--json").out.splitlines()) == 20
    assert len(on_host("--all").out.splitlines()) == 58
    named = on_host("user7@a.example", "finn@a.example").out.splitlines()
    assert [line.split("@")[0] for line in named[1:]] == ["user7", "finn"]


def test_json(on_host: Run) -> None:
    """For a program there is one object a line."""
    found = [json.loads(line) for line in on_host("--json", ANNA, "carl@a.example").out.splitlines()]
    assert found[0] == {
        "name": ANNA, "mailbox": "/m/anna", "state": "moving", "learned": {"ham": 20, "spam": 30},
        "judged": {"ham": 5, "spam": 2}, "corrected": 0, "judged_at": 1e9, "bytes": 3_000_000, "fault": "",
        "fault_since": None, "gone_at": None, "looked_after_at": None, "polled": False,
    }  # fmt: skip
    assert (found[1]["state"], found[1]["fault"]) == ("broken", "its ledger is damaged")
    (eve,) = (json.loads(line) for line in on_host("--json", "eve@a.example").out.splitlines())
    assert eve["polled"] is True


def test_names_that_are_asked_for(host: Host, on_host: Run, run: Run) -> None:
    """Names are read as everywhere; an unknown user is reported, and a text that is not a name is wrong usage."""
    assert ANNA in on_host("Anna+lists@a.example").out
    assert run("--config", host.path, "--user", ANNA, "users").out == on_host(ANNA).out
    strange = on_host("zoe@a.example")
    assert (strange.code, "has no user zoe@a.example" in strange.err) == (64, True)
    drop(host.directory, ANNA)
    result = on_host(ANNA)
    assert (result.code, f"{ANNA} is not known yet" in result.err) == (3, True)


def test_before_a_service_has_begun(home: Path, run: Run) -> None:
    """If there is no register yet, the command says so, and makes none."""
    host = Site(home).host()
    result = run("--config", host.path, "users")
    assert (result.code, result.out.startswith("No user is known yet")) == (0, True)
    assert not host.directory.exists()


def test_of_one_person(taught: Path, run: Run) -> None:
    """The configuration of one person has no users to list or forget."""
    (taught / ".config/spamnb").mkdir(parents=True)
    (taught / ".config/spamnb/config.yaml").write_text(
        f"mailboxes:\n  - path: {taught}/Maildir\n    roles: {{INBOX: inbox, Junk: spam}}\n"
    )
    for arguments in ([], ["forget", "anna"], ["retry", "anna"]):
        result = run("users", *arguments)
        assert (result.code, "is the configuration of one person" in result.err) == (64, True)


def test_forget(host: Host, on_host: Run) -> None:
    """A forgotten user has no ledger, copy, lock, directory or row left; mail and other users stay."""
    path = ledger_of(host)
    for end in (".damaged-2026-01-01T00-00-00Z", ".damaged-2026-01-01T00-00-00Z-wal", ".replaced-x", ".restored.part"):
        Path(f"{path}{end}").write_text("x")
    (path.parent / "copies" / ".x.part").write_text("x")
    with only_service(str(path)):
        pass  # which leaves its lock
    other = ledger_of(host, "bob@a.example")
    result = on_host("forget", ANNA, "--yes")
    assert (result.code, result.out, result.err) == (0, f"forgot {ANNA}\n", "")
    assert not path.parent.exists()
    assert other.exists()
    assert (host.mail.fill(ANNA) / "cur").is_dir()
    assert [row.name for row in read(host.directory)] == [row.name for row in USERS[1:]]
    assert on_host("forget", ANNA, "--yes").code == 0, "also where nothing is left"


def test_forget_who_has_no_mail(host: Host, on_host: Run) -> None:
    """A user without mail can be forgotten, whether the register has a row or only a ledger is left."""
    path = ledger_of(host, "finn@a.example")
    assert on_host("forget", "finn@a.example", "--yes").code == 0
    assert not path.parent.exists()
    path = ledger_of(host, "gone@a.example")
    path_of(host.directory, Share()).unlink()
    assert on_host("forget", "gone@a.example", "--yes").code == 0
    assert not path.parent.exists()
    assert files_in(host.directory) == [], "nothing is made"
    result = on_host("forget", "gone@a.example", "--yes")
    assert (result.code, "has no user" in result.err) == (64, True)


def test_forget_leaves_other_files(host: Host, on_host: Run) -> None:
    """Files that do not belong to a ledger stay, and the command says so."""
    path = ledger_of(host)
    kept = path.parent / "ledger.sqlite.mine"
    kept.write_text("x")
    result = on_host("forget", ANNA, "--yes")
    assert result.out == f"forgot {ANNA}; other files stay in {path.parent}\n"
    assert [*path.parent.iterdir()] == [kept]


def test_forget_while_somebody_is_at_work(host: Host, on_host: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that a service does not let go of, or a command uses, stays; the exit code says: try again."""
    monkeypatch.setattr(letting_go, "_ANSWER_SECONDS", 0.05)
    path, other = ledger_of(host), ledger_of(host, "bob@a.example")
    with only_service(str(path)):
        result = on_host("forget", ANNA, "bob@a.example", "--yes")
    assert (result.code, result.out) == (75, "forgot bob@a.example\n")
    assert f"{ANNA} is not forgotten: the service is at work" in result.err
    assert "does not let go of it: try again in two minutes" in result.err
    assert not [*host.requests.iterdir()]
    assert not other.parent.exists()
    with Ledger(str(path)), pytest.raises(LedgerBusyError), pytest.MonkeyPatch.context() as patch:
        patch.setattr(forgetting, "_BUSY_SECONDS", 0.05)
        forget(host, ANNA)
    with Ledger(str(path), only_read=True) as ledger:
        assert ledger.lessons.totals()[0] == 2
    assert len([*(path.parent / "copies").iterdir()]) == 2


def test_forget_asks(host: Host, on_host: Run, at_terminal: At) -> None:
    """At a terminal it asks, and elsewhere it needs `--yes`; it asks once per user, by the full name."""
    path = ledger_of(host)
    result = on_host("forget", ANNA, "bob@a.example")
    assert (result.code, f"2 users, with all copies: {ANNA}, bob@a.example; do it with --yes" in result.err) == (
        64,
        True,
    )
    assert (on_host("forget").code, path.exists()) == (64, True)
    command = ("--config", host.path, "users", "forget", ANNA.upper(), ANNA)
    code, shown, _ = at_terminal(*command, answers=["n\n"])
    assert (code, "1 user, with all copies" in shown, "Nobody was forgotten." in shown) == (0, True, True)
    assert path.exists()
    code, shown, _ = at_terminal(*command, answers=["y\n"])
    assert (code, f"forgot {ANNA}" in shown, path.exists()) == (0, True, False)


@pytest.mark.thorough
def test_forget_killed(host: Host, on_host: Run) -> None:
    """Killed before any file is deleted, it can be done again; no copy is left that would take the ledger's place."""
    at = 0
    while True:
        at += 1
        path = ledger_of(host)
        fuse = Fuse(at, kill)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "unlink", fuse.through(os.unlink))
            patch.setattr(os, "rmdir", fuse.through(os.rmdir))
            if not killed(lambda: forget(host, ANNA)):
                break
        if not path.exists():
            assert not [*path.parent.glob("copies/*")]
        assert on_host("forget", ANNA, "--yes").code == 0
        assert not path.parent.exists()
    assert at > 6


def test_retry(host: Host, on_host: Run, run: Run) -> None:
    """Skipped mail is read again: of the named users, or of the one person of the configuration."""
    path = ledger_of(host)
    with Ledger(str(path)) as ledger:
        ledger.state.skipped = ("1.M1P1.a", "2\udcff")
    assert on_host("retry", ANNA).out == f"{ANNA}: 2 messages to read again\n"
    with Ledger(str(path)) as ledger:
        assert ledger.state.skipped == ()
        ledger.state.skipped = ("1.M1P1.a",)
    assert run("--config", host.path, "--user", ANNA, "users", "retry").out == "1 message to read again\n"
    assert on_host("retry", ANNA).out == f"{ANNA}: no message was skipped\n"
    assert on_host("retry").code == 64
    assert on_host("retry", "bob@a.example").code == 64


def test_retry_of_one_person(home: Path, run: Run) -> None:
    """One's own filter takes no name, and no ledger is made for it."""
    assert run("users", "retry").out == "no message was skipped\n"
    assert list(home.iterdir()) == []
    run("train", "--ham", mail(home / "a", "ham", 1))
    with Ledger(str(home / ".local/share/spamnb/ledger.sqlite")) as ledger:
        ledger.state.skipped = ("a",)
    assert run("users", "retry").out == "1 message to read again\n"


def test_the_document(home: Path, run: Run) -> None:
    """The commands in docs/commands.md print what that document shows."""
    site, at = Site(home), 1_795_330_782.0
    host = site.host()
    config = home / ".config/spamnb/config.yaml"
    config.parent.mkdir(parents=True)
    config.symlink_to(host.path)
    users = [
        replace(OF_ANNA, name="anna@example.org", ham=212, spam=304, judged={"ham": 1204, "unsure": 31, "spam": 402},
                corrected=2, judged_at=at, bytes=4_100_000),
        AccountRow("bob@example.org", "/m", FilterState.LEARNING, ham=7, spam=3, judged={"ham": 40, "unsure": 12},
                   judged_at=at - 86_400, bytes=310_000),
        AccountRow("carl@example.org", "/m", FilterState.BROKEN, fault="there is no inbox", fault_since=at - 3600,
                   ham=90, spam=45, judged={"ham": 10}, judged_at=at - 7200, bytes=1_200_000),
    ]  # fmt: skip
    put(host, *users)
    shown = re.findall(r"^\$ spamnb (.*)\n((?:[^$].*\n|\n)*)", block("docs/commands.md", "users"), re.MULTILINE)
    assert len(shown) == 2
    for command, output in shown:
        assert steady(run(*command.split()).out.replace(str(home), SHOWN)) == steady(output), command
