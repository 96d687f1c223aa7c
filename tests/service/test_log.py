"""The service's log: the content of each line, and the source of its time."""

import io
import logging
import os
import re
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.config import Mailbox, render
from spamnb.maildir.folders import create_folder
from spamnb.maildir.messages import deliver
from spamnb.service.log import LogOnce
from tests.patience import until
from tests.service.conftest import Site

SPAM = message("spam", 100)


def lines(site: Site) -> list[str]:
    """The lines of the log."""
    return site.log().splitlines()


def test_subjects_can_be_left_out(site: Site) -> None:
    """With `subjects: false` no line holds a subject or a sender, whatever became of the message."""
    site.teach()
    site.configure(more="log: {subjects: false}")
    assert site.once() == 0
    site.deliver(SPAM)
    site.deliver(message("ham", 100))
    assert site.once() == 0
    site.move(SPAM, "Junk", "INBOX")
    site.deliver(message("spam", 101), "TrainSpam")
    assert site.once() == 0
    said = [line.partition(" ")[2] for line in lines(site)]
    assert sum(": moved from INBOX to Junk" in line for line in said) == 1
    assert sum("learned as " in line for line in said) == 2
    assert sum(re.search(r"message [0-9a-f]{12}\b", line) is not None for line in said) >= 4
    for content in (SPAM, message("ham", 100), message("spam", 101)):
        header = content.decode().partition("\n\n")[0]
        for name in ("Subject", "From"):
            value = re.search(rf"^{name}: (.*)$", header, re.MULTILINE)[1].strip()  # type: ignore[index]
            assert value not in site.log()
    site.configure()
    site.deliver(message("spam", 102))
    assert site.once() == 0
    assert "@" in lines(site)[-1], "they are there by default"


@pytest.mark.thorough
def test_time_and_priority(site: Site) -> None:
    """Each line has the time, unless it goes to the journal, which adds it, and wants the priority."""
    site.start()
    site.end()
    plain = len(lines(site))
    assert plain
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S", line) for line in lines(site))
    site.start(environ={"JOURNAL_STREAM": "1:2"})  # of the service that has started this program
    site.end()
    before = len(lines(site))
    assert before > plain
    assert not any(line.startswith("<") for line in lines(site))
    status = os.stat(site.log_file)
    site.start(environ={"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"})
    site.end()
    assert len(lines(site)) > before
    assert all(re.match(r"<[3467]>\D", line) for line in lines(site)[before:])


def test_the_mailbox_where_there_are_several(site: Site, tmp_path: Path) -> None:
    """With several mailboxes a line that is about one of them names it; with one, none does."""
    site.teach()
    assert site.once() == 0
    site.deliver(SPAM)
    assert site.once() == 0
    assert not any(line.split(" ")[2] == f"{site.root}:" for line in lines(site))
    second = tmp_path / "second"
    for name in site.roles:
        create_folder(str(second), "maildir++", name)
    mailboxes = [Mailbox(path=root, roles=site.roles) for root in (site.root, second)]
    site.config.write_text(render(mailboxes, site.ledger))
    site.start()
    deliver(create_folder(str(second), "maildir++", "INBOX"), message("spam", 103), next(site.bases))
    until(
        lambda: any(line.split(" ")[2:4] == [f"{second}:", "spam"] for line in lines(site)),
        "the line about the second mailbox",
    )
    site.end()
    assert not any(line.count(str(second)) > 1 for line in lines(site))


def test_many_faults_at_once() -> None:
    """After the most faults that are logged at once, one more line is logged; further faults are still counted."""
    counted: list[object] = []
    log, said = logging.Logger("faults"), io.StringIO()
    log.addHandler(logging.StreamHandler(said))
    faults = LogOnce(log, count=counted.append, most=3)
    for number in range(1000):
        faults.log(number, f"fault {number}")
    assert said.getvalue().splitlines() == [
        *(f"fault {number}" for number in range(3)),
        "fault 3; more faults of this kind are not logged until some are over",
    ]
    assert counted == [*range(1000)]
    assert all(number in faults for number in range(1000))
    for number in range(1000):
        assert faults.clear(number)
    faults.log("later", "a fault of later")
    assert said.getvalue().endswith("\na fault of later\n")
