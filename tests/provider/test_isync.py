"""The configuration for mbsync, and its output: the account, the server's folders, faults; the units that call it."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from spamnb.base.errors import SpamnbError, UsageError
from spamnb.base.label import Role
from spamnb.config.settings import Mailbox
from spamnb.mail.path import site_of
from spamnb.provider import isync, sync_units
from spamnb.provider.isync import ImapAccount, account, fault_in, folders_in, rc, version_in
from spamnb.provider.providers import PROVIDERS, Wanted, provider_at, site_at
from spamnb.setup.proposal import Proposal, with_roles
from tests.patience import PATIENCE
from tests.table import over_rows

ANNA = ImapAccount("anna", "mail.example")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("anna@mail.example", ANNA),
        ("you@gmail.com@imap.gmail.com", ImapAccount("you@gmail.com", "imap.gmail.com")),
        ("anna@mail.example:1993", ImapAccount("anna", "mail.example", 1993)),
    ],
)
def test_account(text: str, found: ImapAccount) -> None:
    """The text before the last @ is the user, and a port may follow the host."""
    assert account(text) == found


@over_rows("text", ["", "anna", "@host", "anna@", "a b@host", 'a"@host', "a@ho st", "a@h:0", "a@h:70000"])
def test_no_account(text: str) -> None:
    """A text that cannot name a user and a host is refused, with an example."""
    with pytest.raises(UsageError, match="write USER@HOST, such as you@gmail"):
        account(text)


def test_versions() -> None:
    """Versions before 1.4 are refused; from 1.5 on the kind of TLS has another name."""
    assert version_in("isync 1.4.4\n") == (1, 4)
    assert version_in("isync 1.10.0\n") == (1, 10)
    for printed in ("isync 1.3.0\n", "mbsync", ""):
        with pytest.raises(SpamnbError, match=r"1\.4 or later is needed"):
            version_in(printed)
    assert "\nSSLType IMAPS\n" in rc(ANNA, "x", Path("/m"), (), (1, 4))
    assert "\nTLSType IMAPS\n" in rc(ANNA, "x", Path("/m"), (), (1, 5))


def test_folders_by_their_use() -> None:
    """Roles come from special uses, under any name, prefix and separator; what repeats messages is left out."""
    told = folders_in(
        '* NAMESPACE (("INBOX." ".")) NIL NIL\n'
        '* LIST (\\HasNoChildren) "." INBOX\n'
        '* LIST (\\Junk \\HasNoChildren) "." "INBOX.Ramsch.Neu \\"1\\""\n'
        '* LIST (\\hasnochildren \\sent) "." INBOX.Versandt\n'
        '* LIST (\\All) "." "INBOX.Alles"\n'
        '* LIST (\\Trash) "." "INBOX.Gel&APY-scht"\n'
        "* LIST (\\Drafts) NIL Entw\n"
        "3 OK done\n"
    )
    assert told.roles == {
        'Ramsch/Neu "1"': Role.SPAM,
        "Versandt": Role.SENT,
        "Gelöscht": Role.NEUTRAL,
        "Entw": Role.NEUTRAL,
    }
    assert list(told.repeated) == ["Alles"]


def test_gmail_without_uses() -> None:
    """Gmail's folders that repeat messages are known by name too, and so if the server's answers cannot be read."""
    told = folders_in('* LIST (\\HasNoChildren) "/" "[Gmail]/All Mail"\n* LIST () "/" Work\n')
    assert (dict(told.roles), list(told.repeated)) == ({}, ["[Gmail]/All Mail"])
    assert "[Gmail]/All Mail" in folders_in("").repeated


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("IMAP command 'LOGIN <user> <pass>' returned an error: NO Invalid\n", "does not accept the user and the pass"),
        ("Error: Cannot resolve server 'h': Temporary failure in name resolution\n", "connected to the network?"),
        ("Error: Cannot resolve server 'h': Name or service not known\n", "there is no host mail.example"),
        ("Cannot connect to h (1.2.3.4:993): Network is unreachable\n", "connected to the network?"),
        ("Cannot connect to h (1.2.3.4:993): No route to host\n", "connected to the network?"),
        ("Cannot connect to h (1.2.3.4:993): Connection timed out\n", "does not answer at port 993 (Connection timed"),
        ("SSL error connecting h (1.2.3.4:993): self-signed certificate\n", "is not trusted (self-signed certificate)"),
        ("SSL error connecting h (1.2.3.4:143): wrong version number\n", "does not speak TLS at port 993"),
        ("Maildir error: cannot write: No space left on device\n", "the disk is full"),
        ("something\x1b[31m else\n", "mbsync failed: something\\x1b[31m else"),
        ("", "mbsync failed: it gave no reason"),
    ],
)
def test_faults(said: str, meant: str, tmp_path: Path) -> None:
    """Each fault of mbsync is a sentence that says what to do; one that is not known is quoted, safely."""
    assert meant in fault_in(said, ANNA, "pass show", tmp_path)


def test_what_providers_ask_for() -> None:
    """A provider is known by its server's name, and the fault of a log-in says what it wants, and its page."""
    assert provider_at("mail.example") is None
    for host, wants in (
        ("Imap.Gmail.com", Wanted.APP_PASSWORD),
        ("outlook.office365.com", Wanted.OAUTH2),
        ("posteo.de", Wanted.PASSWORD),
    ):
        assert (found := provider_at(host)) is not None
        assert found.wants is wants
    assert len({provider.name for provider in PROVIDERS}) == len(PROVIDERS)
    for provider in PROVIDERS:
        assert provider.page.startswith("https://")
        assert not provider.site or site_of(provider.site) == provider.site
    said = "IMAP command 'LOGIN <user> <pass>' returned an error: NO\n"
    gmail = fault_in(said, ImapAccount("you", "imap.gmail.com"), "pass", Path("/"))
    assert "Gmail: it wants an app password" in gmail
    assert "https://support.google.com/accounts/answer/185833" in gmail
    here = fault_in(said, ImapAccount("you", "127.0.0.1", 1993), "pass", Path("/"))
    assert here.endswith("look at what the program at port 1993 says")


def test_the_servers_of_a_provider() -> None:
    """The site of a known provider's servers is proposed, without looking at mail; for others the mail tells."""
    for host, site in (("imap.fastmail.com", "messagingengine.com"), ("IMAP.aol.com", "yahoo.com")):
        assert site_at(host) == site
    for host in ("imap.zoho.eu", "imap.mailbox.org", "mail.example", ""):
        assert site_at(host) == ""


def test_a_program_on_this_machine() -> None:
    """At 127.0.0.1 mbsync uses no TLS, since nothing leaves the machine; at any other name it does."""
    here = rc(ImapAccount("you", "127.0.0.1", 1993), "x", Path("/m"), (), (1, 4))
    assert "\nSSLType None\nAuthMechs LOGIN\n" in here
    assert "\nSSLType IMAPS\n" in rc(ImapAccount("you", "localhost", 1993), "x", Path("/m"), (), (1, 4))


def test_roles_that_the_server_tells(tmp_path: Path) -> None:
    """A role from the server has priority over one by name, if the folder exists; its spam folder leads."""
    roles = {"INBOX": Role.INBOX, "Ramsch": Role.HAM, "Junk": Role.SPAM}
    there = {"INBOX": [], "Ramsch": []}
    proposal = Proposal(Mailbox(tmp_path, roles), (), dict(there), [])  # type: ignore[arg-type]
    found = with_roles(proposal, {"Ramsch": Role.SPAM, "Away": Role.SENT}).mailbox
    assert (found.spam_folder, dict(found.roles)) == ("Ramsch", {"INBOX": Role.INBOX, "Ramsch": Role.SPAM})
    proposal = Proposal(Mailbox(tmp_path, roles), (), {**there, "Junk": []}, [])  # type: ignore[arg-type]
    found = with_roles(proposal, {"Ramsch": Role.SPAM}).mailbox
    assert [name for name, role in found.roles.items() if role is Role.SPAM] == ["Ramsch", "Junk"]
    assert with_roles(proposal, {}).mailbox.roles == roles


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_units_are_read_by_systemd(tmp_path: Path) -> None:
    """systemd finds no fault in the units, whatever the paths hold."""
    program = tmp_path / "100% mail/mbsync"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    texts = sync_units.of_mbsync(ANNA, str(program), tmp_path / "a b", tmp_path / "50% moved", has_listener=True)
    texts |= sync_units.of_listener(str(program), tmp_path / "a b")
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    verify = ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / name) for name in texts)]
    done = subprocess.run(verify, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert [line for line in done.stderr.splitlines() if str(tmp_path) in line] == []


def test_what_goimapnotify_is_told() -> None:
    """The listener trusts no foreign certificate, knows no password, and makes the file that calls mbsync."""
    told = json.loads(sync_units.listener_conf(ANNA, "pass show mail", Path("/home/anna/a b")))
    assert (told["port"], told["tls"], told["tlsOptions"]["rejectUnauthorized"]) == (isync.PORT, True, True)
    assert (told["passwordCmd"], "password" in told) == ("pass show mail", False)
    assert told["onNewMail"] == "touch '/home/anna/a b'"
