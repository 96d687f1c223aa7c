"""What the two units forbid, tried from inside by a program in place of the service."""

import json
import os

import pytest

from tests.documents import block
from tests.systemd.conftest import as_root
from tests.systemd.machine import Machine
from tests.systemd.probe import THINGS
from tests.systemd.unit import Unit

_ALLOWED = {"write to the Maildir", "write to the state", "open a socket of AF_UNIX"}
_PRIVATE = {"leave a file in /tmp", "leave a file in /var/tmp"}
# A user's manager has no root: what it cannot hide is readable as before, and may not be written.
_BEYOND_A_USERS_MANAGER = {
    "read another's home",
    "see the processes of others",
    "see the machine's memory",
    "use capabilities later",  # there are none, and none can be gained
}
_OPEN = ("/etc/open", "/etc/spamnb/anna", "/var/lib/open", "/srv/open", "/home/open")
_PROBE = "/srv/probe.py"


@pytest.fixture(scope="module")
def place(machine: Machine, system_unit: Unit) -> Machine:
    """Directories that only a sandbox can keep closed, and the program that tries them; the units are set up before."""
    for path in _OPEN:
        machine.path(path).mkdir(parents=True, exist_ok=True)
        machine.path(path).chmod(0o777)
    for user in ("anna", "ben"):
        machine.write(f"/home/{user}/.ssh/id", "", user)
    with open(os.path.join(os.path.dirname(__file__), "probe.py")) as file:
        machine.write(_PROBE, file.read())
    return machine


def _command(unit: Unit) -> list[str]:
    network = unit.machine.run("readlink", "/proc/1/ns/net").stdout.strip()
    return ["/usr/bin/python3", _PROBE, unit.state, os.path.dirname(unit.config), network]


def _answers(unit: Unit, more: str = "") -> dict[str, bool]:
    """Return what a process can do inside the sandbox of the unit, of which only the program is changed.

    It answers into a file that systemd opens: of a process that has ended, the journal no longer finds a user's unit.
    """
    path = f"{unit.home}/answers-of-{unit.name}"
    command = " ".join(_command(unit))
    lines = "Type=oneshot", "Restart=no", "ExecStart=", f"ExecStart={command}", f"StandardOutput=truncate:{path}"
    unit.drop_in("probe", "\n".join(("[Service]", *lines, "StandardError=journal", more)))
    unit.systemctl("daemon-reload")
    unit.systemctl("restart")
    answers: dict[str, bool] = json.loads(unit.machine.path(path).read_text())
    return answers


def _without(unit: Unit) -> dict[str, bool]:
    """Return what the same user can do without a sandbox."""
    inside = ["systemd-run", "--quiet", "--pipe", "--wait", "--collect", "--property=LimitCORE=infinity"]
    who = [f"--uid={unit.user}", f"--setenv=HOME={unit.home}"]
    found: dict[str, bool] = json.loads(unit.machine.run(*inside, *who, *_command(unit)).stdout)
    return found


def test_blocks_what_the_service_needs_not(unit: Unit, place: Machine) -> None:
    """The service can write to its Maildir and its state, and has no other power of its user."""
    free = _without(unit)
    place.run("rm", "/tmp/left-by-probe", "/var/tmp/left-by-probe")
    closed = _answers(unit)
    assert set(free) == set(closed) == set(THINGS)
    not_free = {name for name, done in free.items() if not done} - {"change control groups"}
    assert not not_free, "these prove nothing, since they cannot be done without the sandbox either"
    done = {name for name, done in closed.items() if done}
    assert done == _ALLOWED | _PRIVATE | (_BEYOND_A_USERS_MANAGER if unit.name == "spamnb.service" else set())
    for path in ("/tmp", "/var/tmp"):
        assert place.run("find", path, "-maxdepth", "1", "-name", "left-by-probe").stdout == "", "it was private"


def test_a_users_control_groups_are_closed(user_unit: Unit, place: Machine) -> None:
    """The user's unit cannot change control groups, which any other process of the user can."""
    user_unit.restore()
    manager = ["systemd-run", "--user", "--quiet", "--pipe", "--wait", "--collect", *_command(user_unit)]
    assert json.loads(place.run(*manager, user=user_unit.user).stdout)["change control groups"]
    assert not _answers(user_unit)["change control groups"]


def test_without_user_name_spaces(user_unit: Unit, place: Machine) -> None:
    """With the two lines of its comment, the user's unit runs without user name spaces."""
    user_unit.restore()
    closed = _answers(user_unit, "PrivateUsers=no\nPrivateDevices=no\n")
    assert not closed["open a socket of AF_INET"]
    assert not closed["gain privileges"]
    assert closed["write to the Maildir"]


def test_the_exchange_opens_the_network_and_nothing_else(system_unit: Unit, place: Machine) -> None:
    """With the drop-in of docs/exchange.md the system's unit can use the network, and gains nothing else."""
    system_unit.restore()
    closed = _answers(system_unit)
    as_root(place, block("docs/exchange.md", "sandbox"))
    try:
        opened = _answers(system_unit)
    finally:
        place.run("rm", "-r", "/etc/systemd/system/spamnb@.service.d/exchange.conf")
    network = {"be in the machine's network", "open a socket of AF_INET", "open a socket of AF_INET6"}
    assert {name for name in THINGS if opened[name] != closed[name]} == network


def test_exposure_live(system_unit: Unit) -> None:
    """The running system unit's exposure, as systemd counts it, is 1.5 or less of 10."""
    system_unit.restore()
    result = system_unit.machine.run(
        "systemd-analyze", "security", "--threshold=15", "--no-pager", system_unit.name, check=False
    )
    assert "Overall exposure level" in result.stdout, result.stderr
    assert result.returncode == 0, result.stdout


def test_verify_installed(unit: Unit) -> None:
    """systemd has no complaint about the installed unit."""
    which, user = (("--user",), unit.user) if unit.name == "spamnb.service" else ((), None)
    result = unit.machine.run("systemd-analyze", *which, "verify", "--man=no", unit.name, user=user, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
