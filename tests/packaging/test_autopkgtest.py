"""The tests of the Debian package, as Debian runs them: by autopkgtest, on an installed package."""

import shutil
from pathlib import Path

import pytest

from tests.packaging import built
from tests.packaging.conftest import LIBRARIES, put
from tests.patience import PATIENCE
from tests.systemd import tree
from tests.systemd.machine import booted

pytestmark = [pytest.mark.real_system, pytest.mark.slow]


def test_the_tests_of_the_package_pass(package: Path) -> None:
    """In a booted system of its own, each test in debian/tests passes with Debian's libraries."""
    with booted(lambda: tree.debian("trixie", (*LIBRARIES, "autopkgtest", "dpkg-dev"))) as system:
        inside = put(system, package)
        shutil.copytree(built.PROJECT / "debian", system.path("/srv/spamnb/debian"))
        whole = "--ignore-restrictions=isolation-machine"  # it is one, but the runner without a machine does not know
        options = [whole, "--summary-file=/srv/summary", inside, "/srv/spamnb/"]
        done = system.run("autopkgtest", *options, "--", "null", timeout=5 * PATIENCE, check=False)
        summary = dict(line.split(maxsplit=1) for line in system.path("/srv/summary").read_text().splitlines())
        assert summary == {"demo": "PASS", "user-service": "PASS"}, done.stdout + done.stderr
