"""One booted system for all tests of this directory, with spamnb in it as the README says."""

import re
import shutil
from collections.abc import Iterator

import pytest

from tests.systemd import tree
from tests.systemd.machine import Machine
from tests.systemd.unit import Unit

_README = tree.PROJECT / "README.md"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests here carry the marker."""
    for item in items:
        if item.path.parent == tree.PROJECT / "tests" / "systemd":
            item.add_marker(pytest.mark.real_system)


def readme_blocks() -> list[str]:
    """The commands of the README's systemd section: for oneself, and for a mail host."""
    section = _README.read_text("utf-8").partition("with systemd\n")[2].partition("\n## ")[0]
    return re.findall(r"^```sh\n(.*?)^```", section, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="session")
def machine() -> Iterator[Machine]:
    """A running Debian with the users anna and ben, each with a Maildir; skips with the reason where there is none."""
    if reason := tree.why_not():
        pytest.skip(reason)
    try:
        archive, wheels = tree.debian(), tree.wheels()
        system = Machine(archive)
    except tree.CannotSetUpError as fault:
        pytest.skip(f"no Debian tree to boot: {fault}")
    try:
        shutil.copytree(wheels, system.path("/srv/wheels"))
        try:
            system.boot()
        except tree.CannotSetUpError as fault:
            pytest.skip(str(fault))
        for user in ("anna", "ben"):
            system.add_user(user)
            tree.sources(system.path(f"/home/{user}/spamnb"))
            system.run("chown", "-R", f"{user}:{user}", f"/home/{user}/spamnb")
        system.write("/etc/pip.conf", "[global]\nno-index = true\nfind-links = /srv/wheels\n")
        yield system
    finally:
        system.end()


@pytest.fixture(scope="session")
def system_unit(machine: Machine) -> Unit:
    """spamnb@anna, set up as the README says."""
    unit = Unit(machine, "anna", "spamnb@anna.service", None)
    unit.make_maildir()
    unit.hasten()
    machine.run("bash", "-euc", readme_blocks()[1], cwd="/home/anna/spamnb", timeout=300)
    unit.prepare()
    return unit


@pytest.fixture(scope="session")
def user_unit(machine: Machine) -> Unit:
    """The unit of ben's own service manager, set up as the README says, in a session that is over by now."""
    unit = Unit(machine, "ben", "spamnb.service", "ben")
    unit.make_maildir()
    unit.hasten()
    login = ["systemd-run", "--quiet", "--pipe", "--wait", "--uid=ben", "--property=PAMName=login"]
    login += ["--property=WorkingDirectory=/home/ben/spamnb", "--setenv=PATH=/usr/local/bin:/usr/bin:/bin"]
    machine.run(*login, "bash", "-euc", readme_blocks()[0], timeout=300)
    unit.prepare()
    return unit


@pytest.fixture(params=["system", "user"])
def unit(request: pytest.FixtureRequest) -> Unit:
    """Each of the two units, running and healthy at the beginning."""
    made: Unit = request.getfixturevalue(f"{request.param}_unit")
    made.restore()
    return made
