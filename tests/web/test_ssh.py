"""The pages from another machine, as docs/web.md says, by a real SSH: its server has a network of its own."""

import http.client
import os
import pty
import pwd
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import block
from tests.patience import PATIENCE, until
from tests.ports import held_port

pytestmark = pytest.mark.real_system
SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin")
# The other machine: no network but its own loopback, on which the same port is free, and what sshd needs in /run.
THERE = "mount -t tmpfs none /run && mkdir -m 755 /run/sshd && ip link set lo up && exec {sshd} -i -f {config} -E {log}"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """The configuration of an SSH client that knows a machine `there`, with a home of its own for this user."""
    if SSHD is None or shutil.which("ssh") is None:
        pytest.skip("SSH is not installed (Debian: apt install openssh-client openssh-server)")
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("another machine is played by root alone")
    (tmp_path / "home").mkdir()
    for name in ("host", "user"):
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)]
        subprocess.run(key, check=True, timeout=PATIENCE)
    path = f"{os.path.dirname(sys.executable)}:/usr/bin:/bin"
    (tmp_path / "sshd_config").write_text(
        f"HostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/user.pub\nStrictModes no\nUsePAM no\nPrintMotd no\n"
        f"PermitRootLogin prohibit-password\nSetEnv HOME={tmp_path}/home PATH={path}\n"
    )
    server = THERE.format(sshd=SSHD, config=tmp_path / "sshd_config", log=tmp_path / "sshd.log")
    config = tmp_path / "ssh_config"
    config.write_text(
        f"Host there\n  ProxyCommand unshare --net --mount sh -c '{server}'\n  IdentityFile {tmp_path}/user\n"
        f"  UserKnownHostsFile {tmp_path}/known\n  StrictHostKeyChecking accept-new\n  LogLevel ERROR\n"
    )
    return config


class Terminal:
    """A person's terminal, in which a command of a document runs."""

    def __init__(self, command: str) -> None:
        self.shown = ""
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)

    def find(self, pattern: str) -> "re.Match[str] | None":
        """Return the match of this pattern in the output."""
        while select.select([self._ours], [], [], 0)[0]:
            try:
                self.shown += os.read(self._ours, 65_536).decode()
            except OSError:  # EIO: nobody uses it any more
                break
        return re.search(pattern, self.shown)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._ours, keys.encode())

    def close(self) -> None:
        """Close the window."""
        os.close(self._ours)
        self.process.kill()
        self.process.wait(PATIENCE)


def is_running(what: str) -> bool:
    """Whether a process has this among its arguments."""
    for arguments in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if what.encode() in arguments.read_bytes().split(b"\0"):
                return True
        except OSError:  # it has just ended
            continue
    return False


def ask(address: str, path: str, **headers: str) -> tuple[int, str]:
    """The status of a page, and the cookie that comes with it."""
    client = http.client.HTTPConnection(address, timeout=PATIENCE)
    try:
        client.request("GET", path, headers=headers)
        answer = client.getresponse()
        answer.read()
        return answer.status, (answer.headers["Set-Cookie"] or "").partition(";")[0]
    finally:
        client.close()


def test_from_another_machine(there: Path) -> None:
    """The address that is printed there leads to the pages here; Ctrl-C ends both."""
    with held_port() as port:
        where = f"127.0.0.1:{port}"
        command = block("docs/web.md", "ssh").strip().replace("7726", str(port))
        command = command.replace("ssh ", f"ssh -F {there} ", 1).replace(
            "you@", f"{pwd.getpwuid(os.geteuid()).pw_name}@"
        )
        terminal = Terminal(f"{command} --listen {where}")
        try:
            until(lambda: terminal.find(r"End with Ctrl-C") is not None, "the address there")
            found = terminal.find(rf"http://{where}(/\w+/)(login\?code=\S+)")
            assert found is not None, terminal.shown
            assert ask(where, "/") == (404, "")
            status, cookie = ask(where, found[1] + found[2])
            assert (status, cookie.partition("=")[0]) == (303, f"spamnb_{port}")
            assert ask(where, found[1], Cookie=cookie) == (200, "")
            assert is_running(where)
            terminal.type("\x03")
            until(lambda: terminal.process.poll() is not None, "ssh to end")
            until(lambda: not is_running(where), "the pages there to end")
        finally:
            terminal.close()
