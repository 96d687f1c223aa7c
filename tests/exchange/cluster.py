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
from typing import Any

import pytest

from spamnb.exchange.connecting import upgrade
from tests.patience import PATIENCE, until

_PROGRAMS = "/usr/lib/postgresql"
_SETTINGS = "fsync=off listen_addresses= max_connections=60 shared_buffers=64MB max_wal_size=256MB"


def why_not() -> str:
    """Return why there can be no cluster here; "" if there can."""
    if _programs() is None:
        return "PostgreSQL is not installed: apt-get install postgresql"
    return fault_of_psycopg()


def fault_of_psycopg() -> str:
    """Return why psycopg cannot be used; "" if it can."""
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

    def __init__(self, directory: Path) -> None:
        programs = _programs()
        assert programs is not None
        self.programs = programs
        self.directory = directory
        self._data = directory / "data"
        self._user = pwd.getpwnam("postgres").pw_uid if os.geteuid() == 0 else None
        if self._user is not None:
            os.chown(directory, self._user, -1)
        initdb = [programs / "initdb", "--no-sync", "--auth=trust", "--username=postgres", "-D", self._data]
        subprocess.run(initdb, check=True, capture_output=True, user=self._user, cwd=directory)
        self._names = count()
        self._server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        settings = [*_SETTINGS.split(), f"unix_socket_directories={self.directory}"]
        command = [self.programs / "postgres", "-D", self._data, *(f"--{setting}" for setting in settings)]
        with open(self.directory / "log", "ab") as log:
            self._server = subprocess.Popen(
                command, stdout=log, stderr=log, user=self._user, cwd=self.directory, start_new_session=True
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
        server = self._server.pid
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            children = Path(f"/proc/{server}/task/{server}/children").read_text(encoding="ascii")
            for process in [server, *map(int, children.split())]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, number)

    def stop(self) -> None:
        """Stop the server, whatever it does."""
        if self._server is not None:
            self.signal(signal.SIGCONT)
            self._server.send_signal(signal.SIGINT)  # "fast": connections are ended
            self._wait()

    def _wait(self) -> None:
        assert self._server is not None
        self._server.wait(PATIENCE)
        self._server = None

    def database(self) -> str:
        """The connection string of a new, empty database."""
        name = f"log{next(self._names)}"
        run(f"{self._string} dbname=postgres", f"CREATE DATABASE {name}")
        return f"{self._string} dbname={name}"

    def dumped(self, database: str) -> str:
        """Return all that a database holds."""
        dump = [self.programs / "pg_dump", "--inserts", database]
        return subprocess.run(dump, capture_output=True, text=True, check=True).stdout

    @property
    def _string(self) -> str:
        return f"host={self.directory} user=postgres"


def run(database: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements as an administrator, and return the rows of the last one."""
    import psycopg  # which may be missing

    with psycopg.connect(database, autocommit=True) as db:
        for statement in statements:
            cursor = db.execute(statement)
        return cursor.fetchall() if cursor.description else []


def made_log(cluster: Cluster) -> str:
    """The connection string of a new database with the tables of a log."""
    database = cluster.database()
    assert upgrade(database)[0] == 0
    return database


@contextlib.contextmanager
def running() -> Iterator[Cluster]:
    """A cluster that runs; without PostgreSQL the test is skipped. Its socket's path has to be short."""
    if why := why_not():
        pytest.skip(why)
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp", ignore_cleanup_errors=True) as directory:
        cluster = Cluster(Path(directory))
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
