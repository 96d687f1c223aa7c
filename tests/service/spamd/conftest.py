"""The spamd part of the service over a ledger that knows ham from spam, and a client that sends any bytes."""

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
from spamnb.ledger.ledger import Ledger
from spamnb.service.measurements import Measurements
from spamnb.service.spamd.service import SpamdService

PATIENCE = 30.0


class Service:
    """The sockets, connections and requests of the service in this process, and what its clients see."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = str(directory / "spamd.sock")
        mailbox = Mailbox(directory / "Maildir", {"INBOX": Role.INBOX, "Junk": Role.SPAM})
        settings = Settings(listen=(self.path,))
        self.config = Config((mailbox,), directory / "ledger", learning=Learning(minimum_messages=1), spamd=settings)
        self.spamd = SpamdService((), time.time, Measurements())
        self.spamd.use(self.config)

    def use(self, config: Config) -> None:
        """Read another configuration."""
        self.config = config
        self.spamd.use(config)

    def set(self, **settings: object) -> None:
        """Change the section spamd."""
        self.use(replace(self.config, spamd=replace(self.config.spamd, **settings)))  # type: ignore[arg-type]

    def connect(self) -> socket.socket:
        """A connection."""
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(PATIENCE)
        client.connect(self.path)
        return client

    def ask(self, request: bytes, *, ends: bool = True) -> bytes:
        """What is answered; `ends`: the client closes its sending half, as spamc does."""
        with self.connect() as client:
            return exchange(client, request, ends=ends)

    def ledger(self) -> Ledger:
        """The ledger, as a command opens it."""
        return Ledger(str(self.config.ledger))


def exchange(client: socket.socket, request: bytes, *, ends: bool = True) -> bytes:
    """Send all, and read to the end of the stream; where the rest of what was sent is refused, that end is a reset."""
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
def service(tmp_path: Path, taught: Path) -> Iterator[Service]:
    """The spamd part of the service, on a socket in the test's directory."""
    shutil.copy(taught, tmp_path / "ledger")
    made = Service(tmp_path)
    yield made
    made.spamd.close()
