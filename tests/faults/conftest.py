"""A site whose surroundings can be broken: disks that are full, read-only or away, and another user."""

import contextlib
import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from tests.mail_under_service import Running
from tests.patience import until
from tests.service.conftest import Site
from tests.warm import HURRIED


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests here carry the marker `thorough`: services that start, wait and end take them two minutes."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.thorough)


# All that a process may import later: as another user it may not be able to read this environment's files.
_BECOME_NOBODY = (
    "import os, ctypes, encodings, locale, lxml.etree, pkgutil, sqlite3, spamnb;"
    "import spamnb.cli.main as m, spamnb.maildir.rename as r;"
    "[__import__(found.name) for package in (encodings, spamnb)"
    " for found in pkgutil.walk_packages(package.__path__, package.__name__ + '.')"
    " if found.name.rsplit('.')[-1] not in ('__main__', 'plots', 'mbcs', 'oem')];"
    "r._renameat2(); os.setgroups([]); os.setgid(65534); os.setuid(65534); m.entry_point()"
)

# The service gives up waiting for a locked ledger sooner, tries again sooner, and makes a folder again sooner.
IMPATIENCE = 1.0
IMPATIENT = (
    "import spamnb.ledger.ledger as l, spamnb.service.account as a, spamnb.service.mailbox.folders as f;"
    "l.Ledger.__init__.__kwdefaults__['busy_seconds'] = a._RETRY_SECONDS = f.QUIET_SECONDS"
    f" = {IMPATIENCE}; {HURRIED}"
)


class Faulty(Site):
    """A site whose service may be started by way of another program (`by`), or as nobody."""

    by: Sequence[str] = ()
    as_nobody = False

    def _launch(self, arguments: list[str], log: int, environ: dict[str, str]) -> Running:
        if not (self.by or self.as_nobody):
            return super()._launch(arguments, log, environ)
        program = ["-c", _BECOME_NOBODY] if self.as_nobody else ["-m", "spamnb"]
        return subprocess.Popen([*self.by, sys.executable, *program, *arguments], stderr=log, env=os.environ | environ)

    def spam(self, number: int) -> bytes:
        """Deliver new spam."""
        return self.deliver(message("spam", number))

    def goes_on(self, number: int) -> None:
        """The service is up, judges and moves."""
        new = self.spam(number)
        until(lambda: new in self.contents("Junk"), "new spam moved")
        assert self.is_up()

    def clean(self) -> None:
        """Nothing was left undone, and nothing went wrong that nobody foresaw."""
        assert "Traceback" not in self.log()
        assert "should not happen" not in self.log()
        until(lambda: self.faults() == [], "a ledger in which all is ended and right")

    def chown_to_nobody(self) -> None:
        """Give all to nobody."""
        for path in [self.directory, *self.directory.rglob("*")]:
            os.lchown(path, 65534, 65534)


def run(*command: str) -> None:
    """Run a system command that has to succeed."""
    subprocess.run(command, check=True, capture_output=True)


@contextlib.contextmanager
def mounted(where: Path, size: str = "8m") -> Iterator[Path]:
    """A disk of its own at a directory, unmounted whatever happens; skips where mounting is not allowed."""
    where.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", str(where)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"needs root and the right to mount: {done.stderr.decode().strip()}")
    try:
        yield where
    finally:
        while os.path.ismount(where):
            run("umount", "--lazy", str(where))


@contextlib.contextmanager
def filled(disk: Path) -> Iterator[None]:
    """The disk is full to the last block."""
    block = disk / "block"
    with block.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"\0" * 4096)
    try:
        yield
    finally:
        block.unlink()


@contextlib.contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """The disk takes no writing."""
    remount = ["mount", "-o", "remount,ro", str(disk)]  # refused as long as the service has a file open to write
    until(lambda: subprocess.run(remount, capture_output=True, check=False).returncode == 0, "a disk to be read-only")
    try:
        yield
    finally:
        run("mount", "-o", "remount,rw", str(disk))


_OVERRIDES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH of capabilities(7)


@contextlib.contextmanager
def without_privileges() -> Iterator[None]:
    """The modes of files hold for root too, in this thread: it may read and list what its owner may."""
    libc, head = ctypes.CDLL(None, use_errno=True), (ctypes.c_uint32 * 2)(0x20080522, 0)
    before, now = (ctypes.c_uint32 * 6)(), (ctypes.c_uint32 * 6)()
    for of in (before, now):  # effective, permitted and inheritable, twice 32 bits
        assert libc.capget(head, of) == 0
    now[0] &= ~_OVERRIDES
    assert libc.capset(head, now) == 0
    try:
        yield
    finally:
        assert libc.capset(head, before) == 0


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Faulty]:
    """A Maildir++ site; the service is ended with the test."""
    made = Faulty(tmp_path)
    made.configure("service:\n  reconcile_seconds: 1\n")
    yield made
    made.kill()
