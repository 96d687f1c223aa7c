"""The exchange of mail hosts: the waiting lessons of all users, and a user who is forgotten on all hosts."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from spamnb.checkup.checkup import checkup
from spamnb.checkup.finding import OK, WARNING
from spamnb.cli.main import main
from spamnb.exchange.checks import CHECKS
from spamnb.host.host import Host
from spamnb.ledger.copies.copy import roll
from tests.exchange import cluster
from tests.exchange.learned import files_with, letter_with
from tests.host.conftest import Site
from tests.patience import PATIENCE, until

ANNA, BERT = "anna@a.example", "bert@a.example"
WORDS = {ANNA: "xylophonequux", BERT: "marimbaquux"}

Made = Callable[[str, str], Host]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Makes a mail host of that name, with two users, whose lessons are in that database."""

    def make(name: str, database: str) -> Host:
        site = Site(tmp_path / name)
        site.directory.mkdir()
        for user in WORDS:
            local, _, domain = user.partition("@")
            site.maildir(f"{domain}/{local}/Maildir")
        return site.host(f"exchange: {{database: '{database}', host: {name}, seconds: 1}}\n")

    return make


def command(host: Host, *arguments: str, code: int = 0) -> None:
    """Type a command on a host."""
    assert main(["--config", str(host.path), *arguments]) == code


def teach(host: Host, user: str) -> None:
    """Let a user teach a message with a word of its own in text, subject and sender; the ledger is copied then."""
    (letter := host.path.parent / "letter.eml").write_bytes(letter_with(WORDS[user]))
    command(host, "--user", user, "train", "--ham", str(letter))
    letter.unlink()
    roll(str(host.ledger_of(user)), time.time(), 7)


def test_the_tables_are_of_all_users(made: Made, postgres: cluster.Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """The tables are made without naming a user; a round needs the name of one."""
    host = made("mx1", postgres.database())
    command(host, "exchange", "--upgrade")
    assert "the log has its tables now" in capsys.readouterr().out
    command(host, "exchange", code=64)
    assert "--user" in capsys.readouterr().err


def test_a_user_of_mail_hosts_is_forgotten_everywhere(made: Made, database: str, postgres: cluster.Cluster) -> None:
    """`users forget` leaves no word, subject or sender in the tables, nor in any file of a host whose service runs."""
    one, other = made("mx1", database), made("mx2", database)
    for user, word in WORDS.items():
        teach(one, user)
        for host in (one, other):
            command(host, "--user", user, "exchange")
            roll(str(host.ledger_of(user)), time.time(), 7)
            assert len(files_with(host.path.parent, word)) > 1, "the search finds it where it is"
        assert word in postgres.dumped(database)
    with (other.path.parent / "log").open("wb") as log:
        service = subprocess.Popen([sys.executable, "-m", "spamnb", "--config", other.path, "run"], stderr=log)
    try:
        until(lambda: "watching" in (other.path.parent / "log").read_text(), "the service of the other host")
        command(one, "users", "forget", "--yes", ANNA)
        until(lambda: not files_with(other.path.parent, WORDS[ANNA]), "the other host to forget")
    finally:
        service.send_signal(signal.SIGTERM)
        assert service.wait(PATIENCE) == 0
    assert "Traceback" not in (other.path.parent / "log").read_text()
    assert WORDS[ANNA] not in postgres.dumped(database)
    for host in (one, other):
        assert files_with(host.path.parent, WORDS[ANNA]) == []
        assert files_with(host.path.parent, WORDS[BERT])
    assert WORDS[BERT] in postgres.dumped(database)


def test_nobody_is_forgotten_while_the_database_is_away(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    """If the database is away, `users forget` keeps the ledger: the lessons in the log would come back."""
    host = made("mx1", "host=/nowhere dbname=log")
    teach(host, ANNA)
    command(host, "users", "forget", "--yes", ANNA, code=75)
    assert f"{ANNA} is not forgotten: the database is away" in capsys.readouterr().err
    assert host.ledger_of(ANNA).exists()


def test_what_waits_is_known_of_all_users(made: Made, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`status` and `doctor` of a mail host say how many lessons of how many users wait to be sent, and since when."""
    host = made("mx1", database)

    def said() -> tuple[str, dict[str, object], str, str]:
        capsys.readouterr()
        command(host, "status")
        (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("exchange")]
        command(host, "status", "--json")
        (finding,) = [each for each in checkup(host.path, {}, parts=(CHECKS,)) if each.what == "exchange"]
        return line, json.loads(capsys.readouterr().out)["exchange"], finding.state, finding.means

    assert said()[0].endswith("all is sent")
    for user in WORDS:
        teach(host, user)
    line, values, state, means = said()
    assert "2 lessons of 2 users wait to be sent, since " in line
    assert line.endswith("; 2 ledgers new to the log")
    assert (values["lessons"], values["users"], values["strangers"]) == (2, 2, 2)
    assert (state, means) == (WARNING, line.split(maxsplit=1)[1])
    command(host, "--user", ANNA, "exchange")
    assert "1 lesson of 1 user waits to be sent" in said()[0]
    command(host, "--user", BERT, "exchange")
    assert said()[2:] == (OK, "all is sent")
    host.ledger_of(BERT).write_bytes(b"no ledger" * 1000)
    assert said()[2:] == (OK, "all is sent")


def test_users_who_are_behind(made: Made, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`exchange --status` of a mail host is the sum of what waits, and a table of the users who are behind, the longest
    waiting first.
    """
    one, other = made("mx1", database), made("mx2", database)

    def table(host: Host, code: int = 0) -> tuple[str, list[list[str]]]:
        """Return the first line, and the words of each user's line."""
        capsys.readouterr()
        command(host, "exchange", "--status", code=code)
        lines = capsys.readouterr().out.splitlines()
        return " ".join(lines[0].split()), [line.split() for line in lines if "@" in line]

    assert table(one) == ("users 2, 0 behind", [])
    for user in (BERT, ANNA):
        teach(one, user)
    first, rows = table(one)
    assert first == "users 2, 2 behind"
    assert [(row[0], row[1], row[-1]) for row in rows] == [(BERT, "1", "0"), (ANNA, "1", "0")]
    command(one, "--user", ANNA, "exchange")
    assert [row[0] for row in table(one)[1]] == [BERT]
    assert table(other)[1] == [[ANNA, "0", "1"]], "its user has no ledger there yet, and a lesson to receive"
    command(other, "--user", ANNA, "exchange")
    assert table(other)[1] == []
    capsys.readouterr()
    command(one, "exchange", "--status", "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["waiting"]["lessons"], told["fault"]) == (1, "")
    assert told["log"]
    assert [(user["name"], user["unsent"], user["to_receive"]) for user in told["behind"]] == [(BERT, 1, 0)]


def test_a_long_table_is_cut(made: Made, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """If the database is away, the table has what the ledgers know; it says if it does not show all users."""
    monkeypatch.setattr("spamnb.cli.exchange._FEW", 1)
    host = made("mx1", "host=/nowhere dbname=log")
    for user in WORDS:
        teach(host, user)
    command(host, "exchange", "--status", code=75)
    out, err = capsys.readouterr()
    assert "2 lessons of 2 users wait to be sent, since " in out
    assert [line.split()[-1] for line in out.splitlines() if "@" in line] == ["unknown"]
    assert "These are 1 of 2 users. To list all: spamnb --config" in out
    assert "the database is away" in err
    command(host, "exchange", "--status", "--json", code=75)
    assert len(json.loads(capsys.readouterr().out)["behind"]) == 2
