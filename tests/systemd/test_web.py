"""The pages on sockets that systemd opens, in the sandbox of their units, set up as the documents say."""

from collections.abc import Iterator

import pytest

from tests.documents import block
from tests.patience import until
from tests.systemd.asking import ask, log_in
from tests.systemd.conftest import as_a_login, as_root
from tests.systemd.machine import Machine
from tests.systemd.unit import Unit


@pytest.fixture(autouse=True)
def without_pages(machine: Machine) -> Iterator[None]:
    """The units are left as the other tests expect them."""
    yield
    as_root(machine, "systemctl disable --now spamnb-web@anna.socket spamnb-web@anna 2>/dev/null || true")
    as_a_login(machine, "ben", "systemctl --user disable --now spamnb-web.socket spamnb-web 2>/dev/null || true")


def has_no_network(machine: Machine, pid: str) -> bool:
    """Whether a process is in a network name space of its own."""
    own, of_all = (machine.run("readlink", f"/proc/{one}/ns/net").stdout for one in (pid, "1"))
    return own != of_all


def test_user_pages(user_unit: Unit) -> None:
    """Ben's pages are served on the port that his manager holds, after a login, by a process without a network."""
    user_unit.restore()
    machine = user_unit.machine
    as_a_login(machine, "ben", block("docs/web.md", "user-web"))
    user_unit.wait_moved(user_unit.deliver("spam"))
    where = "127.0.0.1:7726"
    assert ask(machine, where, "/", "anna")[0] == 404
    base, cookie = log_in(user_unit, where, "/home/ben/.local/lib/spamnb/bin/python")
    assert ask(machine, where, f"{base}/", "anna")[0] == 401
    status, _, text = ask(machine, where, f"{base}/", "ben", Cookie=cookie)
    assert (status, "moved" in text, "is not running" in text) == (200, True, False)
    show = ["systemctl", "--user", "show", "--property=MainPID", "--value", "spamnb-web"]
    pid = machine.run(*show, user="ben").stdout.strip()
    assert has_no_network(machine, pid)
    number = text.split('action="m/')[1].split("/")[0]
    status, headers, _ = ask(machine, where, f"{base}/m/{number}/teach", "ben", "label=ham", Cookie=cookie)
    assert status == 303, "in the sandbox a message can be moved and learned"
    after = f"{base}/m/{number}?did={headers['Location'].split('did=')[1]}"
    assert "Learned as ham, moved to INBOX" in ask(machine, where, after, "ben", Cookie=cookie)[2]


def test_system_pages(system_unit: Unit) -> None:
    """Anna's pages are served to her and to the group of the proxy, over a Unix socket, without a network."""
    system_unit.restore()
    machine, where = system_unit.machine, "/run/spamnb-web/anna.sock"
    as_root(machine, block("docs/mail-host.md", "system-web"))
    system_unit.wait_moved(system_unit.deliver("spam"))
    status, _, text = ask(machine, where, "/", "www-data", Host="mail.example")
    assert (status, "is not running" in text) == (200, False)
    assert ask(machine, where, "/", "anna", Host="mail.example")[0] == 200
    assert ask(machine, where, "/", "anna", Host="evil.example")[0] == 421
    assert "Permission" in ask(machine, where, "/", "ben", Host="mail.example")[2]
    pid = machine.run("systemctl", "show", "--property=MainPID", "--value", "spamnb-web@anna").stdout.strip()
    assert has_no_network(machine, pid)
    number = text.split('action="m/')[1].split("/")[0]
    status, headers, _ = ask(machine, where, f"/m/{number}/teach", "www-data", "label=ham", Host="mail.example")
    assert (status, "did=" in headers.get("Location", "")) == (303, True)
    machine.run("systemctl", "kill", "--signal=KILL", "spamnb-web@anna")
    until(lambda: ask(machine, where, "/", "anna", Host="mail.example")[0] == 200, "the pages to be started again")
