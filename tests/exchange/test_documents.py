"""The blocks of docs/exchange.md, with a real cluster as the server; and the command that they use."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spamnb.checkup.checkup import checkup
from spamnb.checkup.finding import FAULT, OK, WARNING
from spamnb.cli.common.sample_mail import message
from spamnb.exchange.connecting import connected
from spamnb.ledger.ledger import Ledger
from tests.documents import ROOT, block
from tests.exchange import cluster
from tests.exchange.learned import by_the_ledger
from tests.patience import PATIENCE, until
from tests.service.conftest import Site
from tests.setup.test_systemd_units import needs_systemd

_DOCUMENT = "docs/exchange.md"


class Host:
    """A host with a Maildir, a service and a ledger; its commands are typed in a shell."""

    def __init__(self, directory: Path, postgres: cluster.Cluster, database: str, name: str) -> None:
        self.site = Site(directory)
        self.name = name
        self._postgres = postgres
        self.configure(database)
        programs = directory / "bin"
        programs.mkdir()
        program = programs / "spamnb"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m spamnb --config {self.site.config} "$@"\n')
        program.chmod(0o755)
        self._environ = os.environ | {
            "PATH": f"{programs}:{postgres.programs}:{os.environ['PATH']}",
            "PGHOST": str(postgres.directory),
            "PGUSER": "postgres",
            "PYTHONPATH": str(ROOT),
        }

    def configure(self, database: str) -> None:
        """Write the configuration."""
        name = f"host: {self.name}, user: anna@example.org, seconds: 1"
        self.site.configure(f"exchange: {{database: '{database}', {name}}}")

    def shell(self, script: str, code: int = 0) -> str:
        """Run a script, and return its output."""
        done = subprocess.run(
            ["sh", "-e", "-c", script], env=self._environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def block(self, name: str) -> str:
        """Run a block of the document."""
        return self.shell(block(_DOCUMENT, name))


@pytest.fixture
def hosts(tmp_path: Path, postgres: cluster.Cluster) -> list[Host]:
    """Two hosts that share the database of the document."""
    database = f"host={postgres.directory} dbname=spamnb user=spamnb"
    made = [Host(tmp_path / name, postgres, database, name) for name in ("mx1", "mx2")]
    made[0].shell("dropdb --if-exists spamnb; psql -c 'DROP ROLE IF EXISTS spamnb'")
    made[0].block("database")
    made[0].site.teach()
    return made


def comparable(text: str) -> str:
    """Output without what differs from run to run."""
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d+", "N", text)


def test_set_up(hosts: list[Host]) -> None:
    """After the commands of the document two hosts share lessons: the second knows all that the first has learned."""
    first, second = hosts
    said = first.block("first")
    assert "the log has its tables now, and is of version 1" in said
    assert "sent 50 lessons, took over 0 of other hosts" in said
    assert comparable(block(_DOCUMENT, "status").strip()) in comparable(said)
    assert "took over 50 of other hosts" in second.shell("spamnb exchange")
    ledgers = [Ledger(str(host.site.ledger)) for host in hosts]
    assert by_the_ledger(ledgers[0]) == by_the_ledger(ledgers[1])
    for ledger in ledgers:
        ledger.close()
    assert "the log had its tables, and is of version 1" in second.shell("spamnb exchange --upgrade")


def test_status_doctor_and_metrics(hosts: list[Host]) -> None:
    """`status`, `doctor` and the metrics say how many lessons wait to be sent, or that all is sent."""
    first, _ = hosts
    site = first.site

    def findings() -> list[tuple[str, str]]:
        found = checkup(site.config, {}, whole=False)
        return [(one.state, one.means) for one in found if one.what == "exchange"]

    first.shell("spamnb exchange --upgrade")
    (state, means), *_ = findings()
    assert (state, "has not met the database yet; 50 lessons wait to be sent" in means) == (WARNING, True)
    assert "50 lessons wait to be sent" in first.shell("spamnb status")
    assert "\nspamnb_unsent_lessons 50\n" in first.shell("spamnb status --prometheus")
    first.shell("spamnb exchange")
    own = "only on this host, never sent: the changes of `prune` and `train --again`"
    assert findings() == [(OK, "all is sent, received up to change 50"), (OK, own)]
    assert json.loads(first.shell("spamnb status --json"))["exchange"] == {
        "log": json.loads(first.shell("spamnb exchange --status --json"))["database"]["log"],
        "unsent": 0,
        "waiting_since": None,
        "received": 50,
        "to_receive": 0,
    }
    assert "\nspamnb_unsent_lessons 0\n" in first.shell("spamnb status --prometheus")
    first.shell("spamnb export counts.txt && spamnb import --force counts.txt; rm counts.txt")
    assert findings()[1] == (OK, own.replace("sent: ", "sent: counts of 50 messages that were imported, "))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("importlib.util.find_spec", lambda name: None)
        assert findings()[0][0] == FAULT
    site.configure()
    assert findings() == []
    assert json.loads(first.shell("spamnb status --json"))["exchange"] is None
    assert "spamnb_unsent" not in first.shell("spamnb status --prometheus")


def test_the_command_without_a_database(tmp_path: Path, hosts: list[Host]) -> None:
    """If nothing is shared, the command says what to do; if the database is away, it shows the state of the ledger."""
    first, second = hosts
    first.site.configure()
    for option in ("", "--status", "--upgrade"):
        assert "set exchange.database" in first.shell(f"spamnb exchange {option}", code=64)
    second.configure(f"host={tmp_path} dbname=none")
    said = second.shell("spamnb exchange --status", code=75)
    assert "not there yet" in said
    assert "the database is away" in said
    assert "away" in json.loads(second.shell("spamnb exchange --status --json 2>/dev/null", code=75))["fault"]
    assert "away" in second.shell("spamnb exchange", code=75)


def test_a_mailbox_moves(hosts: list[Host]) -> None:
    """The new host knows the old one's lessons, moves new mail by them, and leaves mail that came with the move."""
    old, new = hosts
    old.block("first")
    assert old.site.once() == 0
    letter, spam = old.site.deliver(message("ham", 900)), old.site.deliver(message("spam", 900))
    assert old.site.once() == 0
    assert old.site.contents("Junk") == [spam]
    old.site.move(letter, "INBOX", "Junk")
    assert old.site.once() == 0
    assert "sent 1 lesson," in old.block("moves")
    shutil.rmtree(new.site.root)
    shutil.copytree(old.site.root, new.site.root)
    assert "took over 51 of other hosts" in new.shell("spamnb exchange")
    new.site.start()
    try:
        other = new.site.deliver(message("spam", 901))
        until(lambda: other in new.site.contents("Junk"), "spam to be moved by what was received")
        assert sorted(new.site.contents("Junk")) == sorted([letter, spam, other])
        assert new.site.contents("INBOX") == []
    finally:
        new.site.end()


def test_a_database_that_is_put_back(hosts: list[Host]) -> None:
    """If an older copy of the database is put back and marked, the hosts send it what it has lost."""
    first, second = hosts
    first.block("first")
    second.shell("spamnb exchange")
    first.shell("pg_dump --clean --file=dump.sql spamnb")
    spam = [second.site.directory / f"{number}.eml" for number in range(3)]
    for number, path in enumerate(spam):
        path.write_bytes(message("spam", 300 + number))
    second.shell(f"spamnb train --spam {' '.join(map(str, spam))} && spamnb exchange")
    first.shell("spamnb exchange && psql -q -d spamnb -f dump.sql >/dev/null; rm dump.sql")
    first.block("put-back")
    assert "sent 53 lessons" in first.shell("spamnb exchange")
    assert "took over 0 of other hosts" in second.shell("spamnb exchange")
    for host in hosts:
        with Ledger(str(host.site.ledger)) as ledger:
            assert ledger.lessons.totals().tolist()[:2] == [25, 28]


def test_a_forgotten_user_leaves_no_word(hosts: list[Host], postgres: cluster.Cluster) -> None:
    """The tables, and the files of each host that asks, keep no word, subject or sender of a forgotten user."""
    first, second = hosts
    word = "xylophonequux"
    letter = message("ham", 400).replace(b"Subject: ", f"Subject: {word} ".encode()) + f"\n{word}\n".encode()
    first.site.deliver(letter, "Archive")
    path = first.site.directory / "letter.eml"
    path.write_bytes(letter)
    first.shell(f"spamnb train --ham {path}")
    first.block("first")
    second.shell("spamnb exchange")
    for host in hosts:
        assert host.site.once() == 0  # which makes the copy of the day
        assert (host.site.directory / "copies").exists()
        assert _found(host.site.directory, word), "the search finds it where it is"
    assert word in first.shell("pg_dump spamnb")
    with connected(f"host={postgres.directory} dbname=spamnb user=spamnb") as log:
        log.forget("anna@example.org", time.time())
    for host in hosts:
        assert "the ledger and its copies are removed" in host.shell("spamnb exchange")
        assert not _found(host.site.directory, word)
        assert not list(host.site.directory.glob("ledger.sqlite"))
    assert word not in first.shell("pg_dump spamnb")
    assert "sent 0 lessons" in first.shell("spamnb exchange")


def _found(directory: Path, word: str) -> list[Path]:
    """Return the files of a ledger and its copies that contain a word."""
    files = [*directory.glob("ledger.sqlite*"), *(directory / "copies").glob("*")]
    found = []
    for file in files:
        content = subprocess.run(["zcat", "--force", str(file)], capture_output=True, check=False).stdout
        if word.encode() in content:
            found.append(file)
    return found


@needs_systemd
def test_the_sandbox_is_opened_for_one_address(tmp_path: Path) -> None:
    """systemd takes each line of the drop-in, and computes an exposure of 1.5 or less."""
    systemctl = tmp_path / "bin" / "systemctl"
    systemctl.parent.mkdir()
    systemctl.write_text("#!/bin/sh\n")
    systemctl.chmod(0o755)
    script = block(_DOCUMENT, "sandbox").replace("/etc/systemd/system", str(tmp_path))
    environ = {**os.environ, "PATH": f"{systemctl.parent}:{os.environ['PATH']}", "LC_ALL": "C", "SYSTEMD_COLORS": "0"}
    subprocess.run(["sh", "-e", "-c", script], env=environ, check=True)
    text = (ROOT / "systemd" / "spamnb@.service").read_text()
    unit = tmp_path / "spamnb@.service"
    unit.write_text(re.sub(r"^(Exec\w+)=\S+", rf"\1={shutil.which('true')}", text, flags=re.MULTILINE))

    def analyzed(*arguments: str) -> str:
        command = ["systemd-analyze", *arguments, str(unit)]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    assert analyzed("verify", "--man=no") == ""
    said = analyzed("security", "--offline=true", "--threshold=15", "--no-pager")
    assert "IPAddressDeny=  " in said.replace("✗ ", "")
    assert f"{block_exposure()} OK" in said


def block_exposure() -> str:
    """Return the document's words about the exposure."""
    found = re.search(r"says ([0-9.]+) of 10 with it", (ROOT / _DOCUMENT).read_text())
    assert found is not None
    return found[1]
