"""The pages of a desk behind a real server in a process of its own, and a mailbox with a story of some weeks."""

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from spamnb.acts import training
from spamnb.base.label import How, Label
from spamnb.cli.common.sample_mail import message
from spamnb.config.writing import render
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
        learning = f"learning:\n  minimum_messages: {desk.learning.minimum_messages}"
        path.write_text(render(desk.config.mailboxes, desk.config.ledger) + f"\n{config or learning}\n")
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
        process = subprocess.Popen(command, stdout=said, stderr=said)
    until(lambda: "Ctrl-C" in log.read_text() or process.poll() is not None, "the pages to be served")
    found = re.search(r"(http://127\.0\.0\.1:\d+/\w+)/login\?code=\S+", log.read_text())
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
        desk.ahead = max(desk.ahead, (number - days + 1) * DAY + (number * 7 % 9 - 11) * 3600.0)
        if number in (days - 20, days - 1):  # what the filter takes for spam, and is none
            desk.deliver(offer := of_the_club(number))
            desk.take(offer, "Junk", "INBOX")
        if number == days - 9:
            desk.deliver(missed := message("ham", 700 + number))
            desk.take(missed, "INBOX", "Junk")
        if number == days - 12:  # two letters that are dragged to the wrong folder
            for wrong in (message("ham", 800), message("ham", 801)):
                desk.deliver(wrong, "Archive")
                desk.take(wrong, "Archive", "Junk")
        if number == 5:  # answers about what is between the two
            for each in range(12):
                answered = read(forwarded(each))
                training.learn(desk.ledger, answered, Label(each % 3 == 0), "said on a page", desk.now(), how=How.HAND)
        for each in range(2 + number * 5 % 7):
            kind = "spam" if (number + each) % 3 == 0 else "ham"
            desk.deliver(message(kind, 200 + number * 10 + each), flags="S" if each == 1 and kind == "ham" else None)
            desk.ahead += 1500.0
        if number % 4 == 0:
            desk.deliver(of_a_shop(number // 4))
        if number % 11 == 4 and (number + 1) % 3:
            desk.take(message("ham", 200 + number * 10 + 1), "INBOX", "Archive")
    desk.ahead = min(desk.ahead, -60.0)


_SHOPS = (
    (
        "billing@lantern-books.example",
        "Your invoice {}",
        "Enclosed is the invoice for your purchase. Payment is due soon.",
    ),
    (
        "tickets@northline.example",
        "Seats for the night train, booking {}",
        "Coach 12, berths reserved. Boarding opens early.",
    ),
    (
        "news@cheese-club.example",
        "The cellar letter, number {}",
        "This month: three alpine wheels, and how to store them.",
    ),
    (
        "alerts@parcel.example",
        "Parcel {} waits at the kiosk",
        "Collect within seven days. Opening hours are on the door.",
    ),
)


def of_the_club(number: int) -> bytes:
    """A message that one wants, and that is worded like spam."""
    head = f"From: offers@garden-club.example\nSubject: Members' offer {number}\nMessage-ID: <{number}@club.example>\n"
    texts = [message("spam", 700 + number + each).partition(b"\n\n")[2] for each in range(4)]
    return head.encode() + b"\n" + b"\n".join(texts)


def forwarded(number: int) -> bytes:
    """A letter with more or less of an advertisement in it."""
    letter, offer = message("ham", 850 + number), message("spam", 850 + number)
    body = offer.partition(b"\n\n")[2].split()
    return letter + b"\n" + b" ".join(body[: len(body) * (number + 1) // 12])


def of_a_shop(number: int) -> bytes:
    """A message that is like nothing that was learned."""
    sender, subject, text = _SHOPS[number % len(_SHOPS)]
    identity = f"Message-ID: <{number}@{sender.partition('@')[2]}>"
    return f"From: {sender}\nSubject: {subject.format(8800 + 37 * number)}\n{identity}\n\n{text} ({number})\n".encode()


@contextlib.contextmanager
def as_if_running(desk: WebDesk) -> Iterator[None]:
    """The desk's service, which works step by step, counts as running."""
    with only_service(str(desk.config.ledger)):
        yield
