"""The spamd part of the service, for one person and for the users of a mail host, and a client that sends any bytes."""

import contextlib
import shutil
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from spamnb.base.label import Role
from spamnb.config import Config, Learning, Mailbox
from spamnb.config import Spamd as Settings
from spamnb.host.service.served import ServedHost
from spamnb.host.shares import Share
from spamnb.ledger.ledger import Ledger
from spamnb.service.measurements import Measurements
from spamnb.service.one_person import Person
from spamnb.service.part import PartTools
from spamnb.service.reading_now import ReadingNow
from spamnb.spamd.service import SpamdService
from tests.host.conftest import Site
from tests.patience import PATIENCE
from tests.service.conftest import site, taught

__all__ = ["site", "taught"]  # fixtures of the service that answers


class Asked:
    """A socket as its clients see it."""

    path: str

    def connect(self) -> socket.socket:
        """A connection."""
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(PATIENCE)
        client.connect(self.path)
        return client

    def ask(self, request: bytes, *, ends: bool = True) -> bytes:
        """Return the answer; `ends`: the client closes its sending half, as spamc does."""
        with self.connect() as client:
            return exchange(client, request, ends=ends)


def tools(reading: ReadingNow | None = None) -> PartTools:
    """What the loop gives to a part, without a loop that could be woken."""
    return PartTools(time.time, Measurements(), reading or ReadingNow(), lambda: None)


class Service(Asked):
    """The sockets, connections and requests of the service in this process, and what its clients see."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = str(directory / "spamd.sock")
        mailbox = Mailbox(directory / "Maildir", {"INBOX": Role.INBOX, "Junk": Role.SPAM})
        settings = Settings(listen=(self.path,))
        self.config = Config((mailbox,), directory / "ledger", learning=Learning(minimum_messages=1), spamd=settings)
        self.reading = ReadingNow()
        self.spamd = SpamdService((), tools(self.reading))
        self.spamd.use(Person(self.config))

    def use(self, config: Config) -> None:
        """Read another configuration."""
        self.config = config
        self.spamd.use(Person(config))

    def set(self, **settings: object) -> None:
        """Change the section spamd."""
        self.use(replace(self.config, spamd=replace(self.config.spamd, **settings)))  # type: ignore[arg-type]

    def ledger(self) -> Ledger:
        """The ledger, as a command opens it."""
        return Ledger(str(self.config.ledger))


class OfHost(Asked):
    """The same for the users of a mail host, whose mail and ledgers are below a directory."""

    def __init__(self, directory: Path, taught: Path) -> None:
        self.site = Site(directory)
        self.path = str(directory / "spamd.sock")
        self.spamd = SpamdService((), tools())
        self._taught = taught
        self.set()

    def set(self, more: str = "", **settings: object) -> None:
        """Read another configuration; more: keys of `users`, and sections. settings: of `spamd`."""
        spamd = "".join(f"  {key}: {value}\n" for key, value in {"listen": f"[{self.path}]", **settings}.items())
        sections = f"learning: {{minimum_messages: 1, dwell_seconds: 0.3}}\nspamd:\n{spamd}"
        self.host = replace(self.site.host(f"{more}{sections}"), share=Share())
        self.spamd.use(ServedHost(self.host))

    def user(self, name: str, *, is_new: bool = False) -> str:
        """A user with a Maildir, and unless is_new a ledger that knows ham from spam."""
        local, _, domain = name.partition("@")
        self.site.maildir(f"{domain}/{local}/Maildir")
        if not is_new:
            self.path_of(name).parent.mkdir(0o700, parents=True, exist_ok=True)
            shutil.copy(self._taught, self.path_of(name))
        return name

    def path_of(self, name: str) -> Path:
        """Return the path of a user's ledger."""
        return self.host.ledgers.fill(name)

    def ledger(self, name: str) -> Ledger:
        """A user's ledger, as a command opens it."""
        return Ledger(str(self.path_of(name)))

    def files(self) -> list[Path]:
        """All that there is, around it too, but for what belongs to SQLite while a ledger is open."""
        return sorted(path for path in self.site.directory.parent.rglob("*") if path.suffix not in {"-wal", "-shm"})


def exchange(client: socket.socket, request: bytes, *, ends: bool = True) -> bytes:
    """Send all, and read to the end of the stream; if the rest of the bytes is refused, that end is a reset."""
    try:
        client.sendall(request)
        if ends:
            client.shutdown(socket.SHUT_WR)
    except (BrokenPipeError, ConnectionResetError):
        pass  # refused before all was read
    answer = b""
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(1 << 16):
            answer += part
    return answer


def request(
    command: str, message: bytes = b"", version: str = "1.5", *fields: str, user: str = "bob", length: bool = True
) -> bytes:
    """A request as clients write it."""
    lines = [f"{command} SPAMC/{version}", *fields]
    lines += [f"User: {user}"] if user else []
    lines += [f"Content-length: {len(message)}"] if length else []
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + message


@pytest.fixture
def host(tmp_path: Path, taught: Path) -> Iterator[OfHost]:
    """The spamd part of the service of a mail host without users."""
    (tmp_path / "host").mkdir()
    made = OfHost(tmp_path / "host", taught)
    yield made
    made.spamd.close()


@pytest.fixture
def service(tmp_path: Path, taught: Path) -> Iterator[Service]:
    """The spamd part of the service, on a socket in the test's directory."""
    shutil.copy(taught, tmp_path / "ledger")
    made = Service(tmp_path)
    yield made
    made.spamd.close()
