"""The version is the same wherever it is written."""

import re

from spamnb import __version__
from tests.documents import ROOT


def test_one_version() -> None:
    """VERSION, the program, the newest entry of the list of changes, and the packages have one version."""
    assert (ROOT / "VERSION").read_text() == f"{__version__}\n"
    changes = re.search(r"^## (\S+) \((?:unreleased|\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert changes
    assert changes[1] == __version__
    assert (ROOT / "debian/changelog").read_text().startswith(f"spamnb ({__version__}-1) ")
    assert f"\npkgver={__version__}\n" in (ROOT / "docs/PKGBUILD").read_text()
