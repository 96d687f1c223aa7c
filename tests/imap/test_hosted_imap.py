"""An account at a provider, by the blocks of docs/hosted-imap.md, from an empty home to a rescue made on the server."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

import spamnb
from tests.cli.conftest import terminal
from tests.documents import block, blocks
from tests.faults.conftest import filled, mounted
from tests.imap.conftest import Client, Host, new_mail
from tests.imap.dovecot import ONLY_OLD
from tests.imap.test_first_arrivals import WEAK, wait_for_lesson
from tests.patience import PATIENCE, until
from tests.ports import held_port

pytestmark = [
    ONLY_OLD,  # it plays a provider
    pytest.mark.skipif(
        shutil.which("mbsync") is None or shutil.which("openssl") is None,
        reason="needs mbsync (Debian: isync) and openssl",
    ),
]

_DOCUMENT = "docs/hosted-imap.md"
_USER = "you@gmail.com"  # as the document has it
_TYPED = f"{_USER}@imap.gmail.com"
_LESSONS = 25
_SPAM_IN_INBOX = 6
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
        self.address = f"{_USER}@localhost:{port}"
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
        done = self.call("bash", "-euc", block(_DOCUMENT, name).replace(_TYPED, self.address))
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


@pytest.fixture(scope="module")
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
) -> Iterator[Callable[[Provider], tuple[Home, Client]]]:
    """Makes an account at a provider, with ham in its inbox and spam in its Junk, and an empty home."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def make(provider: Provider) -> tuple[Home, Client]:
        uses = "".join(
            _USE.format(folder=folder.removeprefix(provider.prefix), use=use) for folder, use in provider.uses
        )
        ends = {"separator": provider.separator, "prefix": provider.prefix}
        more = _TLS.format(directory=tls, port=port, uses=uses, **ends)
        folders, names = (provider.spam, provider.archive, *provider.other), ("anna", _USER)
        host = make_host(knows=False, more=more, folders=folders, names=names)
        client = host.client()
        for _ in range(_LESSONS):
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


@pytest.mark.parametrize(
    ("provider", "trust"),
    [
        pytest.param(GMAIL, True, id="trusting Gmail"),
        pytest.param(COURIER, False, id="not trusting Courier"),
        pytest.param(GMAIL, False, id="not trusting Gmail", marks=pytest.mark.slow),
        pytest.param(COURIER, True, id="trusting Courier", marks=pytest.mark.slow),
    ],
)
def test_recipe(account: Callable[[Provider], tuple[Home, Client]], provider: Provider, trust: bool) -> None:
    """Spam is moved here and at the provider; moves there come down and are learned; each message stays one."""
    home, client = account(provider)
    host, spam_folder = home.host, provider.local(provider.spam)
    home.keep_password()
    shown = home.run("init")
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
    assert provider.repeated not in host.folders


# --- one command ----------------------------------------------------------------------------------------------------

RC, UNITS = ".mbsyncrc", ".config/systemd/user"


def files(home: Home) -> set[str]:
    """Return the files in the home, without the programs."""
    found = (path.relative_to(home.directory) for path in home.directory.rglob("*") if path.is_file())
    return {str(path) for path in found if path.parts[0] != "bin"}


def program(home: Home, name: str, script: str) -> None:
    """Put a program first into the search path."""
    (home.directory / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
    (home.directory / "bin" / name).chmod(0o755)


@pytest.fixture
def home_of_gmail(
    account: Callable[[Provider], tuple[Home, Client]], monkeypatch: pytest.MonkeyPatch, tls: Path
) -> tuple[Home, Client]:
    """A home of a person with an account at Gmail; the commands at a terminal find it, too."""
    made = account(GMAIL)
    monkeypatch.setenv("SSL_CERT_FILE", str(tls / "cert.pem"))
    return made


def test_one_question(home_of_gmail: tuple[Home, Client]) -> None:
    """init asks only for the password, shows it nowhere, and keeps it in a file that only its owner can read."""
    home, client = home_of_gmail
    code, shown, _ = terminal(home.directory)(
        "init", "--imap", home.address, answers=["secret\r"], prompt="(not shown): "
    )
    assert code == 0, shown
    assert "secret" not in shown
    assert f"learned {_LESSONS} messages as spam" in shown
    secret = [name for name in files(home) if b"secret" in (home.directory / name).read_bytes()]
    assert secret == [".mbsync-password"]
    for name in (".mbsync-password", RC):
        assert (home.directory / name).stat().st_mode & 0o777 == 0o600
    content = arrives(client, GMAIL, "INBOX", "spam")
    home.run("sync")
    assert home.call("spamnb", "run", "--once").returncode == 0
    home.run("sync")
    assert (client.uids("INBOX", content), len(client.uids(GMAIL.spam, content))) == ([], 1), "mail is judged"


def test_spam_in_the_inbox_of_the_provider(home_of_gmail: tuple[Home, Client]) -> None:
    """Spam that lies in the inbox teaches no ham: init says how much it is, and the command that asks about it."""
    home, client = home_of_gmail
    home.keep_password()
    for _ in range(_SPAM_IN_INBOX):
        client.put("INBOX", new_mail("spam"), "\\Seen")
    done = home.call("spamnb", "init", "--imap", home.address)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"learned {_LESSONS + _SPAM_IN_INBOX} messages as ham\n" in done.stdout
    (sifted,) = [line for line in done.stdout.splitlines() if " outside of Junk look like spam: " in line]
    assert sifted.startswith(f"{_SPAM_IN_INBOX} messages ")
    assert sifted.endswith(". At a terminal `spamnb init --learn` asks about them")
    assert "The filter moves spam to [Gmail]/Spam, when the service runs." in done.stdout
    assert home.call("spamnb", "history").stdout.count("looks like spam") == _SPAM_IN_INBOX


def test_another_mbsyncrc(home_of_gmail: tuple[Home, Client]) -> None:
    """A ~/.mbsyncrc of before is replaced only if the person says so, and is kept; without a terminal by --force."""
    home, _ = home_of_gmail
    home.keep_password()
    rc = home.directory / RC
    rc.write_text("# mine\n")
    code, shown, _ = terminal(home.directory)("init", "--imap", home.address, answers=["n\r"])
    assert (code, rc.read_text(), "Channel mail" in shown) == (0, "# mine\n", True)
    assert files(home) - {"out"} == {RC, ".mbsync-password"}
    done = home.call("spamnb", "init", "--imap", home.address)
    assert (done.returncode, "--force" in done.stderr, rc.read_text()) == (78, True, "# mine\n")
    code, shown, _ = terminal(home.directory)("init", "--imap", home.address, answers=["y\r"])
    assert (code, rc.with_name(".mbsyncrc.old").read_text()) == (0, "# mine\n"), shown
    assert f"learned {_LESSONS} messages as ham" in shown
    assert home.call("spamnb", "init", "--imap", home.address).returncode == 0, "it is the same file now"


def test_an_interrupted_first_fetch(home_of_gmail: tuple[Home, Client]) -> None:
    """Mail fetched before Ctrl-C is kept, and the same command goes on."""
    home, _ = home_of_gmail
    home.keep_password()
    mbsync = shutil.which("mbsync")
    end = f"rm {home.directory}/first; {mbsync} --quiet -c {home.directory}/{RC} mail:INBOX; kill -INT $PPID; sleep 60"
    program(
        home,
        "mbsync",
        f'case "$*" in *-*list*|--version) ;; *) [ -e ~/first ] && {{ {end}; }} ;; esac; exec {mbsync} "$@"',
    )
    (home.directory / "first").touch()
    done = home.call("spamnb", "init", "--imap", home.address)
    assert done.returncode == 130, done.stderr
    assert "call the same command again to go on" in done.stderr
    assert len(list((home.directory / "Mail/INBOX/cur").iterdir())) == _LESSONS
    assert not (home.directory / "Mail/[Gmail]/Spam").exists()
    done = home.call("spamnb", "init", "--imap", home.address)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"learned {_LESSONS} messages as ham\nlearned {_LESSONS} messages as spam" in done.stdout


def test_a_full_disk(home_of_gmail: tuple[Home, Client], tmp_path: Path) -> None:
    """On a full disk the fetch says so; when there is room, the same command goes on."""
    home, _ = home_of_gmail
    home.keep_password()
    with mounted(tmp_path / "home/Mail") as disk:
        with filled(disk):
            done = home.call("spamnb", "init", "--imap", home.address, "Mail/hosted")
            assert (done.returncode, "is full: free some space" in done.stderr) == (3, True), done.stderr
        done = home.call("spamnb", "init", "--imap", home.address, "Mail/hosted")
        assert (done.returncode, done.stderr) == (0, "")
        assert f"learned {_LESSONS} messages as ham" in done.stdout


def test_what_can_go_wrong(home_of_gmail: tuple[Home, Client]) -> None:
    """Each fault is a sentence that says what to do, leaves no traceback, and nothing behind."""
    home, _ = home_of_gmail
    port = home.address.rpartition(":")[2]
    init = ("spamnb", "init", "--imap")
    done = home.call(*init, home.address)
    assert (done.returncode, "nobody to ask" in done.stderr) == (64, True)
    home.keep_password(mode=0o640)
    done = home.call(*init, home.address)
    assert (done.returncode, "chmod 600" in done.stderr) == (3, True)
    home.keep_password("wrong")
    for address, says, environ in (
        (home.address, "does not accept the user and the password", {}),
        (f"you@nowhere.invalid:{port}", "nowhere.invalid", {}),
        (f"{_USER}@localhost:9", "does not answer at port 9 (Connection refused)", {}),
        (home.address, "the certificate of localhost is not trusted", {"SSL_CERT_FILE": "/dev/null"}),
        (home.address.replace("localhost", "127.0.0.1"), "the certificate of 127.0.0.1 is not trusted", {}),
        ("you", "does not name a user and a host", {}),
        (home.address, "mbsync, which fetches the mail, is not installed", {"PATH": str(home.directory / "bin")}),
    ):
        done = home.call(sys.executable, "-m", *init, address, **environ)
        assert says in done.stderr, (address, done)
        assert (len(done.stderr.splitlines()), done.stdout) == (1, "")
        assert done.returncode in (3, 64)
    done = home.call(*init, home.address, "--pass-command", "echo secret | tr s x; exit 7")
    assert "the command for the password failed (exited with status 7)" in done.stderr
    program(home, "mbsync", "echo isync 1.3.5")
    done = home.call(*init, home.address)
    assert "this isync is 1.3, but 1.4 or later is needed" in done.stderr
    assert files(home) == {".mbsync-password"}


def test_a_wrong_password_is_asked_for_again(home_of_gmail: tuple[Home, Client]) -> None:
    """A password that was typed, and that the server does not accept, is not kept."""
    home, _ = home_of_gmail
    code, shown, _ = terminal(home.directory)(
        "init", "--imap", home.address, answers=["wrong\r"], prompt="(not shown): "
    )
    assert (code, "does not accept the user and the password" in shown) == (3, True)
    assert files(home) - {"out"} == set()


def test_a_command_for_the_password_and_a_directory(home_of_gmail: tuple[Home, Client]) -> None:
    """A password manager's command works unchanged, quotes included, and mail may be elsewhere."""
    home, _ = home_of_gmail
    command = "printf '%s\\n' \"secret\" # \\"
    init = ("spamnb", "init", "--imap", home.address, "--pass-command", command)
    (home.directory / "Mail").mkdir()
    (home.directory / "Mail/notes").touch()
    done = home.call(*init)
    assert (done.returncode, "name another directory" in done.stderr) == (3, True), done.stderr
    done = home.call(*init, "Mail/at home", "--no-learn")
    assert (done.returncode, done.stderr) == (0, "")
    assert "learned" not in done.stdout.replace("learned as", "")
    assert len(list((home.directory / "Mail/at home/INBOX/cur").iterdir())) == _LESSONS
    assert not (home.directory / ".mbsync-password").exists()


@pytest.mark.parametrize("listens", [False, True], ids=["a timer", "goimapnotify"])
def test_units(home_of_gmail: tuple[Home, Client], listens: bool) -> None:
    """systemd will call mbsync, and goimapnotify too if it is installed; the user's own units stay."""
    home, _ = home_of_gmail
    home.keep_password()
    program(home, "systemctl", 'echo "$@" >>~/calls')
    if listens:
        program(home, "goimapnotify", "exit 1")
    done = home.call("spamnb", "init", "--imap", home.address)
    assert (done.returncode, done.stderr) == (0, "")
    assert "From now on systemd fetches new mail" in done.stdout
    enabled = "mbsync.timer imapnotify.service" if listens else "mbsync.timer"
    calls = (home.directory / "calls").read_text()
    assert calls == f"--user daemon-reload\n--user enable --now {enabled}\n"
    units = home.directory / UNITS
    assert f"OnUnitInactiveSec={10 if listens else 2}min\n" in (units / "mbsync.timer").read_text()
    (called,) = re.findall(r"^ExecStart=(.*)$", (units / "mbsync.service").read_text(), re.MULTILINE)
    assert home.call(*shlex.split(called)).returncode == 0
    if listens:
        conf = home.directory / ".config/imapnotify/spamnb.conf"
        assert conf.stat().st_mode & 0o777 == 0o600
        found = json.loads(conf.read_text())
        assert (found["host"], found["username"], found["boxes"]) == ("localhost", _USER, ["INBOX"])
        assert "secret" not in conf.read_text()
        assert home.call("sh", "-c", found["passwordCmd"]).stdout == "secret\n"
    (units / "mbsync.timer").write_text("# mine\n")
    done = home.call("spamnb", "init", "--imap", home.address)
    assert "mbsync.timer existed already, and was not changed" in done.stderr
    assert (units / "mbsync.timer").read_text() == "# mine\n"
