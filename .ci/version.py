"""The version of a build: of the release, or a later one for a build between releases.

A build of the commit with the release's tag has the release's version, and so has a build of an sdist or of an archive.
Any other build of a clone adds the time and the commit, such as `0.1.0+git20261128190512.g68556bc8`. This is a local
version by PEP 440. Both pip and dpkg sort it after the release and after each earlier build.
"""

import re
import subprocess
import sys
import time
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent


def version_of(root: Path = _ROOT) -> str:
    """Return the version of a build of the sources in a directory."""
    release = (root / "VERSION").read_text(encoding="utf-8").strip()
    if not (root / ".git").exists():  # else the repository is another project's, which holds these sources
        return release
    changed = _git(root, "diff", "--name-only", "-z", "HEAD")
    told = _git(root, "show", "--no-patch", "--format=%ct %h", "--abbrev=8", "HEAD")
    if changed is None or told is None:  # no git, or no commit
        return release
    if not changed and f"v{release}" in (_git(root, "tag", "--points-at", "HEAD") or "").split():
        return release
    moment, commit = told.split()
    edited = [file.stat().st_mtime for name in changed.split("\0") if name and (file := root / name).exists()]
    newest = time.gmtime(max([float(moment), *edited]))
    # The g keeps a commit of digits alone from losing its leading zeros.
    return f"{release}+git{time.strftime('%Y%m%d%H%M%S', newest)}.g{commit}{'.edited' if changed else ''}"


def written(source: str, version: str) -> str:
    """Return the text of `spamnb/__init__.py` with another version."""
    return re.sub(r'^__version__ = ".*"$', f'__version__ = "{version}"', source, flags=re.MULTILINE)


def _git(root: Path, *arguments: str) -> str | None:
    """Return the output of git, or None if it fails. The owner of the files may be another user."""
    try:
        command = ["git", "-c", f"safe.directory={root}", "-C", str(root), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - git of PATH
    except OSError:
        return None
    return done.stdout.strip("\n") if done.returncode == 0 else None


if __name__ == "__main__":
    sys.stdout.write(f"{version_of()}\n")
