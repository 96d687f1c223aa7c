"""`.ci/release`: one command makes all published files, from committed files alone."""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from spamnb import __version__
from tests.packaging import built
from tests.systemd.tree import sources

pytestmark = [pytest.mark.real_system, pytest.mark.slow]

_MADE = {f"spamnb-{__version__}.tar.gz", f"spamnb-{__version__}-py3-none-any.whl", f"spamnb_{__version__}-1_all.deb"}


def run(*command: str, where: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in the repository, as a user with a name."""
    who = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environ = {"PATH": os.environ["PATH"], "HOME": str(where.parent), **who}
    return subprocess.run(command, cwd=where, env=environ, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of these sources, ready for a release."""
    place = tmp_path / "repository"
    sources(place)
    kept = place / "tests/upgrade" / __version__
    kept.mkdir(parents=True)
    (kept / "ledger.sqlite.gz").touch()
    changes = (place / "CHANGELOG.md").read_text()
    (place / "CHANGELOG.md").write_text(re.sub(r"\((?:unreleased|[0-9-]{10})\)", "(2026-11-30)", changes, count=1))
    (place / ".gitignore").write_text("/dist/\n")
    run("git", "init", "--quiet", where=place)
    commit(place)
    return place


def commit(repository: Path) -> None:
    """Commit everything."""
    run("git", "add", "--all", where=repository)
    done = run("git", "commit", "--quiet", "--message", "x", where=repository)
    assert done.returncode == 0, done.stderr


def test_everything_is_made(repository: Path) -> None:
    """sdist, wheel and Debian package are made with their checksums and the tag, and again they are the same bytes."""
    if reason := built.why_not():
        pytest.skip(reason)
    sums = []
    for _ in range(2):
        done = run(".ci/release", where=repository)
        assert done.returncode == 0, done.stderr
        dist = repository / "dist"
        assert {path.name for path in dist.iterdir()} == _MADE | {"SHA256SUMS"}
        sums.append(dict(line.split("  ")[::-1] for line in (dist / "SHA256SUMS").read_text().splitlines()))
        assert sums[-1] == {name: hashlib.sha256((dist / name).read_bytes()).hexdigest() for name in _MADE}
        assert run("git", "tag", where=repository).stdout == f"v{__version__}\n"
        run("git", "tag", "--delete", f"v{__version__}", where=repository)
        shutil.rmtree(dist)
    assert sums[0] == sums[1]


def test_what_is_refused(repository: Path) -> None:
    """Uncommitted changes, differing versions, a missing date, and an existing tag are refused."""

    def refused(why: str) -> None:
        done = run(".ci/release", where=repository)
        assert (done.returncode, done.stdout) == (1, "")
        assert why in done.stderr
        assert not (repository / "dist").exists()

    (repository / "new").touch()
    refused("not committed")
    (repository / "new").unlink()
    for file, text, other, why in (
        ("VERSION", __version__, "0.9.9", "another version than VERSION"),
        ("CHANGELOG.md", "(2026-11-30)", "(unreleased)", "has no date"),
        (".ci/manual/made/share/man/man1/spamnb.1", __version__, "0.9.9", "the man pages are of another version"),
        ("debian/changelog", f"({__version__}-1)", "(0.9.9-1)", "debian/changelog begins with another version"),
        ("tests/upgrade", "", "", "nothing of"),
    ):
        path = repository / file
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.write_text(path.read_text().replace(text, other))
        commit(repository)
        refused(why)
        run("git", "reset", "--quiet", "--hard", "HEAD~1", where=repository)
    run("git", "tag", f"v{__version__}", where=repository)
    refused("there is a tag")
