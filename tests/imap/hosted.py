"""What tests of an account at a provider share: the provider, with the folders of one, and a person's empty home."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import spamnb
from tests.documents import block
from tests.imap.conftest import Client, Host, new_mail
from tests.patience import PATIENCE, until
from tests.ports import held_port

DOCUMENT = "docs/hosted-imap.md"
USER = "you@gmail.com"  # as the document has it
TYPED = f"{USER}@imap.gmail.com"
LESSONS = 25
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
    special_use =
  }}
{uses}
}}
"""
_USE = """\
  mailbox "{folder}" {{
    special_use = \\{use}
  }}
"""


@dataclass(frozen=True)
class Provider:
    """The folder names of a provider, as on its server; repeated: the folder in which it shows all mail again.

    uses: the special uses that the server tells, by folder.
    """

    name: str
    separator: str
    prefix: str
    spam: str
    archive: str
    other: tuple[str, ...]
    uses: tuple[tuple[str, str], ...] = ()
    repeated: str = ""

    def local(self, folder: str) -> str:
        """A folder's name in the Maildir."""
        return folder if folder == "INBOX" else folder.removeprefix(self.prefix).replace(self.separator, "/")


_USES = (("[Gmail]/Spam", "Junk"), ("[Gmail]/Alle Nachrichten", "All"), ("[Gmail]/Sent Mail", "Sent"))
GMAIL = Provider(
    "Gmail",
    "/",
    "",
    "[Gmail]/Spam",
    "Work/2026",
    ("[Gmail]/Alle Nachrichten", "[Gmail]/Trash", "[Gmail]/Sent Mail"),
    _USES,
    "[Gmail]/Alle Nachrichten",
)
# A spam folder whose name nobody would guess: only the server tells what it is for.
COURIER = Provider(
    "Courier",
    ".",
    "INBOX.",
    "INBOX.Ramsch",
    "INBOX.Work.2026",
    ("INBOX.Trash", "INBOX.Sent"),
    (("INBOX.Ramsch", "Junk"),),
)


class Home:
    """A home directory in which the blocks of the document are run, as a person types them."""

    def __init__(self, directory: Path, certificate: Path, host: Host, port: int) -> None:
        self.directory = directory
        self.host = host
        self.address = f"{USER}@localhost:{port}"
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

    def run(self, name: str) -> str:
        """Run a block to its end; what it printed."""
        done = self.call("bash", "-euc", block(DOCUMENT, name).replace(TYPED, self.address))
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        return done.stdout

    def call(self, *command: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a command here, without a terminal."""
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
            env=self.environ | environ,
            cwd=self.directory,
        )

    def keep_password(self, password: str = "secret", mode: int = 0o600) -> None:
        """Write the file with the password, like a person who cannot be asked."""
        file = self.directory / ".mbsync-password"
        file.write_text(f"{password}\n")
        file.chmod(mode)

    def configure(self, more: str) -> None:
        """Add lines to the configuration, as an editor does."""
        with (self.directory / ".config/spamnb/config.yaml").open("a") as file:
            file.write(more)

    def start(self, service: str) -> None:
        """Run the block that starts the service; it is the host's service from now on."""
        host, share = self.host, self.directory / ".local/share/spamnb"
        host.config, host.ledger = self.directory / ".config/spamnb/config.yaml", share / "ledger.sqlite"
        host.root, host.layout = self.directory / "Mail", "fs"
        host.look_again()
        with host.log_file.open("ab") as log:
            command = ["bash", "-euc", f"exec {service}"]
            host.process = subprocess.Popen(command, stderr=log, env=self.environ)
        until(lambda: "watching" in host.log(), "the service to watch")


MakeAccount = Callable[..., tuple[Home, Client]]


@pytest.fixture(scope="module", name="tls")
def tls_fixture() -> Iterator[Path]:
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


@pytest.fixture(name="account")
def account_fixture(
    make_host: Callable[..., Host], tls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MakeAccount]:
    """Makes an account at a provider, with ham in its inbox and spam in its Junk, and an empty home.

    more: added to the configuration of Dovecot, which plays the provider. names: its users.
    """
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def make(provider: Provider, more: str = "", names: tuple[str, ...] = ("anna", USER)) -> tuple[Home, Client]:
        uses = "".join(
            _USE.format(folder=folder.removeprefix(provider.prefix), use=use) for folder, use in provider.uses
        )
        ends = {"separator": provider.separator, "prefix": provider.prefix}
        more = _TLS.format(directory=tls, port=port, uses=uses, **ends) + more
        folders = (provider.spam, provider.archive, *provider.other)
        host = make_host(knows=False, more=more, folders=folders, names=names)
        client = host.client()
        for _ in range(LESSONS):
            client.put("INBOX", new_mail("ham"), "\\Seen")
            client.put(provider.spam, new_mail("spam"))
        return Home(tmp_path / "home", tls / "cert.pem", host, port), client

    with held_port() as port:
        yield make


def arrives(client: Client, provider: Provider, folder: str, kind: str) -> bytes:
    """A new message at the provider; Gmail shows it in All Mail too."""
    content = new_mail(kind)
    client.put(folder, content)
    if provider.repeated:
        client.put(provider.repeated, content)
    return content


def program(home: Home, name: str, script: str) -> None:
    """Put a program first into the search path."""
    (home.directory / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
    (home.directory / "bin" / name).chmod(0o755)
