"""The spamd protocol on sockets that systemd opens for the units, set up as docs/mail-server.md says."""

import re
from collections.abc import Iterator

import pytest

from spamnb.cli.common.sample_mail import message
from tests.documents import block
from tests.patience import until
from tests.systemd.conftest import as_a_login, as_root
from tests.systemd.machine import Machine
from tests.systemd.unit import Unit

_ASK = """
import socket, sys
message = open(sys.argv[2], "rb").read()
with socket.socket(socket.AF_UNIX) as client:
    client.connect(sys.argv[1])
    client.sendall(b"CHECK SPAMC/1.5\\r\\nContent-length: %d\\r\\n\\r\\n" % len(message) + message)
    print(b"".join(iter(lambda: client.recv(4096), b"")).decode())
"""
_TOLD = re.compile(r"Spam: True ; \d\.\d / 5\.0")


def ask(machine: Machine, path: str, user: str | None) -> str:
    """Return the service's answer to a user (None: root) about spam, or why the socket cannot be opened."""
    machine.write("/srv/spam.eml", message("spam", 700).decode())
    machine.write("/srv/ask.py", _ASK)
    done = machine.run("python3", "/srv/ask.py", path, "/srv/spam.eml", user=user, check=False)
    return done.stdout + done.stderr


@pytest.fixture(autouse=True)
def without_sockets(machine: Machine) -> Iterator[None]:
    """The units are left as the other tests expect them."""
    yield
    as_root(
        machine,
        "systemctl disable --now spamnb@anna.socket 2>/dev/null || true;"
        " rm -rf /etc/systemd/system/spamnb@anna.socket.d /etc/systemd/system/spamnb@anna.service.d/port.conf;"
        " systemctl daemon-reload",
    )
    as_a_login(machine, "ben", "systemctl --user disable --now spamnb.socket 2>/dev/null || true")


def test_user_socket(user_unit: Unit) -> None:
    """Ben's service answers him and root, which its user name space does not show, and no other user."""
    user_unit.restore()
    machine = user_unit.machine
    as_a_login(machine, "ben", block("docs/mail-server.md", "user-socket"))
    until(lambda: user_unit.show("ActiveState") == "active", "the service to be active")
    path = f"/run/user/{machine.uid('ben')}/spamnb/spamd.sock"
    assert _TOLD.search(ask(machine, path, "ben"))
    assert _TOLD.search(ask(machine, path, None))
    assert "Permission" in ask(machine, path, "anna")
    user_unit.wait_moved(user_unit.deliver("spam"))
    assert user_unit.show("PrivateNetwork") == "yes"


def test_system_socket(system_unit: Unit) -> None:
    """Anna's service answers her and root; another user once the socket is opened, and the configuration names it."""
    system_unit.restore()
    machine, path = system_unit.machine, "/run/spamnb/anna.sock"
    as_root(machine, block("docs/mail-server.md", "system-socket"))
    assert _TOLD.search(ask(machine, path, "anna"))
    assert _TOLD.search(ask(machine, path, None))
    assert "Permission" in ask(machine, path, "mail")
    as_root(machine, block("docs/mail-server.md", "system-peers"))
    assert _TOLD.search(ask(machine, path, "mail"))
    assert "Permission" in ask(machine, path, "ben")
    system_unit.configure()
    system_unit.systemctl("reload")
    until(lambda: "may not ask here" in ask(machine, path, "mail"), "the user to be refused by the configuration")
    system_unit.wait_moved(system_unit.deliver("spam"))
    assert system_unit.show("PrivateNetwork") == "yes"


def test_port_for_a_service_without_a_network(system_unit: Unit) -> None:
    """A port that systemd opens is served by the unit, which has no network; TELL teaches nothing there."""
    system_unit.restore()
    machine = system_unit.machine
    as_root(machine, block("docs/mail-server.md", "system-socket"))
    machine.write("/etc/systemd/system/spamnb@anna.socket.d/port.conf", "[Socket]\nListenStream=127.0.0.1:783\n")
    system_unit.drop_in("port", "[Service]\nIPAddressAllow=localhost\n")
    as_root(
        machine, "systemctl daemon-reload; systemctl stop spamnb@anna; systemctl restart spamnb@anna.socket spamnb@anna"
    )
    script = (
        "import socket, sys; c = socket.create_connection(('127.0.0.1', 783), 20);"
        " c.sendall(sys.argv[1].encode().decode('unicode_escape').encode()); print(c.recv(1000))"
    )
    told = machine.run("python3", "-c", script, r"PING SPAMC/1.5\r\n", user="ben").stdout
    assert "PONG" in told
    tell = r"TELL SPAMC/1.5\r\nMessage-class: spam\r\nSet: local\r\nContent-length: 1\r\n\r\nx"
    assert "TELL is not allowed here" in machine.run("python3", "-c", script, tell, user="ben").stdout
