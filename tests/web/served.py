"""The pages of a desk behind a real server in a process of its own, and a mailbox with a story of some weeks."""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from spamnb import training
from spamnb.cli.sample_mail import message
from spamnb.config.writing import render
from spamnb.label import Label
from spamnb.ledger.file.locks import only_service
from spamnb.mail.reading import read
from tests.service.conftest import PATIENCE, until
from tests.service.desk import DAY
from tests.web.desk import WebDesk


@dataclass
class Served:
    """A server in a process. base: where its pages are, over TCP."""

    process: subprocess.Popen[bytes]
    base: str
    log: str

    def kill(self) -> None:
        """As `kill -9` does."""
        self.process.kill()
        self.process.wait(PATIENCE)


def start(desk: WebDesk, *arguments: str, config: str = "") -> Served:
    """`spamnb web`, from the moment on at which it serves."""
    path = desk.directory / "config.yaml"
    if not path.exists():
        mailboxes = desk.config.mailboxes
        path.write_text(render(mailboxes, desk.config.ledger) + f"\n{config}\n")
    log = desk.directory / f"web-{len(list(desk.directory.glob('web-*.log')))}.log"
    command = [
        sys.executable,
        "-m",
        "spamnb",
        "--config",
        str(path),
        "web",
        *(arguments or ("--listen", "127.0.0.1:0")),
    ]
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    until(lambda: "Ctrl-C" in log.read_text() or process.poll() is not None, "the pages to be served")
    found = re.search(r"(http://127\.0\.0\.1:\d+)/login\?code=\S+", log.read_text())
    assert process.poll() is None, log.read_text()
    return Served(process, found[1] if found else "", str(log))


@contextlib.contextmanager
def served(desk: WebDesk, *arguments: str) -> Iterator[Served]:
    """A server, ended at the end as a service manager ends it; nothing unforeseen is in its log."""
    server = start(desk, *arguments)
    try:
        yield server
    finally:
        server.process.terminate()
        assert server.process.wait(PATIENCE) == 0
    with open(server.log, encoding="utf-8") as log:
        assert "Traceback" not in log.read()


def live_some_weeks(desk: WebDesk, days: int = 45) -> None:
    """Mail comes each day, most is judged rightly; a person answers for some of it, files some, and deletes nothing."""
    desk.ahead = -days * DAY
    for number in range(days):
        desk.ahead = max(desk.ahead, (number - days) * DAY + (number * 7 % 9) * 3600.0)
        for each in range(2 + number % 4):
            kind = "spam" if (number + each) % 3 == 0 else "ham"
            desk.deliver(message(kind, 200 + number * 10 + each), flags="S" if each == 1 else None)
        if number % 3 == 0:
            desk.deliver(between(number))
        if number % 11 == 4 and (number + 1) % 3:
            desk.take(message("ham", 200 + number * 10 + 1), "INBOX", "Archive")
    for number in (800, 801):  # two letters that were dragged to the wrong folder
        training.learn(desk.ledger, read(message("ham", number)), Label.SPAM, "filed", desk.now())
    desk.ahead = min(desk.ahead, -60.0)


def between(number: int) -> bytes:
    """A message that is half of one kind and half of the other."""
    ham, spam = message("ham", 700 + number), message("spam", 700 + number)
    head, _, body = ham.partition(b"\n\n")
    return head.replace(b"Subject: ", b"Subject: Offer: ") + b"\n\n" + body + spam.partition(b"\n\n")[2]


@contextlib.contextmanager
def as_if_running(desk: WebDesk) -> Iterator[None]:
    """The desk's service, which works step by step, counts as running."""
    with only_service(str(desk.config.ledger)):
        yield
