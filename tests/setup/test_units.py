"""The units of an installation: written with its path, recognised, and removed only as they were written."""

import os
import sys
from pathlib import Path

import pytest

from spamnb.base.errors import UnitError
from spamnb.setup import units
from spamnb.setup.units import UnitDirectory, install, place, program, remove, texts, with_program

SOURCES = Path(__file__).parents[2] / "systemd"
PROGRAM = Path("/opt/spamnb/bin/spamnb")


@pytest.fixture
def where(tmp_path: Path) -> UnitDirectory:
    """Return the directory of a person's units."""
    return UnitDirectory("user", tmp_path / "systemd" / "user", "systemctl --user")


@pytest.fixture(autouse=True)
def seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put this Python where each service can see it."""
    monkeypatch.setattr(sys, "prefix", "/opt/spamnb")
    monkeypatch.setattr(sys, "base_prefix", "/usr")


@pytest.mark.parametrize("manager", ["user", "system"])
def test_every_unit_is_written_with_the_path(tmp_path: Path, manager: units.Manager) -> None:
    """All units in systemd/ are written for the manager that they are for; they start the program by its path."""
    written = install(UnitDirectory(manager, tmp_path, "systemctl"), PROGRAM)
    wanted = {unit.name for unit in SOURCES.iterdir() if units.manager_of(unit.name) == manager}
    assert {unit.name for unit in written} == wanted == {path.name for path in tmp_path.iterdir()}
    for unit in written:
        commands = [line for line in unit.read_text().splitlines() if line.startswith("ExecStart=")]
        assert all(line.startswith(f"ExecStart={PROGRAM} ") for line in commands)
        assert bool(commands) == (unit.suffix == ".service")
        assert unit.stat().st_mode & 0o777 == 0o644
        assert unit.read_text().partition("\n")[2] == with_program((SOURCES / unit.name).read_text(), PROGRAM)


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("/a/spamnb", "/a/spamnb"),
        ("/a b/spamnb", '"/a b/spamnb"'),
        ("/100%/spamnb", "/100%%/spamnb"),
        ('/a"\\/spamnb', '"/a\\"\\\\/spamnb"'),
    ],
)
def test_any_path_is_written_as_systemd_reads_it(path: str, written: str) -> None:
    """Blanks, quotes and percent signs in a path keep their meaning; other commands are unchanged."""
    text = "ExecStart=/usr/local/bin/spamnb --config x run\nExecReload=/bin/sh -c 'kill'\n"
    assert with_program(text, Path(path)) == f"ExecStart={written} --config x run\nExecReload=/bin/sh -c 'kill'\n"


def test_units_are_written_again_and_removed(where: UnitDirectory) -> None:
    """A later version writes the units again; their removal leaves nothing."""
    install(where, PROGRAM)
    first = sorted(where.directory.iterdir())
    install(where, Path("/srv/spamnb"))
    assert all("/opt/" not in unit.read_text() for unit in first)
    assert sorted(remove(where)) == first
    assert list(where.directory.iterdir()) == []
    assert remove(where) == []


def test_what_was_not_written_here_stays(where: UnitDirectory) -> None:
    """A unit that a person wrote or changed is neither replaced nor removed, and no other is written."""
    where.directory.mkdir(parents=True)
    (where.directory / "spamnb.service").write_text("[Service]\n")
    with pytest.raises(UnitError, match="not written by this command"):
        install(where, PROGRAM)
    assert os.listdir(where.directory) == ["spamnb.service"]
    (where.directory / "spamnb.service").unlink()
    install(where, PROGRAM)
    with (where.directory / "spamnb.service").open("a") as unit:
        unit.write("Nice=5\n")
    for call in (lambda: install(where, PROGRAM), lambda: remove(where)):
        with pytest.raises(UnitError, match="changed by hand"):
            call()
    assert len(os.listdir(where.directory)) == len(texts("user", PROGRAM))


def test_a_plain_copy_is_replaced(where: UnitDirectory) -> None:
    """A unit that was copied by hand, with any path of the program, is as good as one that was written."""
    where.directory.mkdir(parents=True)
    text = (SOURCES / "spamnb.service").read_text()
    (where.directory / "spamnb.service").write_text(with_program(text, Path("/home/anna/spamnb")))
    install(where, PROGRAM)
    assert str(PROGRAM) in (where.directory / "spamnb.service").read_text()
    (where.directory / "spamnb.service").write_text(text)
    assert where.directory / "spamnb.service" in remove(where)


def test_an_enabled_unit_is_not_removed(where: UnitDirectory) -> None:
    """As long as a unit would start again it stays, and the error says how to disable it."""
    install(where, PROGRAM)
    wanted = where.directory / "default.target.wants"
    wanted.mkdir()
    (wanted / "spamnb.service").symlink_to(where.directory / "spamnb.service")
    with pytest.raises(UnitError, match=r"systemctl --user disable --now spamnb\.service"):
        remove(where)
    assert (where.directory / "spamnb.service").exists()


@pytest.mark.parametrize(
    ("manager", "path", "hidden"),
    [
        ("system", "/home/anna/.local/bin/spamnb", "/home"),
        ("system", "/root/bin/spamnb", "/root"),
        ("user", "/tmp/x/spamnb", "/tmp"),
    ],
)
def test_a_program_that_the_service_cannot_see(tmp_path: Path, manager: units.Manager, path: str, hidden: str) -> None:
    """A program that the unit's sandbox hides is refused, in words, and nothing is written."""
    with pytest.raises(UnitError, match=f"hides {hidden}: install the program in a different place"):
        install(UnitDirectory(manager, tmp_path / "units", "systemctl"), Path(path))
    assert not (tmp_path / "units").exists()


def test_a_python_that_the_service_cannot_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same holds for a program whose Python is hidden."""
    monkeypatch.setattr(sys, "base_prefix", "/root/.pyenv/versions/3.11.7")
    with pytest.raises(UnitError, match=r"cannot see /root/\.pyenv"):
        install(UnitDirectory("system", tmp_path, "systemctl"), PROGRAM)


def test_a_package_has_its_units(where: UnitDirectory) -> None:
    """The program of a distribution's package writes none: they are there."""
    with pytest.raises(UnitError, match="has its own units"):
        install(where, Path("/usr/bin/spamnb"))


def test_the_program_is_the_one_that_was_called(tmp_path: Path) -> None:
    """A called link is kept, since a later version keeps it; else it is Python's own program."""
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv/spamnb").write_text("#!/bin/sh\n")
    (tmp_path / "venv/spamnb").chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/spamnb").symlink_to(tmp_path / "venv/spamnb")
    assert program(str(tmp_path / "bin/spamnb"), "/nowhere") == tmp_path / "bin/spamnb"
    assert program("/x/__main__.py", str(tmp_path / "venv")) == tmp_path / "venv/spamnb"
    with pytest.raises(UnitError, match="by its full path"):
        program("/x/__main__.py", "/nowhere")


def test_places() -> None:
    """A person's units are in their configuration, the machine's in /etc; without a home there is no place."""
    assert place("user", {"HOME": "/h"}).directory == Path("/h/.config/systemd/user")
    assert place("user", {"HOME": "/h", "XDG_CONFIG_HOME": "/c"}).directory == Path("/c/systemd/user")
    assert place("system", {}).directory == Path("/etc/systemd/system")
    with pytest.raises(UnitError, match="HOME is not set"):
        place("user", {})
