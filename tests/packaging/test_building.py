"""The sources become the Debian package with the tools of each release, whose lintian then has nothing to say."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging import built
from tests.systemd import tree

pytestmark = [pytest.mark.real_system, pytest.mark.slow]


def build_dependencies() -> list[str]:
    """Return the names in debian/control, and the tools themselves."""
    control = (built.PROJECT / "debian/control").read_text()
    (listed,) = re.findall(r"^Build-Depends:\n((?: .*\n)+)", control, re.MULTILINE)
    asked = re.findall(r"^ ([a-z0-9-]+)", listed, re.MULTILINE)
    provided = {"debhelper-compat": "debhelper", "dh-sequence-python3": "dh-python"}
    return [*(provided.get(name, name) for name in asked), "dpkg-dev", "fakeroot", "lintian"]


@pytest.fixture(params=tree.RELEASES)
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A tree of a release with what the build needs, and the sources."""
    if reason := tree.why_not():
        pytest.skip(reason)
    try:
        archive = tree.minimal(request.param, build_dependencies())
    except tree.CannotSetUpError as fault:
        pytest.skip(f"no Debian tree to build in: {fault}")
    tree.unpack(archive, tmp_path / "tree")
    tree.sources(tmp_path / "tree/build/spamnb")
    yield tmp_path / "tree"
    tree.run(["rm", "-rf", str(tmp_path / "tree")])


def inside(root: Path, command: str) -> str:
    """Run a command in the tree, with its own processes and no network, and return its output."""
    enter = ["unshare", "--mount", "--net", "--pid", "--fork", f"--mount-proc={root}/proc", "chroot", str(root)]
    environ = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
    return tree.run([*enter, "sh", "-c", f"cd /build/spamnb && {command}"], 600, env=environ)


def test_built_and_looked_at(root: Path) -> None:
    """dpkg-buildpackage makes the package, and lintian finds no error in it, and nothing to warn of."""
    # Not build-essential: nothing is compiled.
    inside(root, "dpkg-checkbuilddeps -I && dpkg-buildpackage --no-check-builddeps --no-sign --build=binary")
    assert inside(root, "lintian --fail-on=none --allow-root ../spamnb_*_all.deb") == ""
