"""Open sessions after the filter took messages out of `new/`: they show no message without a file."""

import contextlib
import itertools
import re
import select
import smtplib
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from spamnb.maildir.folders import find_folders
from spamnb.maildir.messages import scan
from tests.imap.conftest import LAYOUTS, Client, Host, as_sent, new_mail, program
from tests.imap.test_delivery import Agent, Deliver, by_dovecot, by_maildrop, received
from tests.imap.test_mbsync import maildir_store
from tests.patience import PATIENCE, until

_BURST = 12
# Dovecot looks at a folder in IDLE by itself after 30 s: so late that only what the filter does can wake it.
_NEVER_BY_ITSELF = "mailbox_idle_check_interval = 1 hour\n"
_LMTP = f"""{_NEVER_BY_ITSELF}
protocols = imap lmtp
service lmtp {{
  unix_listener lmtp {{
    mode = 0600
  }}
}}
"""


class Screen:
    """A session that has the inbox open, and the number of messages that it shows."""

    def __init__(self, port: int, *, idle: bool) -> None:
        self.shown = 0
        self._idle = idle
        self._read = b""
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._must("LOGIN anna secret")
        self._must("SELECT INBOX")
        if idle:
            self._socket.sendall(b"i IDLE\r\n")
            self._until(b"+")

    def look(self) -> int:
        """Read the server's messages so far, or ask for them; return how many messages it shows."""
        if self._idle:
            self._take(0.0)
        else:
            self._must("NOOP")
        return self.shown

    def close(self) -> None:
        """End the session."""
        self._socket.close()

    def _must(self, command: str) -> None:
        self._socket.sendall(f"t {command}\r\n".encode())
        assert self._until(b"t ").startswith(b"t OK")

    def _until(self, start: bytes) -> bytes:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for line in self._take(1.0):
                if line.startswith(start):
                    return line
        raise AssertionError(f"waited in vain for {start!r}")

    def _take(self, seconds: float) -> list[bytes]:
        if not select.select([self._socket], [], [], seconds)[0]:
            return []
        self._read += self._socket.recv(65536)
        *lines, self._read = self._read.split(b"\r\n")
        for line in lines:
            if found := re.match(rb"\* (\d+) (EXISTS|EXPUNGE)", line):
                self.shown = int(found[1]) if found[2] == b"EXISTS" else self.shown - 1
        return lines


@contextlib.contextmanager
def by_lmtp(host: Host) -> Iterator[Deliver]:
    """Deliver by Dovecot's LMTP server, as an MTA does."""
    if program("lmtp") is None:
        pytest.skip("needs Dovecot's LMTP server (Debian: dovecot-lmtpd)")

    def deliver(content: bytes) -> None:
        with smtplib.LMTP(str(host.directory / "run" / "lmtp"), local_hostname="mx.example") as server:
            assert server.sendmail("a@b.example", ["anna"], as_sent(content)) == {}

    yield deliver


@contextlib.contextmanager
def mbsync_beside(host: Host) -> Iterator[None]:
    """Let mbsync synchronise the account with a Maildir elsewhere, again and again, and at the end once more.

    A message that leaves while mbsync reads it ends that run; the next one goes on.
    """
    if program("mbsync") is None:
        pytest.skip("needs mbsync (Debian: isync)")
    local, state = host.directory / "Local", host.directory / "state"
    for directory in (local, state):
        directory.mkdir()
    host.own(local, state)
    (host.directory / "mbsyncrc").write_text(
        f"IMAPStore far\nHost 127.0.0.1\nPort {host.port}\nUser anna\nPass secret\nSSLType None\nAuthMechs LOGIN\n\n"
        + maildir_store("near", local, "fs")
        + f"Channel mail\nFar :far:\nNear :near:\nPatterns *\nCreate Near\nExpunge Both\nSync All\nSyncState {state}/\n"
    )
    stop: list[bool] = []

    def sync() -> int:
        return host.as_owner("mbsync", "-c", str(host.directory / "mbsyncrc"), "mail").returncode

    def work() -> None:
        while not stop:
            sync()

    with ThreadPoolExecutor(1) as beside:
        working = beside.submit(work)
        try:
            yield
        finally:
            stop.append(True)
        working.result()
    assert sync() == 0
    assert len(scan(find_folders(str(local), "fs")[0])) == files(host)


def files(host: Host, folder: str = "INBOX") -> int:
    """Return the number of messages in a folder."""
    return len(scan(host.folders[folder]))


def agrees(host: Host, screen: Screen, spam: list[bytes]) -> None:
    """Once the spam is in Junk, the session shows the contents of the inbox; a ghost would stay for ever."""
    until(lambda: all(host.where(content) == ["Junk"] for content in spam), lambda: f"spam moved: {host.log()}")
    until(lambda: screen.look() == files(host), "the session to show the files of the inbox")


def has_no_ghost(client: Client, folder: str, number: int) -> None:
    """A fresh session counts the files of a folder, and each message has its header."""
    assert client.must(client.status(folder, "(MESSAGES)")) == [f"{folder} (MESSAGES {number})".encode()]
    client.go(folder)
    envelopes = client.must(client.fetch("1:*", "(ENVELOPE)")) if number else []
    assert len(envelopes) == number
    assert not [envelope for envelope in envelopes if b"NIL NIL NIL NIL NIL" in envelope]


AGENTS = [by_dovecot, by_lmtp, by_maildrop]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_open_sessions(make_host: Callable[..., Host], layout: str, agent: Agent) -> None:
    """A session in IDLE and one that polls by NOOP show the inbox, after one spam and after a burst."""
    host = make_host(layout, more=_LMTP)
    host.start()
    numbers = itertools.count()
    with agent(host) as deliver:
        for idle in (True, False):
            with contextlib.closing(Screen(host.port, idle=idle)) as screen:
                for kinds in (["spam"], ["ham", *["spam"] * _BURST]):
                    mail = {received(new_mail(kind), next(numbers)): kind for kind in kinds}
                    for content in mail:
                        deliver(content)
                    agrees(host, screen, [content for content, kind in mail.items() if kind == "spam"])
        has_no_ghost(host.client(), "INBOX", 2)
        has_no_ghost(host.client(), "Junk", 2 * (_BURST + 1))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_beside_mbsync(make_host: Callable[..., Host], layout: str) -> None:
    """The same holds while mbsync works on the account."""
    host = make_host(layout, more=_NEVER_BY_ITSELF)
    host.start()
    with by_dovecot(host) as deliver, contextlib.closing(Screen(host.port, idle=True)) as screen, mbsync_beside(host):
        for burst in (1, _BURST):
            spam = [new_mail("spam") for _ in range(burst)]
            for content in spam:
                deliver(content)
            agrees(host, screen, spam)
    has_no_ghost(host.client(), "INBOX", 0)
    has_no_ghost(host.client(), "Junk", 1 + _BURST)
