"""A real Exim with a private configuration and spool, which takes mail by SMTP on loopback.

Debian's exim4-daemon-heavy cannot be installed beside Postfix: `.ci/run` unpacks it.
"""

import os
import pwd
import re
import shutil
import smtplib
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.delivery.conftest import Home
from tests.imap.conftest import as_sent, program
from tests.patience import PATIENCE, until
from tests.ports import held_port

USER = "nobody"  # whom it runs as, and delivers as: it delivers nothing as root
_HOME = "home.example"
_MAIN = """
exim_path = {program}
exim_user = {user}
exim_group = {group}
deliver_drop_privilege
primary_hostname = home.example
spool_directory = {home}/spool
log_file_path = {home}/%slog
pid_file_path = {home}/pid
check_spool_space = 0
smtp_accept_queue_per_connection = 0
host_lookup =
tls_advertise_hosts =
keep_environment =
add_environment =
acl_smtp_rcpt = acl_check_rcpt
localpartlist users = {names}
{main}
begin acl
acl_check_rcpt:
  accept
{acl}
begin routers
local:
  driver = accept
  domains = {domains}
  local_parts = +users
  transport = {name}
begin transports
{transport}
begin retry
* * F,1h,1m
"""

DELIVERS = """maildir_home:
  driver = appendfile
  maildir_format
  delivery_date_add
  envelope_to_add
  return_path_add
"""


class Exim:
    """An Exim that runs."""

    def __init__(self, home: Path, command: list[str], port: int) -> None:
        self._home = home
        self._command = command
        self._port = port

    def send(self, *contents: bytes, to: str | Sequence[str] = f"{USER}@{_HOME}") -> None:
        """Send messages by SMTP, each to an address of this host, or to several at once."""
        with smtplib.SMTP("127.0.0.1", self._port, local_hostname="mx.example", timeout=PATIENCE) as client:
            for content in contents:
                client.sendmail("a@b.example", to, as_sent(content))

    def waiting(self) -> int:
        """How many messages in its queue were tried, and not delivered."""
        tried = {*re.findall(r"(\S+) == ", self.log())}
        return len(tried - {*re.findall(r"(\S+) Completed$", self.log(), re.MULTILINE)})

    def try_again(self) -> None:
        """Try to deliver waiting mail now, even before it is due."""
        self._run("-qff")

    def log(self, name: str = "main") -> str:
        """Return its log: `main`, or `panic` for faults."""
        path = self._home / f"{name}log"
        return path.read_text(errors="replace") if path.exists() else ""

    def delivered(self) -> int:
        """How many messages were delivered."""
        return len(re.findall(r" Completed$", self.log(), re.MULTILINE))

    def is_idle(self) -> bool:
        """Whether the queue is empty."""
        return int(self._run("-bpc")) == 0

    def _run(self, *arguments: str) -> bytes:
        return subprocess.run([*self._command, *arguments], capture_output=True, timeout=PATIENCE, check=True).stdout


def needed() -> str:
    """Exim's program; skips if it cannot be used here."""
    found = program("exim4")
    if found is None or os.getuid() != 0:
        pytest.skip("needs Exim with content scanning (Debian: exim4-daemon-heavy, as .ci/run unpacks it), and root")
    told = subprocess.run([found, "-bV", "-C", "/dev/null"], capture_output=True, text=True, check=False)
    if "Content_Scanning" not in told.stdout:
        pytest.skip(f"Exim does not start, or has no content scanning: {told.stderr.strip()}")
    return found


def transport(home: Home) -> str:
    """A transport to this home's Maildir with the lines of docs/mail-server.md; the home is its user's then."""
    for path in (home.path, home.path / "ledger.sqlite", home.path / "Maildir", *(home.path / "Maildir").rglob("*")):
        shutil.chown(path, USER)
    (home.path / "config.yaml").chmod(0o644)
    return DELIVERS + f"  directory = {home.path}/Maildir\n" + home.recipe("exim-transport")


@contextmanager
def exim(
    home: Path, transport: str, main: str = "", acl: str = "", domains: str = _HOME, names: str = f"{USER} : anna"
) -> Iterator[Exim]:
    """Exim below a directory, which delivers all mail of these users by `transport`. A filter has the time of tests."""
    found = needed()
    transport = transport.replace("_timeout = 1m", f"_timeout = {PATIENCE:.0f}s")
    owner = pwd.getpwnam(USER)
    home.mkdir()
    (home / "spool").mkdir()
    for path in (home, home / "spool"):
        os.chown(path, owner.pw_uid, owner.pw_gid)
    configuration = home / "exim.conf"
    name = transport.partition(":")[0]
    values = {
        "names": names,
        "domains": domains,
        "name": name,
        "program": found,
        "user": owner.pw_uid,
        "group": owner.pw_gid,
        "home": home,
    }
    configuration.write_text(_MAIN.format(main=main, acl=acl, transport=transport, **values))
    command = [found, "-C", str(configuration)]
    with held_port() as port:
        daemon = subprocess.Popen([*command, "-bdf", "-oX", f"127.0.0.1.{port}"], stderr=subprocess.PIPE)
        made = Exim(home, command, port)
        try:
            until(lambda: daemon.poll() is not None or "listening for SMTP" in made.log(), "Exim to listen")
            assert daemon.poll() is None, daemon.communicate()[1].decode()
            yield made
            until(made.is_idle, lambda: f"Exim's queue to be empty: {made.log()[-2000:]}")
        finally:
            daemon.terminate()
            daemon.communicate(timeout=PATIENCE)
    assert not re.search(r"^\S+ \S+ \S+ \*\* ", made.log(), re.MULTILINE), made.log()  # a bounce
