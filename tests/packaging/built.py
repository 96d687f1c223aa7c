"""The packages under test, built from the sources by the tools of this machine: a Debian package, and a wheel."""

import os
import shutil
from pathlib import Path

from spamnb import __version__
from tests.systemd import tree
from tests.systemd.tree import sources

PROJECT = tree.PROJECT
TOOLS = "debhelper dh-python pybuild-plugin-pyproject python3-all python3-setuptools"
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
_ENVIRONMENT |= {"DEB_BUILD_PROFILES": "nocheck"}  # test_building.py tests at the build
_DAY = "1700000000"  # of SOURCE_DATE_EPOCH


def why_not() -> str | None:
    """Why no package can be built here, or None."""
    if shutil.which("dpkg-buildpackage") is None or not Path("/usr/share/doc/pybuild-plugin-pyproject").exists():
        return f"no tools to build a Debian package (apt install dpkg-dev {TOOLS})"
    return None


def debian_package(place: Path) -> Path:
    """Build the Debian package below a directory; its path. Raises CannotSetUpError."""
    sources(place / "spamnb")
    return package_of(place / "spamnb")


def package_of(sources: Path, first_in_path: Path | None = None) -> Path:
    """Build the Debian package of sources, beside them; its path. Raises CannotSetUpError.

    first_in_path: a directory whose programs are found before those of the system.
    """
    path = ":".join(map(str, [*filter(None, [first_in_path]), _ENVIRONMENT["PATH"]]))
    _run(["dpkg-buildpackage", "--no-sign", "--build=binary"], sources, PATH=path)
    return next(sources.parent.glob("*.deb"))


def clone(place: Path) -> None:
    """Make a clone of a repository with the sources, whose only commit has no tag."""
    sources(place)
    who = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "x"]):
        _run(["git", *command], place, **who)


def later(package: Path, version: str) -> Path:
    """The same package in a later version, which its program tells too; made once."""
    made = package.parent / f"spamnb_{version}_all.deb"
    if made.exists():
        return made
    place = package.parent / version
    _run(["dpkg-deb", "--raw-extract", str(package), str(place)], package.parent)
    for path in (place / "DEBIAN/control", place / "usr/lib/python3/dist-packages/spamnb/__init__.py"):
        path.write_text(path.read_text().replace(__version__, version))
    shutil.rmtree(place / "DEBIAN/md5sums", ignore_errors=True)
    _run(["dpkg-deb", "--root-owner-group", "--build", str(place), str(made)], package.parent)
    return made


def sdist_and_wheel(place: Path, version: str = __version__) -> tuple[Path, Path]:
    """Build the sdist from the sources and the wheel from the sdist, without a network; their paths."""
    sources(place / "sources")
    for name in ("VERSION", "spamnb/__init__.py"):
        file = place / "sources" / name
        file.write_text(file.read_text().replace(__version__, version))
    return sdist_and_wheel_of(place / "sources")


def sdist_and_wheel_of(sources: Path) -> tuple[Path, Path]:
    """Build the sdist from sources and the wheel from the sdist, in a directory beside them; their paths."""
    made = sources.parent / "made"
    made.mkdir()
    build = f"import backend; print(backend.build_sdist({str(made)!r}))"
    _run(["/usr/bin/python3", "-c", f"import sys; sys.path.insert(0, '.ci'); {build}"], sources)
    (sdist,) = made.glob("*.tar.gz")
    _run(["tar", "-xf", str(sdist)], made)
    build = f"import backend; print(backend.build_wheel({str(made)!r}))"
    _run(["/usr/bin/python3", "-c", f"import sys; sys.path.insert(0, '.ci'); {build}"], next(made.glob("*/")))
    return sdist, next(made.glob("*.whl"))


def _run(command: list[str], where: Path, **more: str) -> None:
    environ = {**_ENVIRONMENT, "SOURCE_DATE_EPOCH": _DAY, "TMPDIR": os.environ.get("TMPDIR", "/tmp"), **more}
    tree.run(command, cwd=where, env=environ)
