"""A real Postfix of a home, which takes mail by SMTP on loopback."""

import json
import re
import smtplib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.delivery.conftest import Home
from tests.imap.conftest import program
from tests.imap.postfix import postfix, run
from tests.patience import PATIENCE
from tests.ports import held_port

USER = "nobody"


class Postfix:
    """A Postfix that takes mail by SMTP."""

    def __init__(self, home: Home, configuration: Path, port: int) -> None:
        self._home = home
        self._configuration = configuration
        self._port = port

    def send(self, content: bytes) -> None:
        """Send a message by SMTP."""
        with smtplib.SMTP("127.0.0.1", self._port, timeout=PATIENCE) as client:
            client.sendmail("a@b.example", f"{USER}@home.example", content)

    def waiting(self) -> int:
        """How many messages in its queue were tried, and not delivered."""
        listed = run(program("postqueue") or "", "-c", str(self._configuration), "-j").decode()
        return sum(json.loads(line)["queue_name"] == "deferred" for line in listed.splitlines())

    def delivered(self) -> int:
        """How many messages were delivered."""
        return len(re.findall(r"local.* status=sent", self.log()))

    def try_again(self) -> None:
        """Try to deliver waiting mail now."""
        run(program("postqueue") or "", "-c", str(self._configuration), "-f")

    def log(self) -> str:
        """Return its log."""
        return (self._home.path / "postfix" / "log").read_text(errors="replace")


@contextmanager
def by_smtp(home: Home, services: str) -> Iterator[Postfix]:
    """Postfix with more services in its master.cf, of which `smtp inet` gets a free port."""
    with held_port() as port:
        services = services.replace("smtp inet", f"127.0.0.1:{port} inet")
        with postfix(home.path / "postfix", home.path / "Maildir", USER, services) as configuration:
            yield Postfix(home, configuration, port)
