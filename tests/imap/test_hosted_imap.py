"""The recipe of docs/hosted-imap.md, block by block, from an empty home to a rescue made on the server."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

import spamnb
from tests.documents import block, blocks
from tests.imap.conftest import Client, Host, new_mail
from tests.imap.dovecot import ONLY_OLD
from tests.imap.test_first_arrivals import WEAK, wait_for_lesson
from tests.patience import until

pytestmark = [
    ONLY_OLD,  # it plays a provider
    pytest.mark.skipif(
        shutil.which("mbsync") is None or shutil.which("openssl") is None,
        reason="needs mbsync (Debian: isync) and openssl",
    ),
]

_DOCUMENT = "docs/hosted-imap.md"
_USER = "you@gmail.com"  # as the document has it
_LESSONS = 25
_PATIENCE = 120.0
_TLS = """
ssl = yes
ssl_cert = <{directory}/cert.pem
ssl_key = <{directory}/key.pem
service imap-login {{
  inet_listener imaps {{
    port = {port}
    ssl = yes
  }}
}}
namespace inbox {{
  separator = {separator}
  prefix = {prefix}
  mailbox Junk {{
    auto = no
  }}
}}
"""


@dataclass(frozen=True)
class Provider:
    """How a provider names folders; spam and archive as the server and as the Maildir has them."""

    name: str
    separator: str
    prefix: str
    spam: str
    archive: str
    other: tuple[str, ...]

    def local(self, folder: str) -> str:
        """A folder's name in the Maildir."""
        return folder if folder == "INBOX" else folder.removeprefix(self.prefix).replace(self.separator, "/")


GMAIL = Provider(
    "Gmail", "/", "", "[Gmail]/Spam", "Work/2026", ("[Gmail]/All Mail", "[Gmail]/Trash", "[Gmail]/Sent Mail")
)
COURIER = Provider("Courier", ".", "INBOX.", "INBOX.Junk", "INBOX.Work.2026", ("INBOX.Trash", "INBOX.Sent"))


class Home:
    """A home directory in which the blocks of the document are run, as a person types them."""

    def __init__(self, directory: Path, certificate: Path, host: Host) -> None:
        self.directory = directory
        self.host = host
        programs = directory / "bin"
        programs.mkdir(parents=True)
        (programs / "spamnb").write_text(f'#!/bin/sh\nexec {sys.executable} -m spamnb "$@"\n')
        (programs / "spamnb").chmod(0o755)
        self.environ = {
            "HOME": str(directory),
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(Path(spamnb.__file__).parent.parent),
            "SSL_CERT_FILE": str(certificate),  # the authority that this system trusts
        }

    def run(self, name: str, typed: str = "") -> str:
        """Run a block to its end; what it printed."""
        done = subprocess.run(
            ["bash", "-euc", block(_DOCUMENT, name)],
            input=typed,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
            env=self.environ,
            cwd=self.directory,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        return done.stdout

    def write_mbsyncrc(self, port: int) -> None:
        """The file of the document, with the host of this account in it."""
        text = block(_DOCUMENT, "mbsyncrc")
        assert f"\nUser {_USER}\n" in text
        assert text.count("Host imap.gmail.com\n") == 1
        text = text.replace("Host imap.gmail.com\n", f"Host localhost\nPort {port}\n")
        (self.directory / ".mbsyncrc").write_text(text)

    def configure(self, more: str) -> None:
        """Add lines to the configuration, as an editor does."""
        with (self.directory / ".config/spamnb/config.yaml").open("a") as file:
            file.write(more)

    def start(self) -> None:
        """Run the block that starts the service; it is the host's service from now on."""
        host, share = self.host, self.directory / ".local/share/spamnb"
        host.config, host.ledger = self.directory / ".config/spamnb/config.yaml", share / "ledger.sqlite"
        host.root, host.layout = self.directory / "Mail", "fs"
        host.look_again()
        with host.log_file.open("ab") as log:
            command = ["bash", "-euc", "exec " + block(_DOCUMENT, "service")]
            host.process = subprocess.Popen(command, stderr=log, env=self.environ)
        until(lambda: "watching" in host.log(), "the service to watch")


@pytest.fixture
def tls() -> Iterator[Path]:
    """A directory with a key and a certificate for localhost, which any user may read."""
    with tempfile.TemporaryDirectory(prefix="spamnb-tls-") as name:
        directory = Path(name)
        directory.chmod(0o755)
        new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        new += ["-addext", "subjectAltName=DNS:localhost"]
        new += ["-keyout", str(directory / "key.pem"), "-out", str(directory / "cert.pem")]
        subprocess.run(new, check=True, capture_output=True)
        (directory / "key.pem").chmod(0o644)
        yield directory


@pytest.fixture
def account(
    make_host: Callable[..., Host], tls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Provider], tuple[Home, Client]]:
    """Makes an account at a provider, with ham in its inbox and spam in its Junk, and an empty home."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def make(provider: Provider) -> tuple[Home, Client]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        more = _TLS.format(directory=tls, port=port, separator=provider.separator, prefix=provider.prefix)
        folders, names = (provider.spam, provider.archive, *provider.other), ("anna", _USER)
        host = make_host(knows=False, more=more, folders=folders, names=names)
        client = host.client()
        for _ in range(_LESSONS):
            client.put("INBOX", new_mail("ham"), "\\Seen")
            client.put(provider.spam, new_mail("spam"))
        home = Home(tmp_path / "home", tls / "cert.pem", host)
        home.write_mbsyncrc(port)
        return home, client

    return make


def arrives(client: Client, provider: Provider, folder: str, kind: str) -> bytes:
    """A new message at the provider; Gmail shows it in All Mail too."""
    content = new_mail(kind)
    client.put(folder, content)
    if "[Gmail]/All Mail" in provider.other:
        client.put("[Gmail]/All Mail", content)
    return content


@pytest.mark.parametrize("provider", [GMAIL, COURIER], ids=lambda provider: provider.name)
@pytest.mark.parametrize("trust", [True, False], ids=["trusting the provider", "not trusting it"])
def test_recipe(account: Callable[[Provider], tuple[Home, Client]], provider: Provider, trust: bool) -> None:
    """Spam is moved here and at the provider; what is moved there comes down and is learned; each message stays one."""
    home, client = account(provider)
    host, spam_folder = home.host, provider.local(provider.spam)
    home.run("password", typed="secret\n")
    assert (home.directory / ".mbsync-password").stat().st_mode & 0o777 == 0o600
    shown = home.run("set-up")
    assert f"Spam will be moved to {spam_folder}." in shown
    assert f"{_LESSONS} messages as ham" in shown
    assert f"{_LESSONS} messages as spam" in shown
    if not trust:
        (fragment,) = [one.text for one in blocks(_DOCUMENT) if one.language == "yaml"]
        assert yaml.safe_load(fragment) == {"learning": {"trust_delivery": False}}
        home.configure(fragment)
    home.start()

    spam, wrong = (arrives(client, provider, "INBOX", "spam") for _ in range(2))
    ham, missed = (arrives(client, provider, "INBOX", "ham") for _ in range(2))
    theirs = arrives(client, provider, provider.spam, "spam")  # the provider's own filter has put it there
    home.run("sync")
    for content in (spam, wrong):
        host.wait_for(content, f"moved INBOX {spam_folder}")
    host.wait_until_judged(ham, missed)
    if trust:
        wait_for_lesson(host, theirs, "spam", WEAK)
    home.run("sync")
    for content in (spam, wrong):
        assert (client.uids("INBOX", content), len(client.uids(provider.spam, content))) == ([], 1)

    client.move(wrong, provider.spam, "INBOX")  # on a phone, say
    client.move(missed, "INBOX", provider.spam)
    client.move(ham, "INBOX", provider.archive)
    home.run("sync")
    host.wait_for(wrong, f"moved INBOX {spam_folder}", "learned ham")
    host.wait_for(missed, "learned spam")
    host.wait_for(ham, "learned ham")
    home.run("sync")
    places = {spam: provider.spam, wrong: "INBOX", missed: provider.spam, ham: provider.archive, theirs: provider.spam}
    for content, folder in places.items():
        assert host.where(content) == [provider.local(folder)]
        assert len(client.uids(folder, content)) == 1
    assert host.story(theirs) == (["learned spam"] if trust else [])
    assert len(client.uids("INBOX")) == _LESSONS + 1
    assert len(client.uids(provider.spam)) == _LESSONS + 3
    assert "[Gmail]/All Mail" not in host.folders
