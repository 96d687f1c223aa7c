"""Builds between releases have versions of their own, which sort in the order of the builds."""

import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from packaging.version import Version

from spamnb import __version__
from tests.documents import ROOT
from tests.patience import PATIENCE

_EVENING = 1_795_892_712  # 2026-11-28 19:05:12 UTC


def told(sources: Path) -> str:
    """Return the version that a build of these sources has."""
    command = [sys.executable, "-B", str(sources / ".ci/version.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.removesuffix("\n")


def git(sources: Path, *arguments: str, now: int = _EVENING) -> str:
    """Run git in a directory, at a time."""
    who = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    when = {"GIT_COMMITTER_DATE": f"{now} +0900", "GIT_AUTHOR_DATE": "@0 +0000"}
    environ = {"PATH": os.environ["PATH"], "HOME": str(sources.parent), **who, **when}
    command = ["git", "-C", str(sources), *arguments]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout


def commit(sources: Path, now: int) -> str:
    """Commit a change at a time, and return the version of a build of it."""
    git(sources, "commit", "--quiet", "--allow-empty", "--all", "--message", "x", now=now)
    return told(sources)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """What says the version, as in an archive of the sources."""
    place = tmp_path / "sources"
    (place / ".ci").mkdir(parents=True)
    for name in ("VERSION", ".ci/version.py"):
        shutil.copy(ROOT / name, place / name)
    return place


@pytest.fixture
def clone(sources: Path) -> Path:
    """A clone whose first commit is the release."""
    if shutil.which("git") is None:
        pytest.skip("needs git (Debian: apt install git)")
    git(sources, "init", "--quiet")
    git(sources, "add", "--all")
    commit(sources, _EVENING)
    git(sources, "tag", f"v{__version__}")
    return sources


def test_a_release(sources: Path, clone: Path) -> None:
    """A build of the commit with the tag of the release has its version."""
    assert told(clone) == __version__


def test_without_a_repository(sources: Path) -> None:
    """A build of an archive has the version of the release, also inside another project's repository."""
    assert told(sources) == __version__
    if shutil.which("git") is not None:
        git(sources.parent, "init", "--quiet")
        git(sources.parent, "commit", "--quiet", "--allow-empty", "--message", "x")
    assert told(sources) == __version__


def test_each_build_sorts_after_those_before(clone: Path) -> None:
    """Builds sort by their time, after the release that they follow and before the next, for pip and for dpkg."""
    versions = [__version__, *(commit(clone, _EVENING + seconds) for seconds in (1, 2, 60, 7_200, 86_400))]
    assert versions[1].startswith(f"{__version__}+git20261128190513.g")
    file = clone / "VERSION"
    for seconds in (90_000, 90_001):  # edited twice, and not committed
        file.write_text(file.read_text() + "\n")
        os.utime(file, (_EVENING + seconds, _EVENING + seconds))
        versions.append(told(clone))
        assert versions[-1].endswith(".edited")
    versions += [commit(clone, _EVENING + 90_002), f"{__version__}.1"]
    for before, after in pairwise(versions):
        assert Version(before) < Version(after)
        if shutil.which("dpkg") is not None:
            order = ["dpkg", "--compare-versions", f"{before}-1", "lt", f"{after}-1"]
            assert subprocess.run(order, timeout=PATIENCE, check=False).returncode == 0, (before, after)


def test_the_form_that_pip_writes(clone: Path) -> None:
    """A version is written as pip would write it, so that the file's name and the program agree."""
    version = commit(clone, _EVENING + 1)
    assert str(Version(version)) == version


def test_another_owner(clone: Path) -> None:
    """Root may build a clone that belongs to somebody else: git takes it for dangerous by itself."""
    if os.geteuid() != 0:
        pytest.skip("gives files to another user, which needs root")
    version = commit(clone, _EVENING + 1)
    subprocess.run(["chown", "-R", "65534:65534", str(clone)], timeout=PATIENCE, check=True)
    assert told(clone) == version
