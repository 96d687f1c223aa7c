"""One booted system for all tests of this directory, with spamnb in it as the documents say."""

import shutil
from collections.abc import Iterator

import pytest

from tests.documents import block
from tests.patience import PATIENCE
from tests.systemd import tree
from tests.systemd.machine import Machine, booted
from tests.systemd.unit import Unit
from tests.systemd.virtual_users import SERVICE, VirtualUsers


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests here carry the marker; those that remove a service come last."""
    for item in items:
        if item.path.parent == tree.PROJECT / "tests" / "systemd":
            item.add_marker(pytest.mark.real_system)
    items.sort(key=lambda item: "removal" in item.name)


def as_a_login(machine: Machine, user: str, commands: str) -> str:
    """Run commands in a login session of a user, in the directory of the sources; what they print."""
    login = ["systemd-run", "--quiet", "--pipe", "--wait", f"--uid={user}", "--property=PAMName=login"]
    login += [f"--property=WorkingDirectory=/home/{user}/spamnb"]
    login += [f"--setenv=PATH=/home/{user}/.local/bin:/usr/local/bin:/usr/bin:/bin"]
    return machine.run(*login, "bash", "-euc", commands, timeout=5 * PATIENCE).stdout


def as_root(machine: Machine, commands: str) -> str:
    """Run commands as root, in the directory of the sources; what they print."""
    return machine.run("bash", "-euc", commands, cwd="/home/anna/spamnb", timeout=5 * PATIENCE).stdout


# The packages, from a directory. pip compiles nothing (a falsy value of this option says so): half of its time goes to
# modules that nobody imports.
_PIP = """\
[global]
no-index = true
find-links = /srv/wheels
[install]
no-compile = false
"""


@pytest.fixture(scope="session")
def machine() -> Iterator[Machine]:
    """A running Debian with the users anna and ben, who have the sources, and with the packages that pip installs."""
    with booted(tree.debian) as system:
        try:
            shutil.copytree(tree.wheels(), system.path("/srv/wheels"))
        except tree.CannotSetUpError as fault:
            pytest.skip(f"no packages to install: {fault}")
        for user in ("anna", "ben"):
            tree.sources(system.path(f"/home/{user}/spamnb"))
            system.run("chown", "-R", f"{user}:{user}", f"/home/{user}/spamnb")
        system.write("/etc/pip.conf", _PIP)
        yield system


@pytest.fixture(scope="session")
def system_unit(machine: Machine) -> Unit:
    """spamnb@anna, set up as docs/mail-host.md says."""
    unit = Unit(machine, "anna", "spamnb@anna.service", None)
    unit.make_maildir()
    unit.hasten()
    as_root(machine, block("docs/mail-host.md", "system-unit"))
    # The services cannot keep what they compile, and anna cannot either.
    machine.run("/opt/spamnb/bin/python", "-m", "compileall", "-q", "-j0", "-x", "/tests/|/pip/", "/opt/spamnb/lib")
    unit.prepare()
    return unit


@pytest.fixture(scope="session")
def user_unit(machine: Machine) -> Unit:
    """The unit of ben's own service manager, set up by docs/install.md in a session that has ended."""
    unit = Unit(machine, "ben", "spamnb.service", "ben")
    unit.make_maildir()
    unit.hasten()
    for name in ("install", "user-unit"):
        as_a_login(machine, "ben", block("docs/install.md", name))
    unit.prepare()
    return unit


@pytest.fixture(scope="session")
def virtual_users(machine: Machine, system_unit: Unit) -> VirtualUsers:
    """A mail host, set up by docs/mail-host.md while anna, who has a home directory, has a service of her own."""
    made = VirtualUsers(machine)
    made.printed = as_root(machine, block("docs/mail-host.md", "host-setup"))
    return made


@pytest.fixture(scope="module")
def host(virtual_users: VirtualUsers) -> Iterator[VirtualUsers]:
    """The mail host with its service, which the tests of other units do not meet."""
    machine = virtual_users.machine
    machine.run("systemctl", "enable", "--now", SERVICE)
    yield virtual_users
    shares = [SERVICE, "spamnb-host@1-of-2", "spamnb-host@2-of-2"]
    machine.run("systemctl", "disable", "--now", *shares, check=False)
    machine.run("systemctl", "stop", "spamnb-host*", check=False)


@pytest.fixture(params=["system", "user"])
def unit(request: pytest.FixtureRequest) -> Unit:
    """Each of the two units, running and healthy at the beginning."""
    made: Unit = request.getfixturevalue(f"{request.param}_unit")
    made.restore()
    return made
