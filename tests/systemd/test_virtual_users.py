"""Mailboxes of one user, set up as docs/mail-host.md says: an instance each."""

from spamnb.cli.common.sample_mail import message
from tests.documents import block
from tests.systemd.conftest import as_root
from tests.systemd.machine import Machine, until
from tests.systemd.unit import Unit

_MAILBOXES = {"carla": "example.org", "dora": "example.org", "carla.m": "mail.example.net"}


def test_virtual_users(machine: Machine, system_unit: Unit) -> None:
    """Each mailbox below /var/vmail gets a service that has learned from its folders and moves its spam, as vmail."""
    machine.run("useradd", "--system", "--no-create-home", "--shell=/usr/sbin/nologin", "vmail")
    for user, domain in _MAILBOXES.items():
        for folder, kind in (("", "ham"), (".Junk", "spam")):
            for sub in ("new", "tmp", "cur"):
                machine.run("install", "-d", "-o", "vmail", "-g", "vmail", f"{_maildir(user, domain)}/{folder}/{sub}")
            for number in range(25):
                name = f"{_maildir(user, domain)}/{folder}/cur/17000000{number:02}.M{number}P1.h:2,S"
                machine.write(name, message(kind, number).decode(), "vmail")
    for _ in ("at first", "again"):
        as_root(machine, block("docs/mail-host.md", "virtual-users"))
    for user, domain in _MAILBOXES.items():
        unit = f"spamnb-vmail@{user}@{domain}"
        assert machine.run("systemctl", "is-active", unit).stdout.strip() == "active"
        assert machine.run("systemctl", "show", "--property=User", "--value", unit).stdout.strip() == "vmail"
        root = machine.path(_maildir(user, domain))
        machine.write(f"{_maildir(user, domain)}/tmp/1800000000.M1P1.h", message("spam", 700).decode(), "vmail")
        (root / "tmp/1800000000.M1P1.h").rename(root / "new/1800000000.M1P1.h")
        until(lambda root=root: any((root / ".Junk/new").iterdir()), f"spam moved by {unit}")  # type: ignore[misc]
        config = f"/var/lib/spamnb/{user}@{domain}/config.yaml"
        status = machine.run("runuser", "-u", "vmail", "--", "spamnb", "--config", config, "status").stdout
        assert "25 ham, 25 spam" in status


def _maildir(user: str, domain: str) -> str:
    return f"/var/vmail/{domain}/{user}/Maildir"
