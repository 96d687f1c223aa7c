"""The sources become the Debian package with the tools of each release, whose lintian then has nothing to say."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb import __version__
from tests.packaging import built
from tests.systemd import tree

pytestmark = [pytest.mark.real_system, pytest.mark.slow]


_WITHOUT_TESTS = {"bookworm"}  # its hypothesis is too old


def build_dependencies(release: str) -> list[str]:
    """Return the names in debian/control, and the tools themselves."""
    control = (built.PROJECT / "debian/control").read_text()
    (listed,) = re.findall(r"^Build-Depends:\n((?: .*\n)+)", control, re.MULTILINE)
    lines = [line for line in listed.splitlines() if release not in _WITHOUT_TESTS or "<!nocheck>" not in line]
    asked = re.findall(r"^ ([a-z0-9-]+)", "\n".join(lines), re.MULTILINE)
    provided = {"debhelper-compat": "debhelper", "dh-sequence-python3": "dh-python"}
    return [*(provided.get(name, name) for name in asked), "dpkg-dev", "fakeroot", "lintian"]


@pytest.fixture
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A tree of a release with what the build needs, and the sources, which belong to nobody."""
    if reason := tree.why_not():
        pytest.skip(reason)
    root, place = tmp_path / "tree", tmp_path / "tree/build/spamnb"
    try:
        if request.param == "sid":
            tree.sid(root, build_dependencies(request.param))
        else:
            tree.unpack(tree.minimal(request.param, build_dependencies(request.param)), root)
    except tree.CannotSetUpError as fault:
        pytest.skip(f"no Debian tree to build in: {fault}")
    tree.sources(place)
    for name in ("tests", "benchmarks"):
        shutil.copytree(built.PROJECT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(built.PROJECT / "CONTRIBUTING.md", place)
    tree.run(["chown", "-R", "65534:65534", str(place.parent)])
    (root / "dev/shm").chmod(0o1777)
    yield root
    tree.run(["rm", "-rf", str(root)])


def inside(root: Path, command: str) -> str:
    """Run a command in the tree as nobody, without a home and a network, and return its output."""
    enter = ["unshare", "--mount", "--net", "--pid", "--fork", f"--mount-proc={root}/proc", "chroot", str(root)]
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    environ = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
    return tree.run([*enter, *nobody, "sh", "-euc", f"cd /build/spamnb\n{command}"], 1200, env=environ)


# Not build-essential: nothing is compiled.
_BUILD = "dpkg-checkbuilddeps -I && dpkg-buildpackage --no-check-builddeps --no-sign"
_UNPACK_SDIST = f"""
python3 -c "import sys; sys.path.insert(0, '.ci'); import backend; backend.build_sdist('..')"
cd ..
mv spamnb-{__version__}.tar.gz spamnb_{__version__}.orig.tar.gz
tar -xf spamnb_{__version__}.orig.tar.gz
cd spamnb-{__version__}
"""


@pytest.mark.parametrize(("root", "release"), [(release, release) for release in tree.RELEASES], indirect=["root"])
def test_built_and_looked_at(root: Path, release: str) -> None:
    """dpkg-buildpackage tests and makes the package, and lintian finds no error in it, and nothing to warn of."""
    profile = "nocheck" if release in _WITHOUT_TESTS else ""
    inside(root, f"export DEB_BUILD_PROFILES={profile}\n{_BUILD} --build=binary")
    assert inside(root, "lintian --fail-on=none ../spamnb_*_all.deb") == ""


@pytest.mark.parametrize("root", ["sid"], indirect=True)
def test_ready_for_debian(root: Path) -> None:
    """The sdist becomes a source package and a package; the lintian and the policy of today find nothing in both."""
    inside(root, f"{_UNPACK_SDIST}{_BUILD}")
    said = inside(root, "lintian -EviIL +pedantic --fail-on=none ../*.changes")
    # N: explanations. X: what lintian itself calls an experiment.
    assert [line for line in said.splitlines() if line[:2] not in {"N:", "X:"}] == []
