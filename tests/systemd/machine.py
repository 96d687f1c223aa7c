"""A Debian system with a real systemd, booted in a container without a network."""

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.systemd import tree
from tests.systemd.tree import CannotSetUpError

_PREFIX = "spamnb-systemd-"
_MEMORY = 4 << 30  # bytes that have to be free; the tree takes a sixth of them
_CGROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified")  # unified, or hybrid
# A container is put into control groups of its own name, so that two of them do not meet.
_ENTER_CGROUPS = """
for at in {}; do
    if [ -e "$at/cgroup.procs" ]; then mkdir "$at/$0" && echo $$ > "$at/$0/cgroup.procs" || exit 1; fi
done
exec "$@"
""".format(" ".join(_CGROUPS))


class Machine:
    """A booted system. Its files are reached from outside below `root`; its users have the same numbers there."""

    def __init__(self, archive: Path) -> None:
        _clear_what_the_dead_left()
        self._place = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self.root = self._place / "tree"
        self.name = f"spamnb-{os.getpid()}-{secrets.token_hex(3)}"
        self._container: subprocess.Popen[bytes] | None = None
        self._leader = 0
        if _available_memory() > _MEMORY:  # a busy disk needs more than a minute to write and delete the tree
            options = f"size={_MEMORY // 2},mode=755"
            subprocess.run(
                ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self._place)], check=False, timeout=PATIENCE
            )
        self._place.chmod(0o755)
        tree.unpack(archive, self.root)

    def boot(self) -> None:
        """Start the system. Raises CannotSetUpError if it does not come up."""
        nspawn = [
            *("setpriv", "--pdeathsig", "TERM"),  # it is told to go down if we die without a word
            *("systemd-nspawn", "--boot", "--register=no", "--keep-unit", "--link-journal=no", "--private-network"),
            *("--console=pipe", f"--machine={self.name}", f"--directory={self.root}"),
        ]
        with (self._place / "console").open("wb") as console:
            self._container = subprocess.Popen(
                ["sh", "-c", _ENTER_CGROUPS, self.name, *nspawn],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                start_new_session=True,  # an interrupt at the terminal is ours to act on
            )
        end = time.monotonic() + PATIENCE
        state = ""
        while state not in {"running", "degraded"}:
            if self._container.poll() is not None or time.monotonic() > end:
                said = (self._place / "console").read_text(errors="replace").strip().splitlines()[-3:]
                raise CannotSetUpError(f"no system comes up in systemd-nspawn ({state}): {' | '.join(said)}")
            time.sleep(0.1)
            self._leader = self._leader or self._find_leader()
            if self._leader:
                state = self.run("systemctl", "is-system-running", check=False).stdout.strip()

    def end(self) -> None:
        """Shut the system down, or kill it; leave nothing behind."""
        container = self._container
        try:
            if container is not None and container.poll() is None:
                container.send_signal(signal.SIGTERM)  # it tells the system to halt
                try:
                    container.wait(20)
                except subprocess.TimeoutExpired:
                    if self._leader:
                        os.kill(self._leader, signal.SIGKILL)  # with it dies all that runs inside
                    container.kill()
                    container.wait()
        finally:
            for at in _CGROUPS:
                for directory, _, _ in os.walk(f"{at}/{self.name}", topdown=False):
                    os.rmdir(directory)
            shutil.rmtree(f"/run/systemd/nspawn/propagate/{self.name}", ignore_errors=True)
            _remove(self._place)

    def run(
        self, *command: str, user: str | None = None, check: bool = True, timeout: float = PATIENCE, cwd: str = "/"
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside, as root or another user; its output is captured."""
        home = f"/home/{user}" if user else "/root"
        environ = {
            "HOME": home,
            "USER": user or "root",
            "LOGNAME": user or "root",
            "LC_ALL": "C.UTF-8",
            "PATH": f"{home}/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            **({"XDG_RUNTIME_DIR": f"/run/user/{self.uid(user)}"} if user else {}),
        }
        who = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []
        done = subprocess.run(
            [
                *("nsenter", f"--target={self._leader}", "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"),
                *("env", "-i", *(f"{name}={value}" for name, value in environ.items())),
                *("sh", "-c", f"cd {cwd} && exec " + '"$@"', "sh", *who, *command),
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
        if check and done.returncode:
            pytest.fail(f"{' '.join(command)} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def add_user(self, name: str) -> None:
        """Make a person with a home directory."""
        self.run("useradd", "--create-home", "--shell=/bin/bash", name)

    def uid(self, user: str) -> int:
        """A user's number."""
        lines = (self.root / "etc/passwd").read_text().splitlines()
        return next(int(line.split(":")[2]) for line in lines if line.startswith(f"{user}:"))

    def path(self, inside: str) -> Path:
        """A path inside, as seen from outside."""
        return self.root / inside.lstrip("/")

    def write(self, inside: str, text: str, user: str | None = None) -> None:
        """Write a file and the directories above it, which belong to that user."""
        number = self.uid(user) if user else 0
        path = self.path(inside)
        # From outside, an absolute link of the tree leads to a file of this machine.
        assert path.resolve().is_relative_to(self.root.resolve()), f"{inside} leads out of the tree"
        missing = [parent for parent in path.parents if not parent.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for made in (*missing, path):
            os.chown(made, number, number)

    def _find_leader(self) -> int:
        """The system's process 1: the child of systemd-nspawn that is it."""
        assert self._container is not None
        pid = self._container.pid
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            return next((int(child) for child in children if _is_process_1(child)), 0)
        except OSError:
            return 0


@contextmanager
def booted(archive: Callable[[], Path]) -> Iterator[Machine]:
    """A system that runs, with the users anna and ben; skips with the reason if there is none. archive: its tree."""
    if reason := tree.why_not():
        pytest.skip(reason)
    system = None
    try:
        try:
            system = Machine(archive())
            system.boot()
        except CannotSetUpError as fault:
            pytest.skip(f"no Debian to boot: {fault}")
        for user in ("anna", "ben"):
            system.add_user(user)
        yield system
    finally:
        if system is not None:
            system.end()


def _available_memory() -> int:
    """Bytes."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))


def _remove(place: Path) -> None:
    if place.is_mount():
        subprocess.run(["umount", "--lazy", str(place)], check=True, timeout=PATIENCE)
    shutil.rmtree(place)


def _clear_what_the_dead_left() -> None:
    """A run that was killed could not clear up."""
    for place in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        if not Path("/proc", place.name.removeprefix(_PREFIX).partition("-")[0]).exists():
            _remove(place)


def _is_process_1(pid: str) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    numbers = next((line.split()[1:] for line in lines if line.startswith("NSpid:")), [])
    # its name is (sd-…) until it has become systemd
    return len(numbers) > 1 and numbers[-1] == "1" and Path(f"/proc/{pid}/comm").read_text().strip() == "systemd"
