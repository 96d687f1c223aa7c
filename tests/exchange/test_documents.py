"""The blocks of docs/exchange.md, with a real cluster as the server; and the command that they use."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from spamnb.checkup.checkup import checkup
from spamnb.checkup.finding import FAULT, OK, WARNING
from spamnb.cli.common.sample_mail import message
from spamnb.cli.main import main
from spamnb.exchange.checks import CHECKS
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

    def shell(self, script: str) -> str:
        """Run a script, and return its output."""
        command = ["sh", "-e", "-c", script]
        done = subprocess.run(command, env=self._environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def spamnb(self, line: str, code: int = 0) -> str:
        """Type a command, and return its output; errors come after it."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            assert main(["--config", str(self.site.config), *line.split()]) == code, out.getvalue() + err.getvalue()
        return out.getvalue() + err.getvalue()

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
    assert "the log has its tables now, and is of version 2" in said
    assert "sent 50 lessons, took over 0 of other hosts" in said
    assert comparable(block(_DOCUMENT, "status").strip()) in comparable(said)
    assert "took over 50 of other hosts" in second.spamnb("exchange")
    ledgers = [Ledger(str(host.site.ledger)) for host in hosts]
    assert by_the_ledger(ledgers[0]) == by_the_ledger(ledgers[1])
    for ledger in ledgers:
        ledger.close()
    assert "the log had its tables, and is of version 2" in second.spamnb("exchange --upgrade")


def test_status_doctor_and_metrics(hosts: list[Host]) -> None:
    """`status`, `doctor` and the metrics say how many lessons wait to be sent, or that all is sent."""
    first, _ = hosts
    site = first.site

    def findings() -> list[tuple[str, str]]:
        found = checkup(site.config, {}, whole=False, parts=(CHECKS,))
        return [(one.state, one.means) for one in found if one.what == "exchange"]

    first.spamnb("exchange --upgrade")
    (state, means), *_ = findings()
    assert (state, "has not met the database yet; 50 lessons wait to be sent" in means) == (WARNING, True)
    assert "50 lessons wait to be sent" in first.spamnb("status")
    assert "\nspamnb_unsent_lessons 50\n" in first.spamnb("status --prometheus")
    first.spamnb("exchange")
    own = "only on this host, never sent: the changes of `prune` and `train --again`"
    assert findings() == [(OK, "all is sent, received up to change 50"), (OK, own)]
    assert json.loads(first.spamnb("status --json"))["exchange"] == {
        "log": json.loads(first.spamnb("exchange --status --json"))["database"]["log"],
        "unsent": 0,
        "waiting_since": None,
        "received": 50,
        "to_receive": 0,
    }
    assert "\nspamnb_unsent_lessons 0\n" in first.spamnb("status --prometheus")
    counts = first.site.directory / "counts.txt"
    first.spamnb(f"export {counts}")
    first.spamnb(f"import --force {counts}")
    assert findings()[1] == (OK, own.replace("sent: ", "sent: counts of 50 messages that were imported, "))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("importlib.util.find_spec", lambda name: None)
        assert findings()[0][0] == FAULT
    site.configure()
    assert findings() == []
    assert json.loads(first.spamnb("status --json"))["exchange"] is None
    assert "spamnb_unsent" not in first.spamnb("status --prometheus")


def test_the_command_without_a_database(tmp_path: Path, hosts: list[Host]) -> None:
    """If nothing is shared, the command says what to do; if the database is away, it shows the state of the ledger."""
    first, second = hosts
    first.site.configure()
    for option in ("", "--status", "--upgrade"):
        assert "set exchange.database" in first.spamnb(f"exchange {option}", code=64)
    second.configure(f"host={tmp_path} dbname=none")
    said = second.spamnb("exchange --status", code=75)
    assert "not there yet" in said
    assert "the database is away" in said
    assert '"fault": "the database is away' in second.spamnb("exchange --status --json", code=75)
    assert "away" in second.spamnb("exchange", code=75)


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
    assert "took over 51 of other hosts" in new.spamnb("exchange")
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
    second.spamnb("exchange")
    first.shell("pg_dump --clean --file=dump.sql spamnb")
    for number in range(3):
        (spam := second.site.directory / f"{number}.eml").write_bytes(message("spam", 300 + number))
        second.spamnb(f"train --spam {spam}")
    second.spamnb("exchange")
    first.spamnb("exchange")
    first.shell("psql -q -d spamnb -f dump.sql >/dev/null; rm dump.sql")
    first.block("put-back")
    assert "sent 53 lessons" in first.spamnb("exchange")
    assert "took over 0 of other hosts" in second.spamnb("exchange")
    for host in hosts:
        with Ledger(str(host.site.ledger)) as ledger:
            assert ledger.lessons.totals().tolist()[:2] == [25, 28]


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
