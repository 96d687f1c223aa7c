"""A mail host in a booted system: Dovecot with virtual users in two domains, to whom it delivers by LMTP."""

import json
from pathlib import Path

from spamnb.cli.common.sample_mail import message
from spamnb.maildir.folders import create_folder
from tests.patience import until
from tests.systemd.machine import Machine

TAUGHT = ("anna@example.org", "ben@example.org", "carla@mail.example.net")
LESSONS = 25  # of each kind, that lie in the folders of each user
STATE = "/var/lib/spamnb-host"
SERVICE = "spamnb-host@1-of-1"
_IN_BOTH = """
ssl = no
first_valid_uid = 100
mail_uid = vmail
mail_gid = vmail
namespace inbox {
  inbox = yes
  separator = /
  mailbox Junk {
    auto = create
    special_use = \\Junk
  }
  mailbox Sent {
    special_use = \\Sent
  }
}
"""
_OF_VERSION = {
    "2.3": """
protocols = imap lmtp
mail_location = maildir:/var/vmail/%Ld/%Ln/Maildir
passdb {
  driver = passwd-file
  args = /dev/null
}
userdb {
  driver = static
  args = uid=vmail gid=vmail home=/var/vmail/%Ld/%Ln allow_all_users=yes
}
""",
    "2.4": """
dovecot_config_version = 2.4.0
dovecot_storage_version = 2.4.0
protocols {
  imap = yes
  lmtp = yes
}
mail_driver = maildir
mail_home = /var/vmail/%{user | domain | lower}/%{user | username | lower}
mail_path = ~/Maildir
passdb passwd-file {
  passwd_file_path = /dev/null
}
userdb static {
  allow_all_users = yes
}
""",
}
_DELIVER = """
import smtplib, sys
content = open(sys.argv[2], "rb").read()
with smtplib.LMTP("/run/dovecot/lmtp") as server:
    server.sendmail("sender@elsewhere.example", [sys.argv[1]], content)
"""

_numbers = iter(range(3000, 9999))


def maildir(name: str) -> str:
    """The Maildir of a user."""
    local, _, domain = name.partition("@")
    return f"/var/vmail/{domain}/{local}/Maildir"


class VirtualUsers:
    """The machine with its users, each with mail to learn from, and Dovecot, which delivers to them by LMTP.

    printed: what the commands have printed by which it was set up.
    """

    def __init__(self, machine: Machine) -> None:
        self.printed = ""
        self.machine = machine
        version = machine.run("dovecot", "--version").stdout[:3]
        machine.write("/etc/dovecot/dovecot.conf", _OF_VERSION[version] + _IN_BOTH)
        machine.write("/srv/deliver.py", _DELIVER)
        machine.run("useradd", "--system", "--no-create-home", "--shell=/usr/sbin/nologin", "vmail")
        machine.run("install", "-d", "-o", "vmail", "-g", "vmail", "/var/vmail")
        machine.run("systemctl", "restart", "dovecot")
        for name in TAUGHT:
            for folder, kind in (("INBOX", "ham"), ("Junk", "spam")):
                made = create_folder(str(machine.path(maildir(name))), "maildir++", folder)
                for number in range(LESSONS):
                    name_of_file = f"17000000{number:02}.M{number}P1.h:2,S"
                    Path(made.subdir("cur"), name_of_file).write_bytes(message(kind, number))
        machine.run("chown", "-R", "vmail:vmail", "/var/vmail")

    def deliver(self, name: str, kind: str = "spam") -> bytes:
        """Let Dovecot deliver the next made-up message of a kind."""
        content = message(kind, next(_numbers))
        self.machine.write("/srv/letter.eml", content.decode())
        done = self.machine.run("python3", "/srv/deliver.py", name, "/srv/letter.eml", check=False)
        assert done.returncode == 0, done.stderr + self.log("dovecot")
        return content

    def holds(self, name: str, folder: str, content: bytes) -> bool:
        """Whether a user's folder has a message, which Dovecot has changed a little."""
        root = self.machine.path(f"{maildir(name)}/{folder}")
        files = [path for sub in ("new", "cur") if (root / sub).is_dir() for path in (root / sub).iterdir()]
        identifier = next(line for line in content.splitlines() if line.startswith(b"Message-ID:"))
        return any(identifier in path.read_bytes() for path in files)

    def wait_recorded(self, name: str) -> None:
        """Wait until the mail that a user came with is recorded: what comes from then on is new."""
        status = ("spamnb", "--user", name, "status", "--json")

        def is_recorded() -> bool:
            mailboxes = json.loads(self.machine.run(*status).stdout)["mailboxes"]
            return any(mailbox["watched_since"] is not None for mailbox in mailboxes)

        until(is_recorded, f"the mail of {name} to be recorded")

    def moves(self, name: str) -> None:
        """Spam that is delivered to a user comes into Junk, and ham stays."""
        ham, spam = self.deliver(name, "ham"), self.deliver(name)
        until(lambda: self.holds(name, ".Junk", spam), f"spam of {name} to be moved")
        assert not self.holds(name, "", spam)
        assert self.holds(name, "", ham)

    def user(self, name: str) -> dict[str, object]:
        """Return the record of a user."""
        said = self.machine.run("spamnb", "users", "--json", "--all").stdout.splitlines()
        return next((one for one in map(json.loads, said) if one["name"] == name), {})

    def log(self, unit: str = "spamnb-host@*") -> str:
        """Return the log of the services."""
        return self.machine.run("journalctl", "--no-pager", "-o", "cat", "-n", "20", "-u", unit).stdout

    def show(self, unit: str, name: str) -> str:
        """A property of a unit."""
        return self.machine.run("systemctl", "show", f"--property={name}", "--value", unit).stdout.strip()

    def not_of_vmail(self) -> str:
        """Return the state and mail that do not belong to the owner of the mail."""
        return self.machine.run("find", STATE, "/var/vmail", "!", "-user", "vmail").stdout
