"""`.ci/release`: one command makes all published files, from committed files alone."""

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from spamnb import __version__
from tests.packaging import built
from tests.patience import PATIENCE
from tests.systemd.tree import sources

pytestmark = [pytest.mark.real_system, pytest.mark.slow]

_SDIST = f"spamnb-{__version__}.tar.gz"
_WHEEL = f"spamnb-{__version__}-py3-none-any.whl"
_MADE = {_SDIST, _WHEEL, f"spamnb_{__version__}-1_all.deb", "PKGBUILD", "Containerfile"}


def run(*command: str, where: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the repository, as a user with a name. more: of the environment."""
    who = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environ = {"PATH": os.environ["PATH"], "HOME": str(where.parent), **who, **more}
    return subprocess.run(
        command, cwd=where, env=environ, capture_output=True, text=True, timeout=5 * PATIENCE, check=False
    )


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


def sums(dist: Path) -> dict[str, str]:
    """Return the checksum of each file that was made."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in dist.iterdir()}


def test_everything_is_made(repository: Path, tmp_path: Path) -> None:
    """All files are made with their checksums and the tag. In a clone, --dry-run makes the same bytes."""
    if reason := built.why_not():
        pytest.skip(reason)
    done = run(".ci/release", where=repository)
    assert done.returncode == 0, done.stderr
    made = sums(repository / "dist")
    assert made.keys() == _MADE | {"SHA256SUMS"}
    told = (repository / "dist/SHA256SUMS").read_text()
    assert dict(line.split("  ")[::-1] for line in told.splitlines()) == {name: made[name] for name in _MADE}
    assert f"\nsha256sums=({made[_SDIST]})\n" in (repository / "dist/PKGBUILD").read_text()
    assert run("git", "tag", where=repository).stdout == f"v{__version__}\n"

    elsewhere = tmp_path / "a longer path/of a clone"
    elsewhere.parent.mkdir()
    run("git", "clone", "--quiet", str(repository), str(elsewhere), where=tmp_path)
    done = run("sh", "-c", "umask 077; .ci/release --dry-run", where=elsewhere, TZ="Asia/Tokyo", LC_ALL="C")
    assert done.returncode == 0, done.stderr
    assert sums(elsewhere / "dist") == made


def test_each_file_has_the_licences(sdist_and_wheel: tuple[Path, Path]) -> None:
    """The sdist and the wheel hold the licence of spamnb, and that of the functions of shtab in the completion."""
    sdist, wheel = sdist_and_wheel
    with tarfile.open(sdist) as archive, zipfile.ZipFile(wheel) as packed:
        for names in (archive.getnames(), packed.namelist()):
            assert {"LICENSE", "LICENSE.MPL-2.0"} <= {name.rpartition("/")[2] for name in names}


def test_what_is_refused(repository: Path) -> None:
    """Uncommitted changes, differing versions, a missing date, an existing tag and other arguments are refused."""

    def refused(why: str, *arguments: str) -> None:
        done = run(".ci/release", *arguments, where=repository)
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
        ("docs/PKGBUILD", f"pkgver={__version__}", "pkgver=0.9.9", "docs/PKGBUILD has another version"),
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
    refused("the only argument is --dry-run", "--dry")
