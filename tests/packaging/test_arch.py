"""docs/PKGBUILD asks for what the project asks for, and makepkg makes a package of the sdist by it."""

import os
import shutil
import subprocess
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spamnb import __version__
from spamnb.setup.units import manager_of
from tests.manual.made import files
from tests.packaging import built
from tests.patience import PATIENCE
from tests.systemd import tree

_RECIPE = built.PROJECT / "docs/PKGBUILD"
_NAMES = {"jinja2": "jinja", "pyyaml": "yaml"}  # of Arch's packages, where they are others
_TOOLS = {
    "makepkg": "makepkg",
    "fakeroot": "fakeroot",
    "bsdtar": "libarchive-tools",
    "pacman": "pacman-package-manager",
}
_NOBODY = 65534
# Debian's Python installs to /usr/local without the first.
_ENVIRONMENT = {"DEB_PYTHON_INSTALL_LAYOUT": "deb", "PKGEXT": ".pkg.tar.gz", "LC_ALL": "C.UTF-8"}


def value(name: str) -> list[str]:
    """Return the words of a variable of the recipe."""
    command = f'. "$0" && printf "%s\\n" "${{{name}[@]}}"'
    shell = ["bash", "-euc", command, str(_RECIPE)]
    return subprocess.run(shell, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout.splitlines()


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    with (built.PROJECT / "pyproject.toml").open("rb") as file:
        table: dict[str, Any] = tomllib.load(file)["project"]
    return table


def packages(bounds: list[str]) -> set[str]:
    """Return Arch's packages of libraries."""
    names = (bound.lower().partition(">=")[0] for bound in bounds)
    return {f"python-{_NAMES.get(name, name)}" for name in names}


def test_it_asks_for_the_libraries_of_the_project(project: dict[str, Any]) -> None:
    """The recipe depends on each library of pyproject.toml, and offers the optional ones."""
    assert set(value("depends")) == {"python"} | packages(project["dependencies"])
    optional = project["optional-dependencies"]
    offered = {line.partition(":")[0] for line in value("optdepends")}
    assert offered >= packages(optional["plots"] + optional["cluster"] + optional["postgresql"])


def test_it_says_what_the_project_says(project: dict[str, Any]) -> None:
    """Description, address and licences are those of pyproject.toml."""
    assert value("pkgdesc") == [project["description"]]
    assert value("url") == [project["urls"]["Source"].removesuffix(".git")]
    assert value("license") == project["license"]["text"].split(" AND ")


@pytest.fixture
def package(sdist_and_wheel: tuple[Path, Path]) -> Iterator[Path]:
    """The package as makepkg makes it for a user without rights, without the tests, which are those of `.ci/run`."""
    if missing := [package for tool, package in _TOOLS.items() if shutil.which(tool) is None]:
        pytest.skip(f"not installed (Debian: apt install {' '.join(missing)} python3-build python3-installer)")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "bin").mkdir()
        (place / "bin/python").symlink_to("/usr/bin/python3")  # Debian has no program of that name
        shutil.copy(_RECIPE, place)
        shutil.copy(sdist_and_wheel[0], place)
        place.chmod(0o755)
        user = _NOBODY if os.geteuid() == 0 else None  # makepkg refuses root
        if user:
            os.chown(place, user, user)
        environ = {**_ENVIRONMENT, "PATH": f"{place}/bin:/usr/bin:/bin", "HOME": name}
        tree.run(["makepkg", "--nodeps", "--nocheck"], cwd=place, env=environ, user=user, group=user, extra_groups=[])
        yield next(place.glob("*.pkg.tar.gz"))


@pytest.mark.real_system
@pytest.mark.slow
def test_made_by_makepkg(package: Path) -> None:
    """Program, units, man pages, completion, documents and licences are in their places; units start the program."""
    assert package.name == f"spamnb-{__version__}-1-any.pkg.tar.gz"
    with tarfile.open(package) as archive:
        held = {member.name: member for member in archive if member.isreg()}
        units = [path.name for path in (built.PROJECT / "systemd").iterdir()]
        places = {f"usr/lib/systemd/{manager_of(unit)}/{unit}" for unit in units}
        made = {f"usr/{name}{'.gz' if '/man/' in name else ''}" for name in files()}
        texts = {f"usr/share/doc/spamnb/{name}" for name in ("README.md", "config.example.yaml", "docs/install.md")}
        licences = {f"usr/share/licenses/spamnb/{name}" for name in ("LICENSE", "LICENSE.MPL-2.0")}
        assert {"usr/bin/spamnb"} | places | made | texts | licences <= held.keys()
        assert {member.uname for member in held.values()} == {"root"}
        for name in places:
            packed = archive.extractfile(name)
            assert packed
            starts = [line for line in packed.read().decode().splitlines() if line.startswith("ExecStart=")]
            assert all(line.startswith("ExecStart=/usr/bin/spamnb ") for line in starts)
            assert bool(starts) == name.endswith(".service")
