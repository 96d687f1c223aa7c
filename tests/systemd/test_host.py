"""A mail host with Dovecot's virtual users in two domains, set up as docs/mail-host.md says: one service for all."""

import re

import pytest

from spamnb.cli.common.sample_mail import message
from tests.documents import block
from tests.patience import until
from tests.systemd.conftest import as_root
from tests.systemd.machine import Machine
from tests.systemd.unit import Unit
from tests.systemd.virtual_users import LESSONS, SERVICE, STATE, TAUGHT, VirtualUsers, maildir

_DOCUMENT = "docs/mail-host.md"
_SOCKET = "/run/spamnb/spamd.sock"
_HALVES = [f"spamnb-host@{share}" for share in ("1-of-2", "2-of-2")]
_PING = """
import socket
with socket.socket(socket.AF_UNIX) as client:
    client.connect("/run/spamnb/spamd.sock")
    client.sendall(b"PING SPAMC/1.5\\r\\n\\r\\n")
    print(client.recv(1000).decode())
"""


@pytest.fixture(scope="module", autouse=True)
def with_ping(machine: Machine) -> None:
    """A program that asks the services whether they are there."""
    machine.write("/srv/ping.py", _PING)


def test_set_up(host: VirtualUsers) -> None:
    """Dovecot's configuration is found and proven, all users are learned from, and the service runs as their owner."""
    printed = host.printed
    assert "The mail is in /var/vmail/{domain}/{local}/Maildir (maildir++), and belongs to vmail." in printed
    assert "Found 3 users." in printed
    assert f"learned {3 * LESSONS} messages as ham and {3 * LESSONS} as spam, of 3 users" in printed
    assert (host.show(SERVICE, "ActiveState"), host.show(SERVICE, "User")) == ("active", "vmail")
    assert host.show(SERVICE, "StatusText").startswith("watching 3 users")
    assert host.not_of_vmail() == ""


def test_mail_of_all_users(host: VirtualUsers, system_unit: Unit) -> None:
    """Mail that Dovecot delivers by LMTP is judged for each user of both domains; anna's own service works too."""
    system_unit.restore()
    for name in TAUGHT:
        host.moves(name)
    system_unit.wait_moved(system_unit.deliver("spam"))
    for state in (system_unit.state, "/run/spamnb"):
        assert host.machine.run("find", state, "-maxdepth", "1", "-user", "vmail", "!", "-type", "s").stdout == ""


def test_the_sandbox(host: VirtualUsers) -> None:
    """The running unit's exposure is 1.0 or less of 10, and systemd finds nothing to say against it as installed."""
    machine = host.machine
    said = machine.run("systemd-analyze", "security", "--threshold=10", "--no-pager", SERVICE, check=False)
    assert said.returncode == 0, said.stdout
    for unit in (f"{SERVICE}.service", "spamnb-host.socket"):
        verified = machine.run("systemd-analyze", "verify", "--man=no", unit, check=False)
        assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")


def test_root_leaves_nothing_of_its_own(host: VirtualUsers) -> None:
    """Root's commands, for a user or for all, leave no file of root's, and the service goes on."""
    machine = host.machine
    machine.write("/srv/lesson.eml", message("spam", 900).decode())
    as_user = "spamnb --user ben@example.org"
    for command in (
        f"{as_user} train --spam - </srv/lesson.eml",
        f"{as_user} status",
        f"{as_user} verify",
        f"{as_user} pause 1h",
        f"{as_user} resume",
        f"{as_user} init --learn",
        f"{as_user} backup /tmp/copy-of-ben.gz",
        "spamnb init --host --learn",
        "spamnb users",
        "spamnb status",
    ):
        as_root(machine, command)
        assert host.not_of_vmail() == "", command
    host.moves("ben@example.org")


def test_users_come_and_go(host: VirtualUsers) -> None:
    """A user with a first message has a filter, which can be forgotten; the block removes and forgets a user."""
    name = "dora@example.org"
    first = host.deliver(name)
    until(lambda: f"watching {maildir(name)}" in host.log(), f"{name} to be watched")
    assert host.holds(name, "", first), "mail that a user comes with is never moved"
    host.wait_recorded(name)
    remove, forget = block(_DOCUMENT, "host-remove").splitlines()
    as_root(host.machine, forget)  # while the service works for the user
    host.wait_recorded(name)
    assert host.holds(name, "", first)
    as_root(host.machine, remove)
    until(lambda: host.user(name).get("state") == "gone", f"{name} to be gone")
    as_root(host.machine, forget)
    assert host.user(name) == {}
    assert not host.machine.path(f"{STATE}/example.org/dora/ledger.sqlite").exists()
    host.moves("anna@example.org")


def test_a_user_is_renamed(host: VirtualUsers) -> None:
    """After the block the user's filter knows what it knew, under the new name."""
    as_root(host.machine, block(_DOCUMENT, "host-rename"))
    status = host.machine.run("spamnb", "--user", "benjamin@example.org", "status").stdout
    assert f"{LESSONS + 1} spam" in status or f"{LESSONS + 2} spam" in status, status
    host.wait_recorded("benjamin@example.org")
    host.moves("benjamin@example.org")
    assert host.user("ben@example.org") == {}


def test_mail_software_asks_all_services(host: VirtualUsers) -> None:
    """The socket exists as long as a service does, and belongs to the owner of the mail."""
    machine = host.machine
    assert "PONG" in machine.run("python3", "/srv/ping.py").stdout
    found = machine.run("stat", "--format=%U %a", _SOCKET).stdout
    assert found == "vmail 600\n"
    machine.run("systemctl", "restart", SERVICE)
    assert "PONG" in machine.run("python3", "/srv/ping.py").stdout
    machine.run("systemctl", "stop", SERVICE)
    until(lambda: host.show("spamnb-host.socket", "ActiveState") == "inactive", "the socket to be closed")
    assert machine.run("python3", "/srv/ping.py", check=False).returncode
    assert host.show(SERVICE, "ActiveState") == "inactive", "nobody who asks starts it again"
    machine.run("systemctl", "start", SERVICE)


def test_metrics(host: VirtualUsers) -> None:
    """After the block the service writes its metrics; the other block leaves nothing of it."""
    machine, place = host.machine, "/var/lib/prometheus/node-exporter"
    written = machine.path("/etc/spamnb/config.yaml").read_text()
    with_metrics = written.replace("\nservice:\n", f"\nservice:\n  metrics: {place}/spamnb.prom\n")
    assert with_metrics != written
    machine.write("/etc/spamnb/config.yaml", with_metrics)
    as_root(machine, block("docs/monitoring.md", "metrics-directory").replace("spamnb@", "spamnb-host@"))
    file = machine.path(f"{place}/spamnb.prom")
    until(file.exists, lambda: f"the file of metrics: {host.log()}")
    assert "spamnb_service_running 1\n" in file.read_text()
    moving = f'spamnb_users{{state="moving"}} {len(TAUGHT)}\n'
    until(lambda: moving in file.read_text(), file.read_text)
    as_root(machine, block("docs/monitoring.md", "metrics-removal"))
    machine.write("/etc/spamnb/config.yaml", written)
    machine.run("systemctl", "restart", SERVICE)
    assert not file.exists()
    assert machine.run("getent", "group", "spamnb-metrics", check=False).returncode
    host.moves("anna@example.org")


def test_several_services(host: VirtualUsers) -> None:
    """With two shares each user has one service; one that is killed is back at once, and the other has gone on."""
    machine = host.machine
    as_root(machine, block(_DOCUMENT, "host-shares"))
    assert [host.show(unit, "ActiveState") for unit in _HALVES] == ["active", "active"]

    def watched() -> int:
        """Return how many users both services watch; while one of them starts, its status is different."""
        told = " ".join(host.show(unit, "StatusText") for unit in _HALVES)
        return sum(map(int, re.findall(r"watching (\d+)", told)))

    until(lambda: watched() == len(TAUGHT), "each user to have one service")
    before = [host.show(unit, "MainPID") for unit in _HALVES]
    machine.run("sh", "-c", f"kill -9 {before[0]}")
    for name in ("anna@example.org", "benjamin@example.org", "carla@mail.example.net"):
        host.moves(name)
    until(lambda: host.show(_HALVES[0], "ActiveState") == "active", "the killed service to be back")
    after = [host.show(unit, "MainPID") for unit in _HALVES]
    assert (after[0] != before[0], after[1]) == (True, before[1])
    assert "PONG" in machine.run("python3", "/srv/ping.py").stdout
    machine.run("systemctl", "start", SERVICE, check=False)
    assert host.show(SERVICE, "ActiveState") != "active"
    assert "a different number of shares" in host.log(SERVICE)
    machine.run("systemctl", "stop", SERVICE)
    assert host.not_of_vmail() == ""
