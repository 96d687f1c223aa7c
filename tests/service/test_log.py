"""The service's log: the content of each line, and the source of its time."""

import io
import json
import logging
import os
import re
import socket
import sys
from datetime import datetime
from pathlib import Path

import pytest

from spamnb.cli.common import stderr_log
from spamnb.cli.common.sample_mail import message
from spamnb.config import Mailbox
from spamnb.config.writing import render
from spamnb.maildir.folders import create_folder
from spamnb.maildir.messages import deliver
from spamnb.service.log import LogOnce, about, log_fields
from tests.documents import block
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


EVENTS = {
    "judged": {"verdict", "probability", "digest", "folder", "why"},
    "moved": {"verdict", "probability", "digest", "folder", "to"},
    "learned": {"label", "weak", "why", "digest"},
}
ALWAYS = {"at", "level", "message", "source"}


def test_in_json(site: Site) -> None:
    """With `service.log: json` each line is an object of ASCII that names the event, and its message by a digest."""
    site.teach()
    site.configure(more="service: {log: json}")
    assert site.once() == 0
    site.deliver(SPAM)
    site.deliver(message("ham", 100))
    assert site.once() == 0
    site.move(SPAM, "Junk", "INBOX")
    assert site.once() == 0
    assert site.log().isascii()
    told = [json.loads(line) for line in lines(site)]
    of_events = [one for one in told if "event" in one]
    assert [one["event"] for one in of_events] in (["moved", "judged", "learned"], ["judged", "moved", "learned"])
    for one in of_events:
        assert one.keys() == ALWAYS | {"event"} | EVENTS[one["event"]]
    moved, learned = (one for one in of_events if one["event"] != "judged")
    assert (moved["verdict"], moved["folder"], moved["to"]) == ("spam", "INBOX", "Junk")
    assert moved["digest"] == learned["digest"]
    assert (learned["label"], learned["weak"]) == ("ham", False)
    assert all(datetime.fromisoformat(one["at"]).tzinfo for one in told)
    example = json.loads(block("docs/monitoring.md", "log"))
    assert (example.keys(), example["event"]) == (ALWAYS | {"event"} | EVENTS["moved"], "moved")
    site.configure()
    site.deliver(message("spam", 102))
    assert site.once() == 0
    assert lines(site)[-1].endswith(": moved from INBOX to Junk")


def test_fields_of_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the journal JSON becomes fields; a record that the journal does not take is a line as before."""
    with (tmp_path / "log").open("w+") as log, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        monkeypatch.setattr(sys, "stderr", log)
        status = os.fstat(log.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
        journal.bind(str(tmp_path / "journal"))
        stderr_log.set_up(logging.INFO, service=True)
        stderr_log.set_form("json", str(tmp_path / "journal"))
        with about("anna@example.org"):
            logging.getLogger("spamnb.x").warning(
                "%s\nPRIORITY=0", "\udcff", extra=log_fields(event="moved", weak=False)
            )
        assert journal.recv(10_000) == (
            b"MESSAGE\n\x0e\0\0\0\0\0\0\0? | PRIORITY=0\n"
            + b"PRIORITY\n\x01\0\0\0\0\0\0\x004\nSYSLOG_IDENTIFIER\n\x06\0\0\0\0\0\0\0spamnb\n"
            + b"SPAMNB_SOURCE\n\x08\0\0\0\0\0\0\0spamnb.x\nSPAMNB_MAILBOX\n\x10\0\0\0\0\0\0\0anna@example.org\n"
            + b"SPAMNB_EVENT\n\x05\0\0\0\0\0\0\0moved\nSPAMNB_WEAK\n\x05\0\0\0\0\0\0\0False\n"
        )
        journal.close()
        logging.getLogger("spamnb.x").error("still told")
        logging.basicConfig(force=True)
        log.seek(0)
        assert log.read() == "<3>still told\n"


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
