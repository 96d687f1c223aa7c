"""The circuit breaker, and that the filter never learns from its own verdict: it must not follow its own mistakes."""

import shutil
import time

import pytest

from spamnb.acts.moved_file import MovedFile
from spamnb.acts.moves import Mover, bases_now, find_folder, folder_of_id
from spamnb.acts.withheld import pause
from spamnb.cli.common.sample_mail import message
from spamnb.ledger.history.actions import Cause
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.messages import Entry
from spamnb.rules.moving import WINDOW
from tests.patience import until
from tests.service.conftest import LESSONS, Site


def judged(site: Site) -> int:
    return site.log().count(": stays in INBOX") + site.log().count(": moved from INBOX to Junk")


def test_an_abnormal_share_of_spam_stops_the_moving(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """When nearly all new mail looks like spam, the service says so and only records, until `spamnb resume`."""
    site.teach()
    site.start()
    first = [site.deliver(message("spam", 1000 + number)) for number in range(WINDOW)]
    until(lambda: judged(site) == WINDOW, "a hundred judged")
    until(lambda: "nothing is moved until `spamnb resume`" in site.log(), "the stop said")
    assert len(site.contents("Junk")) == WINDOW - 1, "the last one opened the breaker"
    second = [site.deliver(message("spam", 1100 + number)) for number in range(5)]
    until(lambda: judged(site) == WINDOW + 5, "five more judged")
    assert len(site.contents("Junk")) == WINDOW - 1
    assert set(second) <= set(site.contents("INBOX"))
    assert site.log().count("moving is stopped") == 6
    with Ledger(str(site.ledger)) as ledger:
        assert ledger.messages.numbers()["spam"] == WINDOW + 5, "what is not moved is recorded"

    site.end()
    site.start()
    third = site.deliver(message("spam", 1200))
    until(lambda: site.log().count("moving is stopped") == 7, "a restart does not start it again")
    assert site.spamnb("status") == 1
    assert "spamnb resume" in capsys.readouterr().out
    assert site.spamnb("resume") == 0
    fourth = site.deliver(message("spam", 1201))
    until(lambda: fourth in site.contents("Junk"), "spam moved again")
    assert third in site.contents("INBOX")
    assert site.everything() == sorted([*first, *second, third, fourth])


def withheld(site: Site) -> int:
    """How many messages the ledger knows as withheld."""
    with Ledger(str(site.ledger), only_read=True) as ledger:
        return len(ledger.journal.withheld())


def test_what_was_withheld_is_moved_when_a_person_says_so(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """`resume` counts withheld mail; `resume --move` moves what is still unread spam, beside the service."""
    site.teach()
    site.start()
    assert site.spamnb("pause", "1h") == 0
    spam = [site.deliver(message("spam", 2000 + number)) for number in range(6)]
    ham = site.deliver(message("ham", 2000))
    until(lambda: judged(site) == 7, "all judged")
    assert site.contents("Junk") == []
    assert withheld(site) == 6
    read = site.path_of("INBOX", spam[0])
    read.rename(read.parent.parent / "cur" / f"{read.name}:2,S")
    site.move(spam[1], "INBOX", "Trash")
    site.path_of("INBOX", spam[2]).unlink()
    capsys.readouterr()
    assert site.spamnb("resume") == 0
    said = capsys.readouterr().out
    assert "The filter moves spam again." in said
    assert "spamnb resume --move" in said
    assert site.contents("Junk") == [], "without --move nothing is moved"
    assert site.spamnb("resume", "--move") == 0
    assert "moved 3 messages" in capsys.readouterr().out
    assert sorted(site.contents("Junk")) == sorted(spam[3:])
    assert {ham, spam[0]} == set(site.contents("INBOX"))
    later = site.deliver(message("spam", 2100))
    until(lambda: later in site.contents("Junk"), "spam moved again")
    assert site.spamnb("resume", "--move") == 0
    assert "moved 0 messages" in capsys.readouterr().out
    site.end()
    site.work()
    with Ledger(str(site.ledger)) as ledger:
        assert ledger.lessons.totals()[:2].tolist() == [LESSONS, LESSONS], "no move of ours was taken for a person's"
        lines = {line.action.id: line for line in ledger.lines.page(1000)}
        moved_by = [line.moved_by for line in lines.values() if line.action.state == "withheld" and line.moved_by]
        assert len(moved_by) == 3
        assert all(lines[number].action.kind == "moved" for number in moved_by)
    assert site.faults() == []


def test_a_withheld_message_that_is_no_spam_today_stays(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Mail that the filter calls ham today is not moved, nor is mail whose move was undone."""
    site.teach()
    site.once()
    assert site.spamnb("pause") == 0
    contents = [site.deliver(message("spam", 3000 + number)) for number in range(2)]
    site.work()
    assert withheld(site) == 2
    assert site.spamnb("resume", "--move") == 0
    assert len(site.contents("Junk")) == 2
    assert site.spamnb("undo", "--since", "1h", "--only", "moves") == 0
    assert withheld(site) == 0, "a person has rescued both"
    assert site.spamnb("resume", "--move") == 0
    assert site.contents("Junk") == []

    assert site.spamnb("pause") == 0
    third = site.deliver(message("spam", 3100))
    site.work()
    lessons = site.directory / "more"
    lessons.mkdir()
    for number in range(150):
        (lessons / f"{number}.eml").write_bytes(message("spam", 4000 + number))
    assert site.spamnb("untrain", str(site.directory / "lessons" / "spam")) == 0
    assert site.spamnb("train", "--ham", str(lessons)) == 0
    assert site.spamnb("train", "--spam", str(site.directory / "lessons" / "ham")) == 0
    capsys.readouterr()
    assert site.spamnb("resume", "--move") == 0
    assert "moved 0 messages" in capsys.readouterr().out
    assert {third, *contents} == set(site.contents("INBOX"))


def test_after_a_resume_that_was_killed(site: Site) -> None:
    """The next `resume --move` ends an intent that a killed one left open, without a service."""
    site.teach()
    site.once()
    assert site.spamnb("pause") == 0
    content = site.deliver(message("spam", 5000))
    site.work()
    with Ledger(str(site.ledger)) as dead:
        (action,) = dead.journal.withheld()
        assert action.source is not None
        source = folder_of_id(dead, action.source, {})
        assert source is not None
        mailbox = dead.locations.mailbox(str(site.root))[0]
        junk = folder_of_id(dead, dead.locations.folder(mailbox, "Junk"), {})
        assert junk is not None
        mover = Mover(dead, time.time, bases_now(), find_folder(dead, {}), MovedFile(None))
        entry, cause = Entry("new", action.source_base), Cause("spam", time.time())
        mover.intend((action.message, action.digest), source, entry, junk, cause)
    assert site.spamnb("resume", "--move") == 0
    assert site.contents("Junk") == [content]
    assert site.faults() == []


def test_a_pause_ends_by_the_clock(site: Site) -> None:
    """A pause that is over stops nothing, without a `resume`."""
    site.teach()
    site.once()
    with Ledger(str(site.ledger)) as ledger:
        pause(ledger, until=time.time() - 1)
    content = site.deliver(message("spam", 3200))
    site.work()
    assert site.contents("Junk") == [content]


def test_a_breaker_that_is_switched_off(site: Site) -> None:
    """With `breaker: false` the breaker never opens, whatever the share of spam."""
    site.configure("breaker: false\n")
    site.teach()
    site.once()
    for number in range(WINDOW + 5):
        site.deliver(message("spam", 3300 + number))
    site.work()
    assert len(site.contents("Junk")) == WINDOW + 5


def test_the_filter_never_learns_from_its_own_verdict_alone(site: Site) -> None:
    """However much it judges and moves, through restarts and comparisons, it has learned what a person taught."""
    site.configure("learning:\n  dwell_seconds: 0\n  kept_days: 0\nservice:\n  reconcile_seconds: 1\n")
    site.teach()
    site.start()
    for number in range(20):
        site.deliver(message("spam", 1300 + number))
        site.deliver(message("ham", 1300 + number))
    until(lambda: judged(site) == 40, "all judged")
    site.end()
    for _ in range(2):
        site.work()
    assert len(site.contents("Junk")) == 20
    with Ledger(str(site.ledger)) as ledger:
        assert ledger.lessons.totals()[:2].tolist() == [LESSONS, LESSONS]
    assert site.faults() == []


def test_a_spam_folder_that_is_gone(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """If the spam folder is gone, `resume --move` leaves the messages, says what to do, and ends with 3."""
    site.teach()
    site.once()
    assert site.spamnb("pause") == 0
    content = site.deliver(message("spam", 3400))
    site.work()
    shutil.rmtree(site.folders["Junk"].path)
    assert site.spamnb("resume", "--move") == 3
    assert "start the service, which makes it" in capsys.readouterr().err
    assert site.contents("INBOX") == [content]
    assert site.faults() == []
