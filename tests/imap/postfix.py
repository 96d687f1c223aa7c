"""A real Postfix with a private configuration and queue, which delivers to Maildirs and opens no port."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.imap.conftest import Host, program
from tests.service.conftest import PATIENCE, until

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
def by_postfix(host: Host) -> Iterator[Callable[[bytes], None]]:
    """Postfix's sendmail and `local`; at the end its queue is empty, and its log without a fault."""
    if program("postfix") is None or os.getuid() != 0:
        pytest.skip("needs Postfix (Debian: postfix), and root to start it")
    home = host.directory / "postfix"
    for name in ("etc", "queue", "state", "spool"):
        (home / name).mkdir(parents=True)
    shutil.chown(home / "state", "postfix")
    (home / "etc" / "main.cf").write_text(_MAIN.format(home=home))
    (home / "etc" / "master.cf").write_text(_MASTER)
    (home / "spool" / host.owner.pw_name).symlink_to(host.root)  # the user's home directory is the system's word
    configuration = str(home / "etc")

    def run(*command: str, stdin: bytes = b"") -> None:
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr.decode()

    def deliver(content: bytes) -> None:
        to = f"{host.owner.pw_name}@home.example"
        run(program("sendmail") or "", "-C", configuration, "-i", "-f", "a@b.example", to, stdin=content)

    run(program("postfix") or "", "-c", configuration, "start")
    try:
        yield deliver
    finally:
        run(program("postfix") or "", "-c", configuration, "stop")
        until(lambda: not _runs(home / "queue" / "pid" / "master.pid"), "Postfix to stop")
    log = (home / "log").read_text(errors="replace")
    assert not [line for line in log.splitlines() if "warning" in line or "error" in line or "fatal" in line]
    assert "status=sent" in log


def _runs(pid_file: Path) -> bool:
    try:
        return Path(f"/proc/{int(pid_file.read_text())}").exists()
    except (OSError, ValueError):
        return False
