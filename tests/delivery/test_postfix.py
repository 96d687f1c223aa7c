"""Postfix on a mail host without Dovecot, by docs/mail-server.md: the content filter asks for each recipient."""

import smtplib
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import spamnb
from tests.delivery.agents import SENDMAIL, needs
from tests.delivery.conftest import HAM
from tests.delivery.mail_host import MailHost, spam
from tests.delivery.postfix import USER
from tests.documents import block
from tests.imap.postfix import postfix
from tests.patience import PATIENCE, until
from tests.ports import held_port

pytestmark = pytest.mark.real_system
DOCUMENT = "docs/mail-server.md"
UNKNOWN = "dora@one.example"  # Postfix makes her Maildir with her first message
_FORGED = b"X-Spam-Flag: YES\nX-Spamnb: spam, forged\n"
# Postfix's own delivery into the Maildirs, by their path.
_MAIN = """
virtual_mailbox_domains = one.example, two.example
virtual_mailbox_base = {mail}
virtual_mailbox_maps = texthash:{maildirs}
virtual_uid_maps = static:{uid}
virtual_gid_maps = static:{gid}
virtual_minimum_uid = 1
"""


@pytest.fixture
def users() -> Iterator[MailHost]:
    """The users of two domains, and their service, which runs as the owner of the mail."""
    needs("spamc")
    with tempfile.TemporaryDirectory(prefix="spamnb-users-") as place:
        made = MailHost(Path(place).resolve(), USER)
        made.site.directory.chmod(0o755)
        made.host.path.chmod(0o644)
        with made.running():
            yield made


@contextmanager
def mail_server(users: MailHost) -> Iterator[int]:
    """Postfix with the recipe; gives its port."""
    directory = users.site.directory
    with held_port() as port, held_port() as back:
        program = directory / "spamnb"
        program.write_text(
            f"#!/bin/sh\nexport PYTHONPATH={Path(spamnb.__file__).parent.parent}\n"
            f'exec {sys.executable} -m spamnb --config {users.host.path} "$@"\n'
        )
        # A user without rights may call `sendmail` only for the system's own Postfix.
        (sendmail := directory / "sendmail").write_text(f"#!{sys.executable}\n{SENDMAIL.format(port=back)}")
        script = block(DOCUMENT, "postfix-users-filter").replace("/run/spamnb/spamd.sock", users.socket)
        script = script.replace("/usr/local/bin/spamnb", str(program)).replace("/usr/sbin/sendmail", str(sendmail))
        (called := directory / "spamnb-filter").write_text(script)
        for path in (program, sendmail, called):
            path.chmod(0o755)
        services = block(DOCUMENT, "postfix-users-master").replace("/usr/local/bin/spamnb-filter", str(called))
        services = services.replace("smtp inet", f"127.0.0.1:{port} inet").replace("user=vmail", f"user={USER}")
        services += f"127.0.0.1:{back} inet n - n - - smtpd\nvirtual unix - n n - - virtual\n"
        known = [(user, users.maildir(user).relative_to(users.site.mail)) for user in (*users.USERS, UNKNOWN)]
        (maildirs := directory / "maildirs").write_text("".join(f"{user} {path}/\n" for user, path in known))
        owner = users.site.mail.stat()
        main = _MAIN.format(mail=users.site.mail, maildirs=maildirs, uid=owner.st_uid, gid=owner.st_gid)
        main += block(DOCUMENT, "postfix-users-main")
        with postfix(directory / "postfix", directory / "spool-of-nobody", USER, services, main):
            yield port


def send(port: int, content: bytes, *users: str) -> None:
    """Send a message to users, in one transaction."""
    with smtplib.SMTP("127.0.0.1", port, timeout=PATIENCE) as client:
        assert client.sendmail("a@b.example", users, content) == {}


def arrived(users: MailHost, user: str, folder: str = "") -> bytes:
    """Return the only message in a folder of a user, when it is there."""
    log = users.site.directory / "postfix/log"
    until(lambda: users.mail(user, folder), lambda: f"mail of {user}: {log.read_text()}{users.log()}")
    (found,) = users.mail(user, folder)
    return found


def test_each_recipient_has_the_own_verdict(users: MailHost) -> None:
    """A message to several users is judged with each user's own ledger; the service moves it and learns nothing."""
    content = spam(0)
    with mail_server(users) as port:
        send(port, _FORGED + content, *users.USERS)
        for user in users.USERS:
            folder = "" if user.startswith("bob") else ".Junk"
            found = arrived(users, user, folder)
            assert found.count(b"X-Spamnb: ") == 1
            assert (b"\nX-Spam-Flag: YES\n" in found) == bool(folder)
            assert f"answered spamc for {user}" in users.log()
            done = ["moved" if folder else "judged"]
            until(lambda user=user, done=done: users.kinds(user, content) == done, "the service to see it")  # type: ignore[misc]
            assert users.totals(user) == [25, 25]


def test_who_is_no_user(users: MailHost) -> None:
    """Mail of a recipient whom the host does not know, and mail while no service runs, comes without a forged field."""
    with mail_server(users) as port:
        send(port, _FORGED + spam(1), UNKNOWN)
        found = arrived(users, UNKNOWN)
        assert b"X-Spam-Flag" not in found
        assert b"forged" not in found
        users.stop()
        send(port, _FORGED + HAM, users.USERS[0])
        found = arrived(users, users.USERS[0])
        assert found.count(b"X-Spamnb: ham, ") == 1
        assert b"X-Spam-Flag" not in found
