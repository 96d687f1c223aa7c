"""Dovecot's LMTP server, Sieve and imapsieve for virtual users of two domains, with the service of a mail host.

By the recipes of docs/mail-server.md: `spamc -u` selects the ledger.
"""

import re
import smtplib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from tests.delivery.mail_host import MailHost, spam
from tests.documents import block, read
from tests.imap.conftest import Host, as_sent, new_mail
from tests.imap.dovecot import BOTH, OLD, Dovecot, recipe
from tests.imap.postfix import postfix
from tests.imap.test_sieve import LMTP, write_program, write_sieve
from tests.patience import PATIENCE, until
from tests.ports import held_port

pytestmark = BOTH

DOCUMENT = "docs/mail-server.md"
ANNA, BOB, OTHER = MailHost.USERS
_MAIL = {OLD: "userdb_mail=maildir:~/Maildir"}  # of each user; anna of the test's own home has another place
_LMTP = "/var/spool/postfix/private/dovecot-lmtp"
_FORGED = b"X-Spam-Flag: YES\nX-Spamnb: spam\n"


def settings() -> dict[str, str]:
    """Both recipes together, as docs/mail-server.md says how that is done in 2.3."""
    at_delivery, moves = recipe(DOCUMENT, "dovecot-23", "dovecot-24"), recipe(DOCUMENT, "imapsieve-23", "imapsieve-24")
    moves[OLD] = moves[OLD].replace("+vnd.dovecot.pipe", "+vnd.dovecot.filter +vnd.dovecot.pipe")
    for_postfix = block(DOCUMENT, "postfix-lmtp-dovecot").replace(_LMTP, "%h/for-postfix")
    # Dovecot runs without rights here, and cannot give the socket to Postfix.
    for_postfix = re.sub(r" mode = 0600\n +user = postfix\n +group = postfix\n", " mode = 0666\n", for_postfix)
    return {version: at_delivery[version] + moves[version] + LMTP + for_postfix for version in moves}


class Served(NamedTuple):
    """A Dovecot, and the users whose mail it has, with the service over it."""

    dovecot: Host
    users: MailHost

    def is_known(self, user: str) -> bool:
        """Whether Dovecot has read about a user: it checks its file of users once per second at most."""
        with smtplib.LMTP(str(self.dovecot.directory / "run" / "lmtp"), local_hostname="mx.example") as server:
            server.ehlo_or_helo_if_needed()
            server.mail("a@b.example")
            return server.rcpt(user)[0] == 250

    def deliver(self, content: bytes, *users: str) -> None:
        """Deliver a message by LMTP, to several users at once."""
        with smtplib.LMTP(str(self.dovecot.directory / "run" / "lmtp"), local_hostname="mx.example") as server:
            server.ehlo_or_helo_if_needed()
            server.mail("a@b.example")
            assert [server.rcpt(user)[0] for user in users] == [250] * len(users)
            assert [server.data(as_sent(content))[0], *(server.getreply()[0] for _ in users[1:])] == [250] * len(users)


@pytest.fixture
def served(make_host: Callable[..., Host], dovecot: Dovecot) -> Iterator[Served]:
    """Users of two domains, with the recipes."""
    if not all(map(dovecot.program, ("sievec", "lmtp", "spamc"))):
        pytest.skip("needs Pigeonhole, Dovecot's LMTP server and spamc (Debian: dovecot-sieve, dovecot-lmtpd, spamc)")
    host = make_host(more=settings())
    users = MailHost(host.directory / "host", host.owner.pw_name)
    mail = _MAIL.get(dovecot.version, "userdb_mail_path=~/Maildir")
    with (host.directory / "users").open("a") as known:
        for user in users.USERS:
            home = users.maildir(user).parent
            known.write(f"{user}:{{PLAIN}}secret:{host.owner.pw_uid}:{host.owner.pw_gid}::{home}::{mail}\n")
    write_sieve(host, "learn.sieve", block(DOCUMENT, "imapsieve"))
    write_sieve(host, "spamnb.sieve", block(DOCUMENT, "sieve"))
    (for_users,) = re.findall(r"The last line is then\s+`(exec [^`]*)`", read(DOCUMENT))
    script = re.sub(r"^exec .*$", for_users, block(DOCUMENT, "sieve-script"), flags=re.MULTILINE)
    write_program(host, "spamnb-filter", at(users, script))
    write_program(host, "spamnb-learn", at(users, block(DOCUMENT, "imapsieve-script")))
    with users.running():
        made = Served(host, users)
        until(lambda: made.is_known(OTHER), "Dovecot to know the users")
        yield made


def at(users: MailHost, script: str) -> str:
    """A script of the documents, with the socket of the test."""
    return script.replace("/run/spamnb/spamd.sock", users.socket).replace("/run/spamnb/anna.sock", users.socket)


def test_delivered_to_several(served: Served) -> None:
    """A message to several users is judged with each user's own ledger, and Sieve files it without teaching."""
    content = spam(0)
    served.deliver(_FORGED + content, *served.users.USERS)
    for user in served.users.USERS:
        folder = "" if user == BOB else ".Junk"
        (found,) = served.users.mail(user, folder)
        assert found.count(b"X-Spamnb: ") == 1
        assert (b"\nX-Spam-Flag: YES\n" in found.replace(b"\r\n", b"\n")) == (user != BOB)
        assert f"answered spamc for {user}" in served.users.log()
        until(
            lambda user=user: served.users.kinds(user, content) == ["judged"],
            lambda: f"it to be seen: {served.users.log()}",
        )  # type: ignore[misc]
        assert served.users.totals(user) == [25, 25]


def test_postfix_hands_over_by_lmtp(served: Served) -> None:
    """Mail that Postfix hands over is judged with the ledger of each user, also if it came to an alias."""
    home, content = served.dovecot.directory / "postfix", spam(3)
    home.mkdir()
    (home / "aliases").write_text(f"info@two.example {OTHER}\n")
    main = "virtual_mailbox_domains = one.example, two.example\n"
    main += f"virtual_alias_maps = texthash:{home}/aliases\nvirtual_mailbox_maps = static:all\n"
    main += block(DOCUMENT, "postfix-lmtp").replace("private/dovecot-lmtp", f"{served.dovecot.directory}/for-postfix")
    with held_port() as port:
        services = f"127.0.0.1:{port} inet n - n - - smtpd\nlmtp unix - - n - - lmtp\n"
        with (
            postfix(home, home / "nobody", "nobody", services, main),
            smtplib.SMTP("127.0.0.1", port, timeout=PATIENCE) as client,
        ):
            client.sendmail("a@b.example", [ANNA, BOB, "info@two.example"], _FORGED + content)
            for user in served.users.USERS:
                folder = "" if user == BOB else ".Junk"
                until(
                    lambda user=user, folder=folder: served.users.mail(user, folder),
                    lambda: f"mail: {(home / 'log').read_text()}",
                )  # type: ignore[misc]
                assert f"answered spamc for {user}" in served.users.log()
                (found,) = served.users.mail(user, folder)
                assert (b"\nX-Spam-Flag: YES\n" in found.replace(b"\r\n", b"\n")) == (user != BOB)


def test_detail(served: Served) -> None:
    """Mail to an address with a detail is the user's."""
    served.deliver(spam(1), "anna+lists@one.example")
    assert len(served.users.mail(ANNA, ".Junk")) == 1


def test_moves_teach_the_own_filter(served: Served) -> None:
    """A user's moves into Junk and out of it teach that user's filter, once, and no other."""
    content = new_mail("ham")
    served.deliver(content, ANNA, OTHER)
    client = served.dovecot.client(ANNA)
    for source, destination, label in (("INBOX", "Junk", 1), ("Junk", "INBOX", 0)):
        client.move(content, source, destination)
        assert served.users.label(ANNA, content) == label
        assert served.users.label(OTHER, content) is None
    assert f"learned as spam, spamc -L for {ANNA}" in served.users.log()
    assert served.users.totals(ANNA) == [26, 25]
    assert served.users.totals(OTHER) == [25, 25]


def test_service_is_away(served: Served) -> None:
    """If the service cannot be asked mail is delivered unchanged, and no field of the sender is believed."""
    served.users.stop()
    served.deliver(_FORGED + spam(2), *served.users.USERS)
    for user in served.users.USERS:
        assert len(served.users.mail(user)) == 1
    faults = served.dovecot.dovecot_faults()
    assert all("spamnb-filter" in fault for fault in faults), faults
    served.dovecot.dovecot_log.write_text("")
