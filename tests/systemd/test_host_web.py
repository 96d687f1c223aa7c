"""The pages of all users of a mail host, on a socket that systemd opens, set up as docs/mail-host.md says."""

from collections.abc import Iterator
from functools import partial

import pytest

from tests.documents import block
from tests.patience import until
from tests.systemd.asking import ask
from tests.systemd.conftest import as_root
from tests.systemd.machine import Machine
from tests.systemd.virtual_users import VirtualUsers

_SOCKET = "/run/spamnb-web-host/host.sock"
_PAGES = "spamnb-web-host"
_ANNA, _CARLA = "anna@example.org", "carla@mail.example.net"
_ask = partial(ask, where=_SOCKET, user="www-data", Host="mail.example")


@pytest.fixture(scope="module", autouse=True)
def pages(host: VirtualUsers) -> Iterator[None]:
    """The socket of the pages of the host whose mail is recorded."""
    as_root(host.machine, block("docs/mail-host.md", "host-web"))
    for name in (_ANNA, _CARLA):
        host.wait_recorded(name)
    yield
    host.machine.run("systemctl", "disable", "--now", f"{_PAGES}.socket", f"{_PAGES}.service", check=False)


def whose(machine: Machine, name: str) -> str:
    """The history of a user, as the proxy gets it."""
    status, _, text = _ask(machine, path="/history", **{"X-Remote-User": name})
    assert status == 200, text
    return text


def test_each_user_has_their_own_pages(host: VirtualUsers) -> None:
    """The field names the user whose mail the pages show; without it, or with an unknown name: 403."""
    machine = host.machine
    letter = host.deliver(_ANNA)
    sender = next(line.removeprefix(b"From: ") for line in letter.splitlines() if line.startswith(b"From: ")).decode()
    until(lambda: sender in whose(machine, _ANNA), "the mail of anna to be judged")
    assert sender not in whose(machine, _CARLA)
    for forged in ({}, {"X-Remote-User": ""}, {"X-Remote-User": "nobody@example.org"}, {"X-Remote-User": "../anna"}):
        assert _ask(machine, path="/history", **forged)[0] == 403, forged
    assert ask(machine, _SOCKET, "/", "www-data", Host="evil.example", **{"X-Remote-User": _ANNA})[0] == 421


def test_who_may_connect(host: VirtualUsers) -> None:
    """The proxy's group and the owner of the mail can connect, and no other user of the machine."""
    machine = host.machine
    assert machine.run("stat", "--format=%U %G %a", _SOCKET).stdout == "vmail www-data 660\n"
    assert "Permission" in ask(machine, _SOCKET, "/", "ben", Host="mail.example")[2]


def test_what_a_page_changes(host: VirtualUsers) -> None:
    """In the sandbox a message is learned for its user, as the owner of the mail, to whom all that is left belongs."""
    machine = host.machine
    host.moves(_CARLA)
    number = whose(machine, _CARLA).split('href="m/')[1].split('"')[0].partition("?")[0]
    field = {"X-Remote-User": _CARLA}
    status, headers, text = _ask(machine, path=f"/m/{number}/teach", form="label=ham", **field)
    assert (status, "did=" in headers.get("Location", "")) == (303, True), text
    after = f"/m/{number}?did={headers['Location'].split('did=')[1]}"
    assert "Learned as ham" in _ask(machine, path=after, **field)[2]
    assert host.show(_PAGES, "User") == "vmail"
    assert host.not_of_vmail() == ""


def test_the_sandbox(host: VirtualUsers) -> None:
    """The running unit's exposure is 1.0 or less of 10, it has no network, and systemd finds nothing against it."""
    machine = host.machine
    whose(machine, _ANNA)
    said = machine.run("systemd-analyze", "security", "--threshold=10", "--no-pager", _PAGES, check=False)
    assert said.returncode == 0, said.stdout
    own, of_all = (machine.run("readlink", f"/proc/{pid}/ns/net").stdout for pid in (host.show(_PAGES, "MainPID"), "1"))
    assert own != of_all
    for unit in (f"{_PAGES}.service", f"{_PAGES}.socket"):
        verified = machine.run("systemd-analyze", "verify", "--man=no", unit, check=False)
        assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")


def test_pages_that_were_killed(host: VirtualUsers) -> None:
    """The next request starts the pages again."""
    machine = host.machine
    whose(machine, _ANNA)
    machine.run("systemctl", "kill", "--signal=KILL", f"{_PAGES}.service")
    field = {"X-Remote-User": _ANNA}
    until(lambda: _ask(machine, path="/", **field)[0] == 200, "the pages to be started again")
