"""Gives the version of the build to setuptools, and the README to a package index, with an address for each path: an
index shows it without the files beside it.

`backend.py` beside it hands it to setuptools, in the place of a `setup.py`.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from version import version_of, written

_README = Path("README.md").read_text(encoding="utf-8")
_SOURCE = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]
_VERSION = version_of()
_TAG = f"v{_VERSION.partition('+')[0]}"


def _with_address(link: re.Match[str]) -> str:
    """Return a link with the address of its file, in GitHub's form, which GitLab takes too: raw for a picture."""
    mark, text, path = link.groups()
    return f"{mark}[{text}]({_SOURCE.removesuffix('.git')}/{'raw' if mark else 'blob'}/{_TAG}/{path})"


class _WithVersion(build_py):
    """Lets the program that is built tell the version of the build."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            file = Path(self.build_lib, "spamnb", "__init__.py")
            file.write_text(written(file.read_text(encoding="utf-8"), _VERSION), encoding="utf-8")


setup(
    version=_VERSION,
    cmdclass={"build_py": _WithVersion},
    long_description=re.sub(r"(!?)\[([^]]+)\]\((?!\w+:|#)([^)]+)\)", _with_address, _README),
    long_description_content_type="text/markdown",
)
