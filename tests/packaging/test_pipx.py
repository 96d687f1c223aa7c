"""The wheel by pipx, and the sdist: each has the contents of a package, in the expected places."""

import logging
import re
import tarfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents import block
from tests.manual.made import files
from tests.packaging import built
from tests.packaging.conftest import check_moved_once, put, release, spam_comes_during, start_manager
from tests.patience import PATIENCE, until
from tests.systemd import tree
from tests.systemd.asking import ask, log_in
from tests.systemd.machine import Machine
from tests.systemd.unit import Unit

pytestmark = [pytest.mark.real_system, pytest.mark.slow]

_log = logging.getLogger(__name__)
_PORT = "127.0.0.1:7726"


def test_the_wheel_holds_all(sdist_and_wheel: tuple[Path, Path]) -> None:
    """The wheel holds units, example, man pages and completion; so does the sdist, and what a distributor needs."""
    sdist, wheel = sdist_and_wheel
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    units = {f"spamnb/systemd/{unit.name}" for unit in (built.PROJECT / "systemd").iterdir()}
    assert units | {"spamnb/config/example.yaml", "spamnb/py.typed"} <= names
    data = {name.partition(".data/data/")[2] for name in names if ".data/data/" in name}
    assert data == set(files())
    with tarfile.open(sdist) as archive:
        members = {name.partition("/")[2] for name in archive.getnames()}
    for wanted in ("debian/control", "systemd/spamnb.service", "config.example.yaml", "VERSION", "docs/commands.md"):
        assert wanted in members
    assert {f".ci/manual/made/{name}" for name in files()} <= members


def test_the_same_bytes_each_time(sdist_and_wheel: tuple[Path, Path], tmp_path: Path) -> None:
    """Built again from the same sources, in another directory, both are the same files."""
    for again, before in zip(built.sdist_and_wheel(tmp_path), sdist_and_wheel, strict=True):
        assert again.name == before.name
        assert again.read_bytes() == before.read_bytes()


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """A Debian 13: its pipx is the first that makes man pages known."""
    with release("trixie") as system:
        yield system


def as_ben(machine: Machine, commands: str, what: str = "") -> str:
    """Run commands of a document as ben; what they print. what: under which their time is logged."""
    began = time.monotonic()
    printed = machine.run("bash", "-euc", commands, user="ben", cwd="/home/ben", timeout=5 * PATIENCE).stdout
    if what:
        _log.info("%s by pipx in %.1f s", what, time.monotonic() - began)
    return printed


def commands(document: str, name: str, wheel: str) -> str:
    """The commands of a document, with the path of the wheel that they install."""
    return re.sub(r"spamnb-[\d.]+-py3-none-any\.whl", wheel, block(f"docs/{document}.md", name))


def test_by_pipx(machine: Machine, sdist_and_wheel: tuple[Path, Path], tmp_path: Path) -> None:
    """By pipx the unit runs, the manual and Tab are there; upgraded while mail comes in; removed, mail is left."""
    try:
        wheels = tree.wheels()
    except tree.CannotSetUpError as fault:
        pytest.skip(f"no packages to install: {fault}")
    for wheel in wheels.iterdir():
        put(machine, wheel)
    first, later = (put(machine, one) for one in (sdist_and_wheel[1], built.sdist_and_wheel(tmp_path, "0.1.1")[1]))
    machine.write("/etc/pip.conf", "[global]\nno-index = true\nfind-links = /srv\n")
    unit = Unit(machine, "ben", "spamnb.service", "ben")
    unit.make_maildir()
    start_manager(machine, "ben")

    as_ben(machine, commands("install", "pipx", first), "installed")
    size = as_ben(machine, "du -sm ~/.local/share/pipx/venvs/spamnb | cut -f1").strip()
    _log.info("installed by pipx: %s MB", size)
    as_ben(machine, block("docs/install.md", "pipx-completion"))
    unit.prepare()
    unit.configure()
    as_ben(machine, block("docs/install.md", "install-unit"))
    unit.wait_moved(unit.deliver("spam"))
    assert "spam_cutoff" in as_ben(machine, "man spamnb.yaml")
    completed = "complete -p spamnb || . ~/.local/share/bash-completion/completions/spamnb; complete -p spamnb"
    assert "_spamnb" in as_ben(machine, completed)
    as_ben(machine, "systemctl --user enable --now spamnb-web.socket")
    base, cookie = log_in(unit, _PORT, "/home/ben/.local/share/pipx/venvs/spamnb/bin/python")

    before, told = unit.pid(), unit.spamnb("verify")
    upgrade = commands("install", "pipx-upgrade", later)
    sent = spam_comes_during(lambda: as_ben(machine, upgrade, "upgraded"), {"ben": unit})["ben"]
    assert unit.spamnb("--version") == "spamnb 0.1.1\n"
    until(lambda: unit.pid() not in {0, before}, "another process of the service")
    check_moved_once(unit, sent)
    assert unit.spamnb("verify") == told
    assert ask(machine, _PORT, f"{base}/", "ben", Cookie=cookie)[0] == 200

    as_ben(machine, "systemctl --user disable --now spamnb-web.socket")
    as_ben(machine, block("docs/install.md", "pipx-removal"), "removed")
    assert unit.systemctl("is-active", check=False) in {"inactive", "unknown"}
    assert all(unit.holds(".Junk", spam) for spam in sent)
    left = "find ~ -name '*spamnb*' -not -path '*/Maildir/*' -not -path '*/pipx/logs/*' -not -path '*/.cache/*'"
    assert sorted(as_ben(machine, left).split()) == ["/home/ben/.config/spamnb", "/home/ben/.local/share/spamnb"]
