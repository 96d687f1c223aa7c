"""The service in a container, rootless, beside a mounted Maildir: built and run by the commands of docs/install.md."""

import logging
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spamnb.acts.moves import bases_now
from spamnb.cli.common.sample_mail import message
from spamnb.maildir.folders import create_folder
from tests.documents import ROOT, block
from tests.imap.conftest import Host, hosts
from tests.imap.dovecot import Dovecot
from tests.imap.hosted import GMAIL, TYPED, MakeAccount, account_fixture, arrives, tls_fixture
from tests.packaging import rootless
from tests.packaging.rootless import Person
from tests.patience import PATIENCE, until
from tests.systemd import tree

__all__ = ["account_fixture", "tls_fixture"]
pytestmark = [pytest.mark.real_system, pytest.mark.slow]

_log = logging.getLogger(__name__)
_FILE = ROOT / "docs/Containerfile"
_LESSONS = 25


class Mail:
    """A person's Maildir, which others write to too."""

    def __init__(self, owner: Person) -> None:
        self._owner = owner
        self.root = owner.home / "Maildir"
        self.inbox = create_folder(str(self.root), "maildir++", "INBOX")
        self._bases = bases_now()
        self._numbers = iter(range(1000, 2000))
        self.own()

    def own(self) -> None:
        """All of it is the person's."""
        for path in (self.root, *self.root.rglob("*")):
            self._owner.own(path)

    def deliver(self, kind: str) -> bytes:
        """Deliver the next made-up message, from outside of the container."""
        content = message(kind, next(self._numbers))
        base = next(self._bases)
        draft = self.root / "tmp" / base
        draft.write_bytes(content)
        self._owner.own(draft)
        draft.rename(self.root / "new" / base)
        return content

    def files(self, content: bytes) -> list[Path]:
        """Return the places of a message."""
        found = (path for path in self.root.glob("**/*") if path.parent.name in ("new", "cur") and path.is_file())
        return [path for path in found if path.read_bytes() == content]

    def is_in_junk(self, content: bytes) -> bool:
        """Whether a message is in Junk, and nowhere else."""
        return [path.parent.parent.name for path in self.files(content)] == [".Junk"]


@pytest.fixture(scope="module")
def owner(package: Path) -> Iterator[Person]:
    """A person with the image, built from docs/Containerfile unchanged."""
    if reason := rootless.why_not():
        pytest.skip(reason)
    (image,) = re.findall(r"^FROM (\S+)$", _FILE.read_text(), re.MULTILINE)
    with rootless.person() as made:
        try:
            base = made.home / "base.tar"
            shutil.copyfile(tree.minimal("trixie"), base)
            made.own(base)
            made.run(f"podman import --quiet base.tar {image} && rm base.tar")
            made.run(f"podman run --rm --network=none {image} true")
        except tree.CannotSetUpError as fault:
            pytest.skip(f"no container can be run here: {fault}")
        for file in (package, _FILE):
            shutil.copy(file, made.home)
        began = time.monotonic()
        made.run(block("docs/install.md", "container-build"), timeout=15 * PATIENCE)
        _log.info("built in %.0f s, with what is fetched for it", time.monotonic() - began)
        _log.info("images: %s", made.run("podman images --format '{{.Repository}} {{.Size}}'").split("\n"))
        yield made


@pytest.fixture(scope="module")
def mail(owner: Person) -> Iterator[Mail]:
    """The mail beside a running container, which was taught a little."""
    made = Mail(owner)
    for kind in ("ham", "spam"):
        lessons = made.root / "lessons" / kind
        lessons.mkdir(parents=True)
        for number in range(_LESSONS):
            (lessons / f"{number}.eml").write_bytes(message(kind, number))
    made.own()
    first, *later = block("docs/install.md", "container-run").split("podman run ")[1:]
    owner.run(f"podman run {first}")
    assert len(later) == 1
    owner.run(f"podman run {later[0]}")
    configure(owner, "breaker: false")  # these tests send much spam
    owner.run("podman kill --signal HUP spamnb")
    for kind in ("ham", "spam"):
        owner.run(f"podman exec spamnb spamnb train --{kind} /mail/lessons/{kind}")
    yield made
    owner.run("podman rm --force spamnb")


def configure(owner: Person, line: str) -> None:
    """Add a line to the configuration, which is read again at SIGHUP or at the next start."""
    owner.run(f"podman exec spamnb sh -c 'echo \"{line}\" >>/state/spamnb/config.yaml'")


def test_mail_from_outside_is_heard(owner: Person, mail: Mail) -> None:
    """inotify reports what the host delivers: spam is moved, by an event and not by polling; ham stays."""
    spam, ham = mail.deliver("spam"), mail.deliver("ham")
    until(lambda: mail.is_in_junk(spam), "spam to be moved")
    assert [path.parent.name for path in mail.files(ham)] == ["new"]
    assert {path.stat().st_uid for path in mail.files(spam)} == {mail.root.stat().st_uid}
    assert "polling" not in owner.run("podman logs spamnb 2>&1")


def test_mail_from_another_container_is_heard(owner: Person, mail: Mail) -> None:
    """inotify reports what another container delivers into the same directory, as a mail server in one does."""
    spam = message("spam", 3000)
    (owner.home / "letter").write_bytes(spam)
    deliver_there = "cp /letter /mail/tmp/1.M1P1.there && mv /mail/tmp/1.M1P1.there /mail/new/"
    mounts = "-v ~/Maildir:/mail -v ~/letter:/letter"
    owner.run(f"podman run --rm --network=none --userns=keep-id {mounts} --entrypoint sh spamnb -c '{deliver_there}'")
    until(lambda: mail.is_in_junk(spam), "spam to be moved")


def test_a_move_outside_teaches(owner: Person, mail: Mail) -> None:
    """A person's move to Junk on the host is noticed, and the message is learned as spam."""
    ham = mail.deliver("ham")
    said = "podman exec spamnb spamnb history --json --limit 1"
    until(lambda: '"kind": "judged"' in owner.run(said), "the message to be judged")
    (path,) = mail.files(ham)
    path.rename(mail.root / ".Junk/cur" / f"{path.name}:2,S")
    until(lambda: '"kind": "learned"' in owner.run(said), "the message to be learned")
    assert '"after": "spam"' in owner.run(said)


def test_it_stops_and_goes_on(owner: Person, mail: Mail) -> None:
    """`podman stop` ends it in order; later mail is moved after the next start, with the same ledger."""
    owner.run("podman stop spamnb")
    assert "stopped" in owner.run("podman logs spamnb 2>&1").splitlines()[-1]
    spam = mail.deliver("spam")
    owner.run("podman start spamnb")
    until(lambda: mail.is_in_junk(spam), "spam to be moved")
    assert "are the sum of" in owner.run("podman exec spamnb spamnb verify")


def test_where_nothing_is_heard(owner: Person, mail: Mail) -> None:
    """With `service: {watch: polling}`, for mounts on which no events come, spam is moved too."""
    configure(owner, "service: {watch: polling}")
    owner.run("podman restart spamnb")
    spam = mail.deliver("spam")
    until(lambda: mail.is_in_junk(spam), "spam to be moved")


@pytest.fixture
def make_host(tmp_path: Path) -> Iterator[Callable[..., Host]]:
    """Makes a Dovecot on this machine, which plays the provider."""
    with hosts(tmp_path, Dovecot()) as make:
        yield make


def test_an_account_at_a_provider(owner: Person, account: MakeAccount, tls: Path) -> None:
    """In two containers of the image spam at a provider goes to Junk there, and a move there teaches."""
    home, client = account(GMAIL)
    for name in ("cert.pem", "Mail"):
        (owner.home / name).mkdir() if name == "Mail" else shutil.copy(tls / name, owner.home)
        owner.own(owner.home / name)

    def podman(arguments: str) -> str:
        """Call podman with the place of the test: a volume and names of its own, and the server's certificate."""
        trust = "--userns=keep-id -v ~/cert.pem:/cert.pem --env SSL_CERT_FILE=/cert.pem"
        own = arguments.replace("-v spamnb:", "-v account:").replace("--name spamnb", "--name filter")
        own = own.replace("--userns=keep-id", trust).replace("--interactive --tty", "").replace(TYPED, home.address)
        return owner.run(f"podman {own}", timeout=5 * PATIENCE)

    keep_password = "umask 077; echo secret >~/.mbsync-password"
    podman(f"run --rm --userns=keep-id -v spamnb:/state --entrypoint sh spamnb -c '{keep_password}'")
    try:
        for command in block("docs/install.md", "container-account").split("podman ")[1:]:
            podman(command)
        spam = arrives(client, GMAIL, "INBOX", "spam")
        places = ("INBOX", GMAIL.spam)
        podman("exec filter touch /state/spamnb/mbsync-wanted")  # the loop looks at the provider every two minutes
        until(lambda: [len(client.uids(one, spam)) for one in places] == [0, 1], "spam to be moved at the provider")
        client.move(spam, GMAIL.spam, "INBOX")
        podman("exec filter touch /state/spamnb/mbsync-wanted")
        said = "exec filter spamnb history --json --limit 1"
        until(lambda: '"kind": "learned"' in podman(said), lambda: podman("logs filter 2>&1"))
        assert '"after": "ham"' in podman(said)
        began = time.monotonic()
        podman("stop mbsync")
        assert time.monotonic() - began < 9, "podman kills what does not end within ten seconds"
    finally:
        podman("rm --force --ignore filter mbsync")
