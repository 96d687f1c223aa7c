"""The base of the tests with a real systemd, made once and kept: a Debian tree, and the packages to install in it."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE

PROJECT = Path(__file__).parent.parent.parent
TOOLS = {"systemd-nspawn": "systemd-container", "mmdebstrap": "mmdebstrap", "nsenter": "util-linux"}

RELEASES = ("bookworm", "trixie")
_MIRROR = os.environ.get("SPAMNB_TEST_DEBIAN", "http://deb.debian.org/debian")
_PACKAGES = (
    *("systemd", "systemd-sysv", "dbus", "dbus-user-session", "libpam-systemd"),
    "polkitd",  # it lets a person call `loginctl enable-linger`
    *("python3", "python3-venv"),
    *("dovecot-imapd", "dovecot-lmtpd", "dovecot-sieve", "spamc", "python3-yaml"),
    *("isync", "ca-certificates"),
)
# mmdebstrap makes the tree in 45 s where debootstrap took 205 s.
_MMDEBSTRAP = (
    *("mmdebstrap", "--mode=root", "--variant=minbase", "--aptopt=Acquire::Languages none"),
    *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "locale")),
    "--dpkgopt=force-unsafe-io",
)
_NO_MANUAL = "--dpkgopt=path-exclude=/usr/share/man/*"
_LIMIT = 7 * PATIENCE  # beside a load of 15 a tree with all libraries takes longer than 400 s


class CannotSetUpError(Exception):
    """The tree cannot be made here; says why."""


def cache() -> Path:
    """Return the place that keeps the tree and the packages between runs."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "spamnb-tests"


def why_not() -> str | None:
    """Why no system can be booted here, or None."""
    if os.geteuid() != 0:
        return "booting a system needs root"
    if missing := [package for tool, package in TOOLS.items() if shutil.which(tool) is None]:
        return f"not installed (Debian: apt install {' '.join(missing)})"
    return None


def debian(release: str = "trixie", more: Sequence[str] = ()) -> Path:
    """The archive of a Debian tree with systemd, Python and Dovecot, made when it is not there yet.

    A tree takes 32 s of processor time. So the tests of the units and of Dovecot 2.4 have one.

    more: other packages; with them the tree has room for manuals.
    """
    return _tree(release, [f"--include={','.join((*_PACKAGES, *more))}", *(() if more else (_NO_MANUAL,))])


def minimal(release: str, more: Sequence[str] = ()) -> Path:
    """The archive of a Debian tree with the essential packages and apt, as images of containers have it.

    more: other packages.
    """
    return _tree(release, [_NO_MANUAL, *([f"--include={','.join(more)}"] if more else [])])


def sid(place: Path, more: Sequence[str]) -> None:
    """Make a `minimal` tree of the release to come, in a new directory. It changes each day, so it is not kept."""
    still = "--aptopt=Acquire::Check-Valid-Until false"  # a mirror may have stopped on some day
    run([*_MMDEBSTRAP, _NO_MANUAL, still, f"--include={','.join(more)}", "sid", str(place), _MIRROR])


def _tree(release: str, options: Sequence[str]) -> Path:
    command = [*_MMDEBSTRAP, *options]
    name = hashlib.sha256("\0".join((*command, release)).encode()).hexdigest()[:12]
    kept = cache() / f"{release}-{name}.tar"
    _keep(kept, lambda draft: run([*command, release, str(draft), _MIRROR]))
    return kept


def wheels(python: str = "3.13") -> Path:
    """A directory with everything that `pip install` of the project needs, so that it needs no network."""
    with (PROJECT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)
    wanted = sorted([*project["project"]["dependencies"], *project["build-system"]["requires"], "wheel", "pip"])
    name = hashlib.sha256("\0".join((*wanted, python)).encode()).hexdigest()[:12]
    kept = cache() / f"wheels-{name}"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    download = [*pip, "download", f"--python-version={python}", "--only-binary=:all:"]
    _keep(kept, lambda draft: run([*download, f"--dest={draft}", *wanted]))
    return kept


def sources(place: Path) -> None:
    """Copy what `pip install` and the documents need of the project."""
    place.mkdir(parents=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("spamnb", "systemd", "debian", "docs", ".ci"):
        shutil.copytree(PROJECT / name, place / name, ignore=ignored)
    for name in ("pyproject.toml", "VERSION", "README.md", "CHANGELOG.md", "LICENSE", "config.example.yaml"):
        shutil.copy(PROJECT / name, place / name)


def _keep(kept: Path, make: Callable[[Path], None]) -> None:
    """Make a missing part as a draft that gets its name when it is whole; a test beside this one waits."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    draft = kept.with_name(f".{kept.name}")
    with open(kept.with_name(f".{kept.name}.lock"), "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if kept.exists():
            return
        _remove(draft)  # of a run that was killed
        try:
            make(draft)
            draft.rename(kept)
        finally:
            _remove(draft)


def _remove(draft: Path) -> None:
    if draft.is_dir():
        shutil.rmtree(draft)
    draft.unlink(missing_ok=True)


def unpack(archive: Path, place: Path) -> None:
    """Unpack a tree into a new directory."""
    place.mkdir(mode=0o755)
    run(["tar", "-C", str(place), "-xf", str(archive)])


def run(command: Sequence[str], timeout: float = _LIMIT, **how: Any) -> str:
    """Run a command, and return its output. how: as for `subprocess.run`. Raises CannotSetUpError if it fails."""
    given = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "errors": "replace"}
    try:
        done = subprocess.run(command, check=False, timeout=timeout, **given, **how)
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise CannotSetUpError(f"{command[0]}: {fault}") from fault
    if done.returncode:
        said = " | ".join((done.stdout + done.stderr).strip().splitlines()[-5:])
        raise CannotSetUpError(f"{' '.join(command[:4])} … ended with {done.returncode}: {said}")
    return str(done.stdout)
