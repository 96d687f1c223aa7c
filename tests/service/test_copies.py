"""The service and the copies of its ledger: it makes them each day, and restores one if the ledger is damaged."""

import fcntl
import os
import re
import sqlite3
import time
from pathlib import Path

import pytest

from spamnb.base.errors import LedgerDamagedError
from spamnb.cli.common.sample_mail import message
from spamnb.config import load
from spamnb.ledger.copies.copy import roll
from spamnb.ledger.file.locks import is_running, only_service
from spamnb.ledger.file.parts import directory_of, of_day, rolling
from spamnb.ledger.history.actions import Cause
from spamnb.ledger.ledger import Ledger
from spamnb.ledger.sqlite_errors import plain
from spamnb.service import jobs
from spamnb.service.daemon import Daemon
from spamnb.service.mailbox.watched import WatchedMailbox
from spamnb.service.notify import Notifier
from spamnb.service.one_person import Person
from tests.patience import until
from tests.service.conftest import Site

DAY = 86_400.0


def damage(site: Site) -> bytes:
    """Cut the ledger in the middle; what remains of it."""
    os.truncate(site.ledger, os.path.getsize(site.ledger) // 2)
    return site.ledger.read_bytes()


def aside(site: Site) -> list[Path]:
    """The ledgers that were set aside."""
    return sorted(site.directory.glob("ledger.sqlite.*-????-??-??T*Z"))


def test_each_day_a_copy(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The running service copies its ledger once a day, and keeps as many copies as configured."""
    site.configure("service:\n  copies: 2\n")
    site.teach()
    clock = [time.time()]
    service = Daemon(lambda: Person(load(site.config)), Notifier({}), now=lambda: clock[0], running=lambda: clock[0])
    days = [of_day(str(site.ledger), clock[0] + day * DAY) for day in range(4)]
    passes = iter(range(12))

    def each_pass(seconds: float) -> None:
        if not seconds:  # there is something to do
            return
        number = next(passes)
        clock[0] += DAY / 3 if number else 0  # three looks a day
        if number == 9:
            service.stop()

    monkeypatch.setattr(service._watcher, "next", each_pass)
    made: list[str] = []
    monkeypatch.setattr(jobs, "roll", lambda *arguments: made.append(roll(*arguments)))
    service.run()
    assert made == days[: len(made)]
    assert len(made) >= 3
    assert rolling(str(site.ledger)) == made[-1:-3:-1]


def test_once_copies(site: Site) -> None:
    """`run --once` makes the copy of the day, and none if there is one, or if none is wanted."""
    site.configure("service:\n  copies: 0\n")
    site.teach()
    assert site.once() == 0
    assert rolling(str(site.ledger)) == []
    site.configure()
    assert site.once() == 0
    (made,) = rolling(str(site.ledger))
    before = os.stat(made)
    assert site.once() == 0
    assert os.stat(made) == before


def test_copy_that_fails(site: Site) -> None:
    """A copy that cannot be made is one warning; the service goes on."""
    Path(directory_of(str(site.ledger))).write_text("in the way")
    site.teach()
    site.start()
    until(lambda: "no new copy of the ledger was made" in site.log(), "the warning")
    spam = site.deliver(message("spam", 930))
    until(lambda: spam in site.contents("Junk"), "spam moved all the same")
    site.end()
    assert site.log().count("no new copy of the ledger") == 1


@pytest.mark.parametrize("way", ["damage", "restore"])
def test_going_back_moves_and_learns_nothing(site: Site, way: str) -> None:
    """After a restore of an earlier ledger nothing in the folders is moved or learned.

    The copy knows nothing of what was moved after it, by the filter or by a person: none of it may look like a
    person's word, or like new mail. From then on all is as ever.
    """
    site.teach()
    before = site.deliver(message("spam", 931))  # known before the copy, in the inbox
    site.work()
    open_ = site.deliver(message("spam", 932))
    site.work()
    assert open_ in site.contents("Junk")
    with Ledger(str(site.ledger)) as ledger:  # a copy in the midst of a move: an intent back to the inbox
        moved = next(one for one in ledger.journal.newest(9) if one.kind == "moved")
        assert moved.source is not None
        assert moved.destination is not None
        places = (moved.destination, moved.destination_base), (moved.source, moved.source_base)
        intent = ledger.journal.intend(moved.message, *places, Cause("an interrupted one", time.time()))
    (old,) = rolling(str(site.ledger))
    os.unlink(old)
    assert site.spamnb("backup", old) == 0
    with Ledger(str(site.ledger)) as ledger:
        ledger.journal.set_state(intent, "failed")
    filed, rescued, kept = (site.deliver(message("ham", number)) for number in (933, 934, 935))
    spam, late = site.deliver(message("spam", 936)), site.deliver(message("spam", 937))
    site.work()
    assert spam in site.contents("Junk")
    site.move(late, "Junk", "INBOX")  # rescued, and learned as ham
    site.move(rescued, "INBOX", "Junk")
    site.move(filed, "INBOX", "Archive")
    site.work()
    assert (site.label(late), site.label(rescued), site.label(filed)) == (0, 1, 0)
    unseen = site.deliver(message("spam", 938))  # came while the service was down
    lying = {name: sorted(site.contents(name)) for name in site.folders}

    if way == "damage":
        remains = damage(site)
        assert site.once() == 0
        assert re.search(r"could not be used .*its copy of \d{4}-\d\d-\d\d \d\d:\d\d is in its place", site.log())
        assert [one.read_bytes() for one in aside(site)] == [remains]
    else:
        assert site.spamnb("restore", old) == 0
        assert len(aside(site)) == 1
    for _ in range(2):
        site.work()
    assert {name: sorted(site.contents(name)) for name in site.folders} == lying
    for content in (before, open_, filed, rescued, kept, spam, late, unseen):
        assert site.label(content) is None
    with Ledger(str(site.ledger)) as ledger:
        assert ledger.lessons.totals()[:2].tolist() == [25, 25]
    assert site.faults() == []

    new = site.deliver(message("spam", 939))
    site.move(spam, "Junk", "INBOX")
    site.move(kept, "INBOX", "Junk")
    site.work()
    assert new in site.contents("Junk")
    assert (site.label(spam), site.label(kept)) == (0, 1)
    assert spam in site.contents("INBOX")


def test_no_copy_to_go_back_to(site: Site) -> None:
    """A damaged ledger without a sound copy stops the service with one line, for good: nothing is begun anew."""
    site.teach()
    remains = damage(site)
    assert site.once() == 78
    (line,) = site.log().splitlines()
    assert "spamnb restore FILE" in line
    assert "no sound copy" in line
    assert site.ledger.read_bytes() == remains


def test_damaged_while_it_runs(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that finds its ledger damaged ends, so that its next start restores the copy."""
    site.teach()
    clock = [0.0]
    service = Daemon(lambda: Person(load(site.config)), Notifier({}), running=lambda: clock[0])

    def damaged_meanwhile(_: float) -> None:
        clock[0] += 3600.0  # the folders are to be compared
        monkeypatch.setattr(WatchedMailbox, "compare", lambda _: ledger_fault())

    def ledger_fault() -> None:
        raise plain(sqlite_fault, str(site.ledger))

    sqlite_fault = sqlite3.DatabaseError("database disk image is malformed")
    sqlite_fault.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    monkeypatch.setattr(service._watcher, "next", damaged_meanwhile)
    with pytest.raises(LedgerDamagedError, match="spamnb restore") as raised:
        service.run()
    assert raised.value.exit_code == 3


def test_not_while_it_runs(site: Site) -> None:
    """`restore` is refused while a service runs, and `backup` is not."""
    site.teach()
    assert not is_running(str(site.ledger))
    site.start()
    assert is_running(str(site.ledger))
    copy = str(site.directory / "copy.sqlite")
    assert site.spamnb("backup", copy) == 0
    assert site.spamnb("restore", copy) == 3
    assert aside(site) == []
    spam = site.deliver(message("spam", 941))
    until(lambda: spam in site.contents("Junk"), "spam moved all the while")


def test_asked_while_it_starts(site: Site) -> None:
    """A question whether a service runs does not prevent a service from starting."""
    site.teach()
    path = str(site.ledger)
    with only_service(path):
        pass
    asking = os.open(path + ".lock", os.O_RDONLY)  # as `is_running` holds it for an instant
    fcntl.flock(asking, fcntl.LOCK_SH)
    waited: list[float] = []

    def pause(seconds: float) -> None:
        waited.append(seconds)
        fcntl.flock(asking, fcntl.LOCK_UN)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spamnb.ledger.file.locks.time.sleep", pause)
        with only_service(path):
            assert is_running(path)
    assert len(waited) == 1
    os.close(asking)


@pytest.mark.thorough
def test_pruned_while_it_runs(site: Site) -> None:
    """A ledger can be pruned under a running service, which judges and moves on."""
    site.teach(200)
    site.start()
    with Ledger(str(site.ledger)) as ledger:
        target = ledger.pruning.size() * 9 // 10
        tokens = ledger.lessons.totals()[6]
    assert site.spamnb("prune", "--to", str(target)) == 0
    spam = site.deliver(message("spam", 942))
    until(lambda: spam in site.contents("Junk"), "spam moved with what is left")
    assert site.end() == 0  # until then its last move may be open
    with Ledger(str(site.ledger)) as ledger:
        assert ledger.lessons.totals()[6] < tokens
    assert site.faults() == []
