"""Works at a provider from inside a booted system, with Python's own library alone; prints a JSON object per line.

probe.py PORT USER fill LESSONS                     put the lessons into INBOX and Junk
probe.py PORT USER folders NUMBER                   make that number of folders
probe.py PORT USER deliver FILE                     deliver a message to INBOX
probe.py PORT USER where MESSAGE-ID                 how many messages with it are in INBOX, and in Junk
probe.py PORT USER watch MAILDIR DIRECTORY PAUSE WANTED
    deliver the spam in a directory, one after the other, each PAUSE seconds after the last one was in Junk; and the
    seconds until each is in Junk here, and in Junk at the provider. WANTED: made as soon as the provider tells of
    new mail, as goimapnotify does
"""

import imaplib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

_PATIENCE = 60.0
_LOOK = 0.002  # seconds between two looks at a directory


def session(port: str, user: str) -> imaplib.IMAP4:
    """Return a session of the account."""
    made = imaplib.IMAP4("127.0.0.1", int(port), timeout=_PATIENCE)
    made.login(user, "secret")
    return made


def put(at: imaplib.IMAP4, folder: str, content: bytes, flags: str = "") -> None:
    """APPEND."""
    at.append(folder, flags, "", content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))


def fill(at: imaplib.IMAP4, lessons: Path) -> None:
    """Put the lessons where a filter learns from."""
    for folder, kind, flags in (("INBOX", "ham", "(\\Seen)"), ("Junk", "spam", "")):
        for file in sorted((lessons / kind).iterdir()):
            put(at, folder, file.read_bytes(), flags)


def number(at: imaplib.IMAP4, folder: str, identifier: str) -> int:
    """Return how many messages of a folder have the Message-ID."""
    at.select(folder, readonly=True)
    return len(at.search(None, f'HEADER Message-ID "{identifier}"')[1][0].split())


def tell(values: dict[str, float]) -> None:
    """Print one JSON object on a line of its own."""
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


class Idle(threading.Thread):
    """IDLE in a folder, in a thread; calls a function for each new message."""

    def __init__(self, at: imaplib.IMAP4, folder: str, told: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._at, self._told = at, told
        self._known = int(at.select(folder)[1][0])
        at.send(b"idle1 IDLE\r\n")
        at.readline()
        self.start()

    def run(self) -> None:
        """Read until the session ends."""
        while line := self._at.readline():
            words = line.split()
            if words[2:] == [b"EXISTS"]:
                if int(words[1]) > self._known:
                    self._told()
                self._known = int(words[1])
            elif words[2:] == [b"EXPUNGE"]:
                self._known -= 1


def names(*directories: Path) -> set[str]:
    """Return the base names in the directories."""
    return {name.partition(":")[0].partition(",")[0] for each in directories for name in os.listdir(each)}


def watch(port: str, user: str, maildir: Path, files: Iterable[Path], pause: float, wanted: Path) -> None:
    """Deliver, and print the times."""
    at, came = session(port, user), threading.Event()
    Idle(session(port, user), "Junk", came.set)
    Idle(session(port, user), "INBOX", wanted.touch)
    junk = [maildir / "Junk" / each for each in ("new", "cur")]
    for file in files:
        before = names(*junk)
        came.clear()
        put(at, "INBOX", file.read_bytes())
        begin, times = time.monotonic(), {}
        while not came.is_set() and time.monotonic() - begin < _PATIENCE:
            if "here" not in times and names(*junk) - before:
                times["here"] = time.monotonic() - begin
            time.sleep(_LOOK)
        if came.is_set():
            times["provider"] = time.monotonic() - begin
        tell(times)
        time.sleep(pause)


def main() -> None:
    """Do what the arguments say."""
    port, user, what, *rest = sys.argv[1:]
    if what == "fill":
        fill(session(port, user), Path(rest[0]))
    elif what == "folders":
        at = session(port, user)
        for count in range(int(rest[0])):
            at.create(f"Folder{count}")
    elif what == "deliver":
        put(session(port, user), "INBOX", Path(rest[0]).read_bytes())
    elif what == "where":
        at = session(port, user)
        tell({folder: number(at, folder, rest[0]) for folder in ("INBOX", "Junk")})
    else:
        maildir, directory, pause, wanted = rest
        watch(port, user, Path(maildir), sorted(Path(directory).iterdir()), float(pause), Path(wanted))


if __name__ == "__main__":
    main()
