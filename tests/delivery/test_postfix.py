"""Postfix with spamnb as its content filter, by the recipe of docs/mail-server.md."""

import json
import os
import smtplib
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.delivery.conftest import BROKEN, HAM, SPAM, Home, needs_a_python_for
from tests.imap.conftest import program
from tests.imap.postfix import postfix, run
from tests.patience import PATIENCE, until
from tests.ports import held_port

pytestmark = pytest.mark.real_system
DOCUMENT = "docs/mail-server.md"
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

    def deferred(self) -> list[str]:
        """Why the messages in the queue were not delivered."""
        listed = run(program("postqueue") or "", "-c", str(self._configuration), "-j").decode()
        waiting = [json.loads(line) for line in listed.splitlines()]
        return [one["recipients"][0]["delay_reason"] for one in waiting if one["queue_name"] == "deferred"]

    def try_again(self) -> None:
        """Try to deliver deferred mail now."""
        run(program("postqueue") or "", "-c", str(self._configuration), "-f")

    def log(self) -> str:
        """Return its log."""
        return (self._home.path / "postfix" / "log").read_text(errors="replace")


@pytest.fixture
def server(home: Home) -> Iterator[Postfix]:
    """A Postfix with the content filter; the program runs as a user without rights, who must reach it."""
    if program("postfix") is None or os.getuid() != 0:
        pytest.skip("needs Postfix (Debian: postfix), and root to start it")
    needs_a_python_for(USER)
    for path in [home.path / "ledger.sqlite", home.path / "Maildir", *(home.path / "Maildir").rglob("*")]:
        os.chown(path, 65534, 65534)
    (home.path / "config.yaml").chmod(0o644)
    with held_port() as port, held_port() as back, _postfix(home, port, back) as configuration:
        yield Postfix(home, configuration, port)


def _postfix(home: Home, port: int, back: int) -> AbstractContextManager[Path]:
    """It takes mail by SMTP at `port`, and at `back` what the filter gives back."""
    services = home.recipe("postfix-master").replace("smtp inet", f"127.0.0.1:{port} inet")
    script = home.path / "bin" / "spamnb-filter"
    services = services.replace("/usr/local/bin/spamnb-filter", str(script)).replace("user=spamnb", f"user={USER}")
    # A user without rights may call `sendmail` only for the system's own Postfix.
    sendmail = home.write("bin/sendmail", f"#!{sys.executable}\n{_SENDMAIL.format(port=back)}", 0o755)
    home.write("bin/spamnb-filter", home.recipe("postfix-filter").replace("/usr/sbin/sendmail", str(sendmail)), 0o755)
    services += f"127.0.0.1:{back} inet n - n - - smtpd\n"
    return postfix(home.path / "postfix", home.path / "Maildir", USER, services)


_SENDMAIL = """\
import smtplib, sys
assert sys.argv[1:4] == ["-G", "-i", "-f"] and sys.argv[5] == "--", sys.argv
with smtplib.SMTP("127.0.0.1", {port}) as client:
    client.sendmail(sys.argv[4], sys.argv[6:], sys.stdin.buffer.read())
"""


def test_delivered(home: Home, server: Postfix) -> None:
    """Mail by SMTP is delivered once, whole, with its verdict."""
    for content in (SPAM, HAM):
        server.send(content)
    until(lambda: len(home.mail()) == 2, lambda: f"both to be delivered: {server.log()}")
    ham, spam = sorted(home.mail(), key=lambda content: b"X-Spam-Flag: YES\n" in content)
    assert b"X-Spamnb: spam, " in spam
    assert b"X-Spamnb: ham, " in ham
    for content, found in ((SPAM, spam), (HAM, ham)):
        fields, _, body = content.partition(b"\n\n")
        assert found.endswith(b"\n\n" + body)
        assert set(fields.splitlines()) <= set(found.splitlines())
    assert server.deferred() == []


@pytest.mark.parametrize("how", [*BROKEN, "silent"])
def test_a_broken_filter_loses_nothing(home: Home, server: Postfix, how: str) -> None:
    """If the filter breaks, even silently with exit code 0, the message waits until it works again."""
    if how == "silent":
        home.install("exit 0")
    else:
        home.break_it(how)
    server.send(SPAM)
    until(lambda: len(server.deferred()) == 1, lambda: f"the message to wait: {server.log()}")
    assert home.mail() == []
    assert "bounced" not in server.log()
    home.install_spamnb()
    server.try_again()
    until(lambda: len(home.mail()) == 1, lambda: f"the message to be delivered: {server.log()}")
    assert b"X-Spam-Flag: YES" in home.mail()[0]
