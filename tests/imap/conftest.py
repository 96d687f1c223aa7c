"""A real Dovecot, started by the test: private directories, a free port on loopback, and mail of one user, anna.

Dovecot opens no mail as root. Where the tests run as root, it runs, with all that delivers or synchronises, as
the user `nobody`, who then owns the mail.
"""

import contextlib
import grp
import imaplib
import io
import itertools
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from spamnb.acts.moves import bases_now
from spamnb.base.label import Role
from spamnb.cli.common.sample_mail import message
from spamnb.cli.main import main
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import encode, find_folders
from spamnb.maildir.messages import scan
from spamnb.maildir.names import parse_name
from tests import warm
from tests.imap.dovecot import BOTH, NEW, OLD, VERSIONS, Dovecot
from tests.lessons import learn, sample_lessons
from tests.patience import PATIENCE, until
from tests.ports import held_port
from tests.service.conftest import Site
from tests.systemd import tree

_LESSONS = 40
_DWELL = 0.4
_NUMBERS = itertools.count(1000)
_FAULT = re.compile(
    r" (?:Warning|Error|Fatal|Panic): (?!Killed with signal 15|Shutting down logging)"  # that is how we stop it
)
_SERVICE_FAULT = re.compile("warning|error|cannot|Traceback|should not", re.IGNORECASE)

LAYOUTS = ("maildir++", "fs")
ABROAD = "Projekte/Übersicht"
ROLES = {
    "INBOX": Role.INBOX,
    "Junk": Role.SPAM,
    "Archive": Role.HAM,
    "Trash": Role.NEUTRAL,
    ABROAD: Role.HAM,
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this directory carry the marker; of a product with both versions, only pairs run each time."""
    met: dict[tuple[str, str], list[object]] = {}
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.real_system)
            if BOTH.mark in item.iter_markers() and not _is_of_the_pairs(item, met):
                item.add_marker(pytest.mark.slow)


def _is_of_the_pairs(item: pytest.Item, met: dict[tuple[str, str], list[object]]) -> bool:
    """Whether a test is in that half of its product of three or more parameters that has each pair of values.

    One parameter is the version, which has two values: for each choice of two values one in the half has a third.
    met: the values of each parameter of each test, in their order; filled here.
    """
    places = []
    for name, value in item.callspec.params.items():  # type: ignore[attr-defined]
        values = met.setdefault((item.nodeid.partition("[")[0], name), [])
        if value not in values:
            values.append(value)
        places.append(values.index(value))
    return len(places) < 3 or sum(places) % len(VERSIONS) == 0


def program(name: str) -> str | None:
    """Return the path of a program, in `/usr/sbin` and Dovecot's own directory too; None if it is not installed."""
    return shutil.which(name, path=os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/usr/lib/dovecot"]))


def new_mail(kind: str) -> bytes:
    """A made-up message of a kind that no test has seen before."""
    return message(kind, next(_NUMBERS))


def as_sent(content: bytes) -> bytes:
    """A message as IMAP carries it."""
    return content.replace(b"\n", b"\r\n")


class Client(imaplib.IMAP4):
    """A session of a user's mail program."""

    def __init__(self, port: int, user: str = "anna") -> None:
        super().__init__("127.0.0.1", port, timeout=PATIENCE)
        self.login(user, "secret")

    def must(self, answer: tuple[str, Any]) -> Any:
        """Return the answer to a command; fail unless it is OK."""
        assert answer[0] == "OK", answer
        return answer[1]

    def go(self, folder: str) -> None:
        """Select a folder, by the name that a person reads."""
        self.must(self.select(self.wire(folder)))

    def wire(self, folder: str) -> str:
        """A folder's name in a command."""
        return '"' + encode(folder) + '"'

    def put(self, folder: str, content: bytes, flags: str = "", at: float | None = None) -> None:
        """APPEND."""
        when = "" if at is None else imaplib.Time2Internaldate(at)
        self.must(self.append(self.wire(folder), f"({flags})" if flags else "", when, as_sent(content)))

    def uids(self, folder: str, content: bytes | None = None) -> list[str]:
        """The UIDs of a message in a folder, or of all."""
        self.go(folder)
        if content is None:
            return str(self.must(self.uid("SEARCH", "ALL"))[0], "ascii").split()
        identifier = re.search(rb"Message-ID: (<.*>)", content)
        assert identifier
        return str(self.must(self.uid("SEARCH", f'HEADER Message-ID "{identifier[1].decode()}"'))[0], "ascii").split()

    def uid_of(self, folder: str, content: bytes) -> str:
        """The UID of a message, which has to be there once."""
        (uid,) = self.uids(folder, content)
        return uid

    def move(self, content: bytes, source: str, destination: str) -> None:
        """MOVE."""
        self.must(self.uid("MOVE", self.uid_of(source, content), self.wire(destination)))

    def copy_over(self, content: bytes, source: str, destination: str) -> None:
        """COPY, and leave the original unchanged."""
        self.must(self.uid("COPY", self.uid_of(source, content), self.wire(destination)))

    def mark(self, content: bytes, folder: str, flags: str) -> None:
        """STORE."""
        self.must(self.uid("STORE", self.uid_of(folder, content), "+FLAGS", f"({flags})"))

    def look_at(self, content: bytes, folder: str) -> dict[str, Any]:
        """Return what FETCH says about a message: flags, internal date, size and body."""
        answer = self.must(
            self.uid("FETCH", self.uid_of(folder, content), "(FLAGS INTERNALDATE RFC822.SIZE BODY.PEEK[])")
        )
        words = b" ".join(part[0] if isinstance(part, tuple) else part for part in answer)
        size = re.search(rb"RFC822\.SIZE (\d+)", words)
        assert size
        return {
            "flags": {flag.decode() for flag in imaplib.ParseFlags(words)},
            "date": time.mktime(imaplib.Internaldate2tuple(words) or time.gmtime(0)),
            "size": int(size[1]),
            "body": next(part[1] for part in answer if isinstance(part, tuple)),
        }

    @contextlib.contextmanager
    def idling(self, folder: str) -> Iterator[Callable[[str], None]]:
        """IDLE in a folder; gives a function that waits until the server tells of something."""
        self.go(folder)
        self.send(b"idle1 IDLE\r\n")
        assert self.readline().startswith(b"+")

        def told(word: str) -> None:
            end = time.monotonic() + PATIENCE
            while word.encode() not in self.readline():
                assert time.monotonic() < end, f"waited in vain for {word}"

        yield told
        self.send(b"DONE\r\n")
        while not self.readline().startswith(b"idle1 OK"):
            pass


class Host(Site):
    """Anna's home with her Maildir and Dovecot over it; the service over the same Maildir."""

    program = warm.PROGRAM  # at its end it waits until Dovecot has looked

    def __init__(
        self,
        home: Path,
        layout: str,
        taught: Path | None,
        dovecot: Dovecot,
        port: int,
        more: str | Mapping[str, str] = "",  # of Dovecot's configuration, or by its version
        *,
        utf8: bool = False,  # folder names are not in modified UTF-7 on the disk
        folders: Iterable[str] = tuple(ROLES),
        names: Iterable[str] = ("anna",),  # under which she logs in
    ) -> None:
        self.directory = home
        self.root, self.config, self.ledger = home / "Maildir", home / "config.yaml", home / "ledger.sqlite"
        self.log_file, self.dovecot_log = home / "log", home / "dovecot.log"
        self.layout = layout
        self.roles = dict(ROLES)
        self.bases = bases_now()
        self.owner = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
        self._dovecot: subprocess.Popen[bytes] | None = None
        self._clients: list[Client] = []
        self.dovecot, self.port = dovecot, port
        self._start_dovecot(more if isinstance(more, str) else more[dovecot.version], utf8, names)
        client = self.client()
        for name in folders:
            client.create(client.wire(name))
        self.look_again()
        if taught is not None:
            shutil.copy(taught, self.ledger)
        self.configure()

    def look_again(self) -> None:
        """Which folders there are."""
        self.folders = {folder.name: folder for folder in find_folders(str(self.root), self.layout)}  # type: ignore[arg-type]

    def configure(self, more: str = "", dwell: float = _DWELL, **mailbox: object) -> None:
        """Write the configuration."""
        super().configure(more, dwell, **mailbox)

    def as_owner(self, *command: str, stdin: bytes = b"", **environ: str) -> subprocess.CompletedProcess[bytes]:
        """Run a program as the user who owns the mail."""
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            cwd=self.directory,
            env={"PATH": os.environ["PATH"], "HOME": str(self.directory), **environ},
            **self._owner(),  # type: ignore[call-overload]
        )

    def by_lda(self, content: bytes, *arguments: str) -> bytes:
        """Deliver a message by dovecot-lda, which must succeed; what it writes to standard error."""
        command = self._dovecot_command("dovecot-lda", "-c", str(self.conf), "-d", "anna", "-e", *arguments)
        done = subprocess.run(command, input=content, capture_output=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def _dovecot_command(self, name: str, *arguments: str) -> list[str]:
        return self.dovecot.command(self.directory, self.owner, name, *arguments)

    def _owner(self) -> dict[str, object]:
        owner = self.owner
        return {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []} if os.getuid() == 0 else {}

    def _start_dovecot(self, more: str, utf8: bool, names: Iterable[str]) -> None:
        owner, group = self.owner, grp.getgrgid(self.owner.pw_gid).gr_name
        values = {"user": owner.pw_name, "group": group, "port": self.port}
        self.conf = self.directory / "dovecot.conf"
        self.conf.write_text(self.dovecot.configuration(self.directory, more, layout=self.layout, utf8=utf8, **values))
        account = f"{{PLAIN}}secret:{owner.pw_uid}:{owner.pw_gid}::{self.directory}::\n"
        (self.directory / "users").write_text("".join(f"{name}:{account}" for name in names))
        os.chmod(self.directory, 0o755)
        self.own(self.directory)
        self._dovecot = subprocess.Popen(
            self._dovecot_command("dovecot", "-F", "-c", str(self.conf)),
            stderr=subprocess.DEVNULL,
        )
        until(self._answers, "Dovecot to answer")

    def _answers(self) -> bool:
        assert self._dovecot is not None
        if self._dovecot.poll() is not None:
            pytest.fail(f"Dovecot does not start: {self.dovecot_log.read_text() if self.dovecot_log.exists() else ''}")
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
        except OSError:
            return False
        return True

    def own(self, *paths: Path) -> None:
        """Give files to the user who owns the mail, if that is a different one."""
        for path in paths if os.getuid() == 0 else ():
            os.chown(path, self.owner.pw_uid, self.owner.pw_gid)

    def client(self, user: str = "anna") -> Client:
        """A new session; ended with the test."""
        self._clients.append(Client(self.port, user))
        return self._clients[-1]

    def log_out(self) -> None:
        """End all sessions."""
        while self._clients:
            with contextlib.suppress(OSError, imaplib.IMAP4.error):
                self._clients.pop().logout()

    def close(self) -> None:
        """End all sessions, the service and Dovecot."""
        self.log_out()
        if self.is_up():
            self.end()
        if self._dovecot is not None:
            self._dovecot.send_signal(signal.SIGTERM)
            self._dovecot.wait(PATIENCE)

    def dovecot_faults(self) -> list[str]:
        """Warnings and errors of Dovecot's log."""
        return [line for line in self.dovecot_log.read_text(errors="replace").splitlines() if _FAULT.search(line)]

    def service_faults(self) -> list[str]:
        """Warnings and errors of the service's log."""
        return [
            line for line in self.log().splitlines() if re.search(r"warning|error|Traceback|should not", line, re.I)
        ]

    def ask(self, *arguments: str) -> list[dict[str, Any]]:
        """Return the output of a command with --json, line by line."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            assert main(["--config", str(self.config), *arguments, "--json"]) == 0
        return [json.loads(line) for line in said.getvalue().splitlines()]

    def story(self, content: bytes) -> list[str]:
        """Return the actions on a message, the oldest first: `moved INBOX Junk`, `learned ham`, `forgot`."""
        told = []
        for action in reversed(self.ask("history", "--limit", "100000")):
            if action["digest"] != identity(content).hex() or action["state"] not in {"done", "undone"}:
                continue
            if action["kind"] == "judged":
                continue
            if action["kind"] == "moved":
                told.append(f"moved {action['source']} {action['destination']}")
            else:
                told.append(f"learned {action['after']}" if action["after"] else "forgot")
        return told

    def where(self, content: bytes) -> list[str]:
        """Return the folders of a message on disk, one for each file."""
        return [name for name in self.folders for found in self.contents(name) if identity(found) == identity(content)]

    def wait_for(self, content: bytes, *story: str) -> None:
        """Wait until as much was done to a message, and see that it was just this."""
        until(lambda: self._deeds(content) >= len(story), lambda: f"{story}; {self.where(content)}; {self.log()}")
        assert self.story(content) == list(story)

    def _deeds(self, content: bytes) -> int:
        """How many actions the journal holds of a message; `history` says which, but takes longer."""
        with Ledger(str(self.ledger)) as ledger:
            known = ledger.messages.find(identity(content))
            actions = [] if known is None else ledger.journal.of_message(known.id)
            return sum(action.state in {"done", "undone"} and action.kind != "judged" for action in actions)

    def settle(self, client: Client) -> None:
        """Wait until the service has dealt with all that happened before.

        A marker goes through after that. Yet it overtakes a file that the service saw while the server moved it: with
        two names a file dwells longer. So each file is waited for too.
        """
        marker = new_mail("ham")
        client.put("INBOX", marker)
        self.wait_until_judged(marker)
        client.move(marker, "INBOX", "Archive")
        self.wait_for(marker, "learned ham")
        until(lambda: not self._dwelling(), lambda: f"{self._dwelling()} to be dealt with; {self.log()}")

    def _dwelling(self) -> list[str]:
        """The files whose place the ledger does not know yet."""
        found = []
        with Ledger(str(self.ledger)) as ledger:
            for name, folder in self.folders.items():
                known = ledger.locations.recorded_in(str(self.root), name)
                found += [entry.path(folder) for entry in scan(folder) if parse_name(entry.name).key not in known]
        return found


@pytest.fixture(scope="session")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger that has learned enough of both kinds."""
    path = tmp_path_factory.mktemp("taught") / "ledger.sqlite"
    with Ledger(str(path)) as ledger:
        learn(ledger, sample_lessons(_LESSONS))
    return path


@pytest.fixture(scope="session")
def debian_13() -> Iterator[Path]:
    """A tree of Debian 13 with Dovecot; skips with the reason if there is none."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to run Dovecot 2.4 in a tree of Debian 13")
    if shutil.which("mmdebstrap") is None:
        pytest.skip("needs mmdebstrap, to make a tree of Debian 13 (Debian: apt install mmdebstrap)")
    try:
        archive = tree.debian()
    except tree.CannotSetUpError as fault:
        pytest.skip(f"no tree of Debian 13: {fault}")
    with tempfile.TemporaryDirectory(prefix="spamnb-debian-") as place:
        os.chmod(place, 0o755)
        tree.unpack(archive, Path(place, "tree"))
        yield Path(place, "tree")


@pytest.fixture(scope="module", params=[OLD, pytest.param(NEW, marks=pytest.mark.slow)])
def dovecot(request: pytest.FixtureRequest) -> Dovecot:
    """Each version; what depends on it more than the rest is marked with BOTH, and runs with both each time."""
    return Dovecot(request.getfixturevalue("debian_13") if request.param == NEW else None)


@contextlib.contextmanager
def hosts(taught: Path, dovecot: Dovecot) -> Iterator[Callable[..., Host]]:
    """Makes homes with Dovecot. At the end no log may hold a fault, nor the ledger."""
    if dovecot.program("dovecot") is None:
        pytest.skip("needs Dovecot (Debian: dovecot-imapd)")
    made: list[Host] = []
    with contextlib.ExitStack() as stack:

        def make(layout: str = "maildir++", *, knows: bool = True, **how: Any) -> Host:
            # A short path, which anna can reach: it holds sockets.
            home = stack.enter_context(tempfile.TemporaryDirectory(prefix="spamnb-imap-"))
            port = stack.enter_context(held_port())
            made.append(Host(Path(home).resolve(), layout, taught if knows else None, dovecot, port, **how))
            return made[-1]

        try:
            yield make
        finally:
            for host in made:
                host.close()
        for host in made:
            assert host.dovecot_faults() == []
            assert host.service_faults() == []
            assert host.faults() == []


@pytest.fixture
def make_host(taught: Path, dovecot: Dovecot) -> Iterator[Callable[..., Host]]:
    """Makes homes with Dovecot for one test. At the end no log may hold a fault, nor the ledger."""
    with hosts(taught, dovecot) as make:
        yield make


@pytest.fixture(params=LAYOUTS)
def host(request: pytest.FixtureRequest, make_host: Callable[..., Host]) -> Host:
    """Anna's home, once with Maildir++ and once with LAYOUT=fs; Dovecot and the service run."""
    host = make_host(request.param)
    host.start()
    return host


@pytest.fixture
def client(host: Host) -> Client:
    """A session of anna's mail program."""
    return host.client()
