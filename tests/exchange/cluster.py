"""A PostgreSQL cluster of a test's own: in a temporary directory, on a socket there alone."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from tests.patience import PATIENCE, until

_PROGRAMS = "/usr/lib/postgresql"
_SETTINGS = "listen_addresses='' max_connections=60 shared_buffers=64MB max_wal_size=256MB"


def why_not() -> str:
    """Return why there can be no cluster here; "" if there can."""
    if _programs() is None:
        return "PostgreSQL is not installed: apt-get install postgresql"
    try:
        import psycopg  # noqa: F401
    except ImportError as fault:
        return f"psycopg cannot be used: {fault}"
    return ""


def _programs() -> Path | None:
    """The directory of the newest version's programs."""
    versions = sorted(Path(_PROGRAMS).glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    found = versions[-1] if versions else shutil.which("initdb")
    return None if found is None else Path(found).resolve().parent


class Cluster:
    """A cluster, which runs or does not. PostgreSQL does not run as root: it is the user postgres then.

    programs: the directory of its programs.
    """

    def __init__(self, directory: Path, *, settings: str = "fsync=off") -> None:
        programs = _programs()
        assert programs is not None
        self.programs = programs
        self.directory = directory
        self._data = directory / "data"
        self._settings = f"{_SETTINGS} {settings} unix_socket_directories='{directory}'"
        self._user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        if self._user is not None:
            os.chown(directory, self._user.pw_uid, self._user.pw_gid)
        initdb = [self.programs / "initdb", "--no-sync", "--auth=trust", "--username=postgres", "-D", self._data]
        subprocess.run(initdb, check=True, capture_output=True, user=self._uid, cwd=directory)
        self._names = count()
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def _uid(self) -> int | None:
        return None if self._user is None else self._user.pw_uid

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = [part for setting in self._settings.split() for part in ("-c", setting.replace("'", ""))]
        with open(self.directory / "log", "ab") as log:
            self._server = subprocess.Popen(
                [self.programs / "postgres", "-D", self._data, *options],
                stdout=log,
                stderr=log,
                user=self._uid,
                cwd=self.directory,
                start_new_session=True,
            )
        ready = [self.programs / "pg_isready", "-q", "-h", self.directory]
        until(lambda: subprocess.run(ready, check=False).returncode == 0, "PostgreSQL to answer")

    def kill(self) -> None:
        """Kill all of its processes at once."""
        self.signal(signal.SIGKILL)
        self._wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all of its processes; each of a connection has a session of its own, below the server's."""
        assert self._server is not None
        for process in [self._server.pid, *_children(self._server.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def stop(self) -> None:
        """Stop the server, whatever it does."""
        if self._server is not None:
            self.signal(signal.SIGCONT)
            self._server.send_signal(signal.SIGINT)  # "fast": connections are ended
            self._wait()

    def _wait(self) -> None:
        if self._server is not None:
            self._server.wait(PATIENCE)
            self._server = None

    def database(self) -> str:
        """The connection string of a new, empty database."""
        name = f"log{next(self._names)}"
        subprocess.run([self.programs / "createdb", *self.options, name], check=True, capture_output=True)
        return self.string(name)

    def string(self, name: str) -> str:
        """The connection string of a database."""
        return f"host={self.directory} user=postgres dbname={name}"

    @property
    def options(self) -> list[str]:
        """Return the options for PostgreSQL's own programs."""
        return ["-h", str(self.directory), "-U", "postgres"]


def _children(process: int) -> list[int]:
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
    except FileNotFoundError:
        return []
    return list(map(int, text.split()))


@contextlib.contextmanager
def running(*, settings: str = "fsync=off") -> Iterator[Cluster]:
    """A cluster that runs. Its directory has a short name, as a socket's path has to be."""
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp", ignore_cleanup_errors=True) as directory:
        cluster = Cluster(Path(directory), settings=settings)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
