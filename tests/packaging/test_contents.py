"""The contents of the Debian package, without installing it: cheap enough for each run of all checks."""

import io
import re
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from spamnb import __version__
from spamnb.setup.units import manager_of
from tests.manual.made import files
from tests.packaging import built
from tests.patience import PATIENCE

pytestmark = pytest.mark.real_system

_EPOCHS = {"numpy": "1:"}  # what Debian sets before a version
_NAMES = {"beautifulsoup4": "bs4", "pyyaml": "yaml"}  # of Debian's packages, where they are others
_OF_FEW = {"scipy"}  # `compare` alone needs it; pip installs it for everybody
_OF_ZSH = ("share/zsh/site-functions/", "share/zsh/vendor-completions/")


@pytest.fixture(scope="module")
def unpacked(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the package, and those of its control below DEBIAN."""
    place = tmp_path_factory.mktemp("unpacked") / "all"
    subprocess.run(["dpkg-deb", "--raw-extract", str(package), str(place)], check=True, timeout=PATIENCE)
    return place


def test_lintian_finds_nothing(package: Path) -> None:
    """lintian finds no error in the package, and nothing to warn of."""
    if shutil.which("lintian") is None:
        pytest.skip("lintian is not installed (Debian: apt install lintian)")
    done = subprocess.run(
        ["lintian", "--fail-on=none", "--allow-root", str(package)],
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_each_file_is_in_its_place(unpacked: Path) -> None:
    """Program, units, man pages and completion are in Debian's places, without byte code."""
    held = {str(path.relative_to(unpacked / "usr")) for path in (unpacked / "usr").rglob("*") if path.is_file()}
    units = {path.name for path in (built.PROJECT / "systemd").iterdir()}
    wanted = {f"lib/systemd/{manager_of(unit)}/{unit}" for unit in units}
    wanted |= {f"{name}.gz" if "/man/" in name else name.replace(*_OF_ZSH) for name in files()}
    wanted |= {"bin/spamnb", "share/doc/spamnb/copyright", "share/doc/spamnb/examples/config.example.yaml"}
    assert wanted - held == set()
    assert {name for name in held if name.endswith((".pyc", ".orig", ".png"))} == set()
    assert {path.name for path in unpacked.iterdir()} == {"DEBIAN", "usr"}


def test_what_is_beside_the_program(unpacked: Path) -> None:
    """Beside the modules there are documents, man pages, completion and units, of 450 KB at most.

    The package has neither tests nor byte code nor pictures.
    """
    files = [path for path in unpacked.rglob("*") if path.is_file() and not path.is_symlink()]
    modules = unpacked / "usr/lib/python3/dist-packages/spamnb"
    beside = [path for path in files if modules not in path.parents and path.parent.name != "DEBIAN"]
    assert sum(-(-path.stat().st_size // 1024) for path in beside) < 450
    assert {path.suffix for path in files if modules in path.parents} <= {
        *("", ".py", ".typed", ".yaml", ".service", ".socket", ".html", ".css", ".js", ".svg")
    }
    assert not [path for path in files if {"tests", "__pycache__", "benchmarks"} & {*path.parts}]


def test_units_start_the_program_of_the_package(unpacked: Path) -> None:
    """Each service starts /usr/bin/spamnb, and has all other lines as in the sources."""
    for unit in (built.PROJECT / "systemd").glob("*.service"):
        (packed,) = unpacked.glob(f"usr/lib/systemd/*/{unit.name}")
        pairs = list(zip(unit.read_text().splitlines(), packed.read_text().splitlines(), strict=True))
        changed = [now for was, now in pairs if was != now]
        assert changed
        assert all(line.startswith("ExecStart=/usr/bin/spamnb ") for line in changed)


def test_the_bounds_are_those_of_the_project(unpacked: Path) -> None:
    """The package asks for at least the version of each library in pyproject.toml; what few need it only suggests."""
    with (built.PROJECT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    control = (unpacked / "DEBIAN/control").read_text()
    extras = [project["optional-dependencies"][extra] for extra in ("plots", "cluster", "postgresql")]
    for bound in [*project["dependencies"], *(bound for extra in extras for bound in extra)]:
        name, _, version = bound.lower().partition(">=")
        field = "Depends" if bound in project["dependencies"] and name not in _OF_FEW else "Suggests"
        (line,) = re.findall(rf"^{field}: (.*)$", control, re.MULTILINE)
        assert f"python3-{_NAMES.get(name, name)} (>= {_EPOCHS.get(name, '')}{version})" in line
    assert all(f"python3-{name}" not in control.partition("Suggests:")[0] for name in _OF_FEW)


def test_an_index_can_show_the_readme(unpacked: Path) -> None:
    """The README in the metadata names pictures and documents by their whole addresses, at the tag of the version."""
    (metadata,) = unpacked.glob("usr/**/spamnb-*.dist-info/METADATA")
    with (built.PROJECT / "pyproject.toml").open("rb") as file:
        source = tomllib.load(file)["project"]["urls"]["Source"].removesuffix(".git")
    addresses = re.findall(r"\]\(([^)]+)\)", metadata.read_text())
    assert f"{source}/raw/v{__version__}/docs/web/overview.png" in addresses
    assert f"{source}/blob/v{__version__}/docs/install.md#from-the-sources" in addresses
    assert [address for address in addresses if not address.startswith("https://")] == []


@pytest.mark.parametrize("script", ["postinst", "prerm", "postrm"])
def test_the_scripts_are_of_the_plain_shell(unpacked: Path, script: str) -> None:
    """dash, which runs the maintainer scripts, can read them; they are programs, and end at a failure."""
    path = unpacked / "DEBIAN" / script
    done = subprocess.run(["dash", "-n", str(path)], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert path.stat().st_mode & 0o111
    assert "set -e\n" in path.read_text()


def test_builds_between_releases(tmp_path: Path) -> None:
    """A clone between releases gives a Debian package, an sdist and a wheel of one version of their own, and the
    program tells it.
    """
    if reason := built.why_not() or (None if shutil.which("git") else "git is not installed (Debian: apt install git)"):
        pytest.skip(reason)
    built.clone(tmp_path / "spamnb")
    sdist, wheel = built.sdist_and_wheel_of(tmp_path / "spamnb")
    other = tmp_path / "bin"  # a Python without the libraries that build the package
    other.mkdir()
    for name in ("python3", "python3.11", "python3.13"):
        (other / name).write_text("#!/bin/sh\nexit 1\n")
        (other / name).chmod(0o755)
    package = built.package_of(tmp_path / "spamnb", other)

    version = sdist.name.removeprefix("spamnb-").removesuffix(".tar.gz")
    assert re.fullmatch(rf"{re.escape(__version__)}\+git\d{{14}}\.g[0-9a-f]{{8,}}", version)
    assert wheel.name == f"spamnb-{version}-py3-none-any.whl"
    assert package.name == f"spamnb_{version}-1_all.deb"
    with zipfile.ZipFile(wheel) as archive:
        programs = [archive.read("spamnb/__init__.py").decode()]
    show = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with tarfile.open(fileobj=io.BytesIO(subprocess.run(show, capture_output=True, check=True).stdout)) as archive_:
        file = archive_.extractfile("./usr/lib/python3/dist-packages/spamnb/__init__.py")
        assert file is not None
        programs.append(file.read().decode())
    assert all(f'\n__version__ = "{version}"\n' in program for program in programs)
