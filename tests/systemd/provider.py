"""An account at a provider in a booted system: its Dovecot, and a person's home that `init --imap` keeps in step.

What happens at the provider and when is told by `provider_probe.py`, which runs in the system.
"""

import json
import re
import subprocess
import tempfile
from pathlib import Path

from spamnb.cli.common.sample_mail import message
from spamnb.provider.isync import ImapAccount, fault_in
from tests.patience import PATIENCE, until
from tests.systemd.machine import Machine

USER, HOST = "you@provider.example", "localhost"
IMAPS, IMAP = 1993, 1143
LESSONS = 25
_PLACE = "/srv/provider"
_PROBE = Path(__file__).with_name("provider_probe.py")
_DOVECOT = f"""\
dovecot_config_version = 2.4.0
dovecot_storage_version = 2.4.0
base_dir = {_PLACE}/run
state_dir = {_PLACE}/run
log_path = {_PLACE}/log
listen = 127.0.0.1
protocols {{
  imap = yes
}}
auth_allow_cleartext = yes
ssl = yes
ssl_server_cert_file = {_PLACE}/cert.pem
ssl_server_key_file = {_PLACE}/key.pem
first_valid_uid = 1
mail_driver = maildir
mail_home = {_PLACE}/mail/%{{user}}
mail_path = ~/Maildir
mail_uid = mail
mail_gid = mail
passdb static {{
  password = secret
}}
userdb static {{
  allow_all_users = yes
}}
service imap-login {{
  inet_listener imap {{
    port = {IMAP}
  }}
  inet_listener imaps {{
    port = {IMAPS}
    ssl = yes
  }}
}}
namespace inbox {{
  inbox = yes
  separator = /
  mailbox Junk {{
    auto = create
    special_use = \\Junk
  }}
}}
"""


def answers(machine: Machine, port: int) -> bool:
    """Whether a server listens at a port of the system."""
    return machine.run("bash", "-c", f": </dev/tcp/127.0.0.1/{port}", check=False).returncode == 0


class Provider:
    """A provider with mail to learn from, and a person of the system whose account is there. port: for mbsync."""

    port = IMAPS

    def __init__(self, machine: Machine, person: str) -> None:
        self.machine = machine
        self.person = person
        self.home = f"/home/{person}"
        self.wanted = f"{self.home}/.local/share/spamnb/mbsync-wanted"
        self._start()
        machine.write(f"{_PLACE}/probe.py", _PROBE.read_text())
        for kind in ("ham", "spam"):
            for number in range(LESSONS):
                machine.write(f"{_PLACE}/lessons/{kind}/{number}.eml", message(kind, number).decode())
        self.probe("fill", f"{_PLACE}/lessons")

    def _start(self) -> None:
        machine = self.machine
        with tempfile.TemporaryDirectory(prefix="spamnb-tls-") as name:
            new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={HOST}"]
            new += ["-addext", f"subjectAltName=DNS:{HOST}", "-keyout", f"{name}/key.pem", "-out", f"{name}/cert.pem"]
            subprocess.run(new, check=True, capture_output=True)
            for file in ("key.pem", "cert.pem"):
                machine.write(f"{_PLACE}/{file}", Path(name, file).read_text())
        self._trust(f"{_PLACE}/cert.pem")
        machine.write(f"{_PLACE}/dovecot.conf", _DOVECOT)
        machine.run("install", "-d", "-o", "mail", "-g", "mail", f"{_PLACE}/mail")
        machine.run("systemd-run", "--quiet", "--unit=provider", "dovecot", "-F", "-c", f"{_PLACE}/dovecot.conf")
        until(lambda: answers(machine, IMAP), "the provider to answer")

    def _trust(self, file: str) -> None:
        """Let the system trust a certificate, by the commands that `init --imap` names for Debian."""
        said = fault_in("Error, certificate", ImapAccount(USER, HOST), "", Path("/"))
        (commands,) = re.findall(r"Debian: (.*?)\. Fedora: ", said)
        self.machine.run("sh", "-euc", commands.replace("FILE", file))

    def probe(self, *arguments: str, timeout: float = 5 * PATIENCE) -> list[dict[str, float]]:
        """Do something at the provider, or watch; what the probe has printed, line by line."""
        done = self.machine.run("python3", f"{_PLACE}/probe.py", str(IMAP), USER, *arguments, timeout=timeout)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def set_up(self, more: str = "") -> str:
        """Call `init --imap` in the person's home, and start the service; what init printed. more: configuration."""
        machine, person = self.machine, self.person
        machine.write(f"{self.home}/.mbsync-password", "secret\n", person)
        machine.path(f"{self.home}/.mbsync-password").chmod(0o600)
        machine.run("systemctl", "start", f"user@{machine.uid(person)}.service")
        printed = machine.run(
            "spamnb", "init", "--imap", f"{USER}@{HOST}:{self.port}", user=person, timeout=5 * PATIENCE
        ).stdout
        with machine.path(f"{self.home}/.config/spamnb/config.yaml").open("a") as config:
            config.write(more)
        machine.run("spamnb", "install-unit", "--user", user=person)
        self.systemctl("daemon-reload")
        self.systemctl("enable", "--now", "spamnb")
        return printed

    def said(self) -> str:
        """What the person's service manager, mbsync and the filter have said."""
        return self.machine.run("journalctl", "--no-pager", f"_UID={self.machine.uid(self.person)}").stdout[-4000:]

    def is_idle(self) -> bool:
        """Whether mbsync does not run, and nobody wants it."""
        state = self.systemctl("show", "--property=ActiveState", "--value", "mbsync.service").strip()
        return state in {"inactive", "failed"} and not self.machine.path(self.wanted).exists()

    def systemctl(self, *arguments: str) -> str:
        """`systemctl --user`; what it printed."""
        return self.machine.run("systemctl", "--user", *arguments, user=self.person, timeout=2 * PATIENCE).stdout
