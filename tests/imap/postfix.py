"""A real Postfix with a private configuration and queue, which delivers to Maildirs and opens no port."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.imap.conftest import Host, program
from tests.patience import PATIENCE, until

_MAIN = """
compatibility_level = 3.6
queue_directory = {home}/queue
data_directory = {home}/state
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
myhostname = home.example
mydestination = home.example
inet_interfaces = loopback-only
inet_protocols = ipv4
mail_spool_directory = {home}/spool/
alias_maps =
alias_database =
local_recipient_maps =
maillog_file = {home}/log
maillog_file_prefixes = {home}
biff = no
"""
_MASTER = """
pickup unix n - n 1 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
error unix - - n - - error
retry unix - - n - - error
local unix - n n - - local
proxymap unix - - n - - proxymap
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
"""


@contextlib.contextmanager
def postfix(home: Path, spool: Path, user: str, services: str = "", main: str = "") -> Iterator[Path]:
    """Postfix with its queue below a directory, which delivers the mail of a user into a Maildir.

    Gives the directory of its configuration. `services` are added to its master.cf, `main` to its main.cf.
    """
    if program("postfix") is None or os.getuid() != 0:
        pytest.skip("needs Postfix (Debian: postfix), and root to start it")
    for name in ("etc", "queue", "state", "spool"):
        (home / name).mkdir(parents=True)
    shutil.chown(home / "state", "postfix")
    (home / "etc" / "main.cf").write_text(_MAIN.format(home=home) + main)
    (home / "etc" / "master.cf").write_text(_MASTER + services)
    (home / "spool" / user).symlink_to(spool)  # the user's home directory is the system's word
    run(program("postfix") or "", "-c", str(home / "etc"), "start")
    try:
        yield home / "etc"
    finally:
        run(program("postfix") or "", "-c", str(home / "etc"), "stop")
        until(lambda: not _runs(home / "queue" / "pid" / "master.pid"), "Postfix to stop")


@contextlib.contextmanager
def by_postfix(host: Host) -> Iterator[Callable[[bytes], None]]:
    """Postfix's sendmail and `local`; at the end its queue is empty, and its log without a fault."""
    home, user = host.directory / "postfix", host.owner.pw_name
    with postfix(home, host.root, user) as configuration:

        def deliver(content: bytes) -> None:
            to = f"{user}@home.example"
            run(program("sendmail") or "", "-C", str(configuration), "-i", "-f", "a@b.example", to, stdin=content)

        yield deliver
    log = (home / "log").read_text(errors="replace")
    assert not [line for line in log.splitlines() if "warning" in line or "error" in line or "fatal" in line]
    assert "status=sent" in log


def run(*command: str, stdin: bytes = b"") -> bytes:
    """Run a command of Postfix, which has to succeed; what it prints."""
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def _runs(pid_file: Path) -> bool:
    try:
        return Path(f"/proc/{int(pid_file.read_text())}").exists()
    except (OSError, ValueError):
        return False
