"""A fresh Debian of each release, booted, in which spamnb is installed as a person does it."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.packaging import built
from tests.systemd import tree
from tests.systemd.machine import Machine, booted
from tests.systemd.unit import Unit

# What `apt install` would fetch with the package, and the programs that the tests use; nothing of spamnb.
_NAMES = ("bs4", "jinja2", "lxml", "numpy", "rich", "waitress", "watchdog", "yaml")
LIBRARIES = tuple(f"python3-{name}" for name in _NAMES)
_PROGRAMS = ("man-db", "bash-completion", "zsh", "fish", "pipx")


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Debian package; skips with the reason if it cannot be built."""
    if reason := built.why_not():
        pytest.skip(reason)
    return built.debian_package(tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="session")
def sdist_and_wheel(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it."""
    if reason := built.why_not():
        pytest.skip(reason)
    return built.sdist_and_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module", params=tree.RELEASES)
def fresh(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A running system of a release, with the users anna and ben, each with a Maildir to be."""
    with release(request.param) as system:
        yield system


def release(name: str) -> AbstractContextManager[Machine]:
    """A system of that release, which is removed afterwards."""
    return booted(lambda: tree.debian(name, (*LIBRARIES, *_PROGRAMS)))


def put(machine: Machine, file: Path) -> str:
    """Copy a file into the system; its path there."""
    inside = machine.path("/srv") / file.name
    inside.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, inside)
    inside.chmod(0o644)
    return f"/srv/{file.name}"


def start_manager(machine: Machine, user: str) -> None:
    """Start a user's own service manager, as a login does; it stays after the last one."""
    machine.run("install", "-D", "/dev/null", f"/var/lib/systemd/linger/{user}")
    machine.run("systemctl", "start", f"user@{machine.uid(user)}.service")


def spam_comes_during(work: Callable[[], object], units: Mapping[str, Unit]) -> dict[str, list[bytes]]:
    """Deliver spam to each unit's Maildir, three times a second, while something is done; what was delivered."""
    sent: dict[str, list[bytes]] = {name: [] for name in units}
    thread = threading.Thread(target=work)
    thread.start()
    try:
        while thread.is_alive():
            for name, unit in units.items():
                sent[name].append(unit.deliver("spam"))
            time.sleep(0.3)
    finally:
        thread.join()
    assert all(sent.values()), "no spam came meanwhile"
    return sent


def check_moved_once(unit: Unit, sent: list[bytes]) -> None:
    """Wait until all of that spam is moved; it is in Junk once."""
    for message in sent:
        unit.wait_moved(message)
    contents = [path.read_bytes() for path in unit.files(".Junk")]
    assert all(contents.count(message) == 1 for message in sent)
