"""How many files the service may have open: more mailboxes than the limit that a process begins with."""

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.maildir.folders import create_folder
from tests.patience import PATIENCE

pytestmark = pytest.mark.thorough  # processes with hundreds of files

_FEW = 48  # files that a process may have open; the service itself takes some 20


@pytest.fixture
def mail() -> Iterator[Path]:
    """The place of the mailboxes: a short path, since a configuration may have at most 128 KB."""
    with tempfile.TemporaryDirectory(prefix="spamnb-") as place:
        yield Path(place)


def run(mail: Path, mailboxes: int, limits: tuple[int, int], *how: str) -> subprocess.CompletedProcess[str]:
    """`spamnb run` over so many mailboxes in a process with these limits, until it ends by itself."""
    boxes = [mail / str(number) for number in range(mailboxes)]
    for box in boxes:
        create_folder(str(box), "maildir++", "INBOX")
        create_folder(str(box), "maildir++", "Junk")
    lines = [f"  - {{path: {box}, layout: maildir++, roles: {{INBOX: inbox, Junk: spam}}}}" for box in boxes]
    config = mail / "config.yaml"
    config.write_text("\n".join(["mailboxes:", *lines, f"ledger: {mail}/ledger.sqlite"]))
    return subprocess.run(
        [sys.executable, "-m", "spamnb", "--config", str(config), "run", *how],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits),
        capture_output=True,
        text=True,
        timeout=10 * PATIENCE,
        check=False,
    )


@pytest.mark.parametrize(
    ("mailboxes", "soft", "hard"), [(60, _FEW, 200), pytest.param(1100, 1024, 4096, marks=pytest.mark.slow)]
)
def test_more_mailboxes_than_the_soft_limit(mail: Path, mailboxes: int, soft: int, hard: int) -> None:
    """The service works with more mailboxes than files that a process may have open at its start."""
    done = run(mail, mailboxes, (soft, hard), "--once")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("recorded 0 existing messages") == mailboxes


@pytest.mark.parametrize("how", [(), ("--once",)])
def test_more_mailboxes_than_the_hard_limit(mail: Path, how: tuple[str, ...]) -> None:
    """If the hard limit is too low the service ends, and names the directory and the limit to raise."""
    done = run(mail, 60, (_FEW, _FEW), *how)
    assert done.returncode == 3
    assert str(mail) in done.stderr.splitlines()[-1]
    assert (
        "raise the limit of open files (LimitNOFILE= in the unit of the service; ulimit -n in a shell)" in done.stderr
    )
    assert "owns" not in done.stderr


_WATCH = """
import os, resource, sys
from spamnb.service.watcher import Watcher
watcher, soft = Watcher("inotify"), len(os.listdir("/proc/self/fd")) - 1 + int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
watcher.start()
"""


@pytest.mark.parametrize("left", [0, 1])
def test_no_file_left_to_watch(left: int) -> None:
    """If open files leave no room for an instance of inotify, the advice is not about instances."""
    command = [sys.executable, "-c", _WATCH, str(left)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (
        "CannotWatchError: cannot watch with inotify: too many files are open: raise the limit of open" in done.stderr
    )
