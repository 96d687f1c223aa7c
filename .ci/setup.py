"""Gives the README to a package index, which shows it without the files beside it: with an address for each path.

`backend.py` beside it hands it to setuptools, in the place of a `setup.py`.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

_README = Path("README.md").read_text(encoding="utf-8")
_SOURCE = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]
_TAG = f"v{Path('VERSION').read_text(encoding='utf-8').strip()}"


def _with_address(link: re.Match[str]) -> str:
    """Return a link with the address of its file, in GitHub's form, which GitLab takes too: raw for a picture."""
    mark, text, path = link.groups()
    return f"{mark}[{text}]({_SOURCE.removesuffix('.git')}/{'raw' if mark else 'blob'}/{_TAG}/{path})"


setup(
    long_description=re.sub(r"(!?)\[([^]]+)\]\((?!\w+:|#)([^)]+)\)", _with_address, _README),
    long_description_content_type="text/markdown",
)
