"""A mail program that waits in IDLE, as a phone does, for mail whose header has a number."""

import contextlib
import itertools
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.imap.conftest import Client, Host
from tests.patience import PATIENCE

_SILENCE = 300.0  # Dovecot says "Still here" every two minutes
NUMBER = re.compile(rb"from relay\.example id (\d+)\b")


def numbered(content: bytes, number: int) -> bytes:
    """The message with a number, in a field that its identity and its tokens do not have."""
    return b"Received: from relay.example id %d; Fri, 2 Jan 2026 10:00:00 +0000\n" % number + content


@contextlib.contextmanager
def by_rename(host: Host) -> Iterator[Callable[[bytes], None]]:
    """Deliver by a rename into new/, as an agent does that knows nothing of Dovecot."""
    inbox = host.folders["INBOX"]

    def deliver(content: bytes) -> None:
        base = next(host.bases)
        draft, final = (Path(inbox.subdir(subdir), base) for subdir in ("tmp", "new"))
        draft.write_bytes(content)
        host.own(draft)
        draft.rename(final)

    yield deliver


class Phone(threading.Thread):
    """A session that waits in IDLE. After each EXISTS it fetches the header of what is new, and waits again.

    told: how many messages EXISTS has added. heard: when it was told of a message that it could fetch, by its number.
    It ends after the message with the number `last`.
    """

    def __init__(self, client: Client, last: int) -> None:
        super().__init__(daemon=True)
        client.sock.settimeout(_SILENCE)
        self.told = 0
        self.heard: dict[int, float] = {}
        self._client = client
        self._last = last
        self._tags = (b"i%d" % number for number in itertools.count())
        self._exists = self._fetched = int(client.must(client.select("INBOX"))[0])
        self._next_uid = 1
        self._told_at = 0.0
        self._waits = threading.Event()

    def wait(self) -> None:
        """Wait until the session is in IDLE."""
        assert self._waits.wait(PATIENCE), "the session does not come to IDLE"

    def run(self) -> None:
        """Wait and fetch until the last message is there."""
        while self._last not in self.heard:
            tag = self._send(b"IDLE")
            while not self._line().startswith(b"+"):
                pass
            self._waits.set()
            while self._exists <= self._fetched:
                self._line()
            self._waits.clear()
            self._client.send(b"DONE\r\n")
            self._rest(tag)
            said = self._rest(self._send(b"UID FETCH %d:* (UID BODY.PEEK[HEADER.FIELDS (Received)])" % self._next_uid))
            self._next_uid = max([self._next_uid, *(int(uid) + 1 for uid in re.findall(rb"\(UID (\d+)", said))])
            for number in NUMBER.findall(said):
                self.heard.setdefault(int(number), self._told_at)
            self._fetched = self._exists

    def _send(self, command: bytes) -> bytes:
        tag = next(self._tags)
        self._client.send(tag + b" " + command + b"\r\n")
        return tag

    def _rest(self, tag: bytes) -> bytes:
        """Return the answer up to the line with the tag."""
        lines = [self._line()]
        while not lines[-1].startswith(tag):
            lines.append(self._line())
        return b"".join(lines)

    def _line(self) -> bytes:
        """Return the next line, and count what it tells."""
        line: bytes = self._client.readline()
        assert line, "Dovecot has closed the session"
        if found := re.match(rb"\* (\d+) EXISTS", line):
            if (number := int(found[1])) > self._exists:
                self.told += number - self._exists
                self._told_at = time.perf_counter()
            self._exists = number
        elif re.match(rb"\* \d+ EXPUNGE", line):
            self._exists -= 1
            self._fetched = min(self._fetched, self._exists)
        return line
