"""A person of this machine with podman, and a Debian without anything as the image that a Containerfile begins with."""

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.patience import PATIENCE
from tests.systemd import tree

_TOOLS = {"podman": "podman", "newuidmap": "uidmap", "useradd": "passwd", "runuser": "util-linux"}
_FIRST_USER, _LAST_USER = 47_000, 47_999  # numbers that no system on this machine uses, also none in a container
# crun refuses the hybrid control groups of some machines; the limits are ones that every user may set.
_SETTINGS = """\
[containers]
netns = "host"  # for builds alone: a network of its own needs /dev/net/tun
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "{runtime}"
"""


def why_not() -> str | None:
    """Why no container can be run here, or None."""
    if os.geteuid() != 0:
        return "making a user needs root"
    if missing := [package for tool, package in _TOOLS.items() if shutil.which(tool) is None]:
        return f"not installed (Debian: apt install {' '.join(missing)} runc)"
    if not any(map(shutil.which, ("runc", "crun"))):
        return "not installed (Debian: apt install runc)"
    return None


class Person:
    """A user without rights, whose commands are run in their home."""

    def __init__(self, name: str, run_directory: str) -> None:
        self.name = name
        self.home = Path("/home", name)
        self._environ = {
            "HOME": str(self.home),
            "USER": name,
            "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "XDG_RUNTIME_DIR": run_directory,
            "LC_ALL": "C.UTF-8",
        }

    def run(self, commands: str, timeout: float = 2 * PATIENCE) -> str:
        """Run commands of a shell, and return their output. Raises CannotSetUpError with it if they fail."""
        who = ["runuser", "--user", self.name, "--", "bash", "-euc", commands]
        return tree.run(who, timeout, cwd=self.home, env=self._environ)

    def own(self, path: Path) -> None:
        """Give them a file."""
        shutil.chown(path, self.name, self.name)


@contextlib.contextmanager
def person() -> Iterator[Person]:
    """A new user of this machine with podman; both are gone afterwards, with all images and containers."""
    name = f"spamnb-{os.getpid()}"
    with tempfile.TemporaryDirectory(prefix="spamnb-run-") as run_directory:
        numbers = [f"--key=UID_MIN={_FIRST_USER}", f"--key=UID_MAX={_LAST_USER}"]
        tree.run(["useradd", "--create-home", *numbers, name])
        try:
            made = Person(name, run_directory)
            shutil.chown(run_directory, name)
            settings = made.home / ".config/containers/containers.conf"
            settings.parent.mkdir(parents=True)
            runtime = "runc" if shutil.which("runc") else "crun"
            settings.write_text(_SETTINGS.format(runtime=runtime))
            made.own(made.home / ".config")
            yield made
            made.run("podman system reset --force")
        finally:
            _end_pause(Path(run_directory))
            try:
                tree.run(["userdel", "--force", "--remove", name])
            except tree.CannotSetUpError as fault:
                if "mail spool" not in str(fault):
                    raise


def _end_pause(run_directory: Path) -> None:
    """End the process of podman that holds the user's name space."""
    file = run_directory / "libpod/tmp/pause.pid"
    if file.exists():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(file.read_text()), signal.SIGKILL)
