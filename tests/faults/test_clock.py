"""The clock set back and put forward by a day, under a service that runs."""

import time
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.ledger.ledger import Ledger
from tests.faults.conftest import Faulty
from tests.patience import until
from tests.service.conftest import in_thread

HOUR, DAY = 3600.0, 86_400.0
# Not the command `faketime`: it stays as a parent, and a signal to it does not reach the service.
LIBRARY = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
BOTH = pytest.mark.parametrize("jump", [-DAY, DAY], ids=["back", "forward"])


class Clock:
    """The true time and what somebody set it to."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@BOTH
def test_clock_is_set(site: Faulty, jump: float) -> None:
    """Judging, the dwell, what was put off before, and comparing the folders go on: nothing waits for the other day."""
    site.configure("service:\n  reconcile_seconds: 1\n", dwell=HOUR)
    site.teach()
    clock = Clock()
    with in_thread(site, clock):
        spam = site.spam(660)
        until(lambda: spam in site.contents("Junk"), "spam moved")
        waiting = site.deliver(message("spam", 661), "TrainSpam")
        site.compared()
        assert site.label(waiting) is None, "it is noticed, and dwells"
        clock.ahead = jump
        site.compared()
        clock.ahead += HOUR
        until(lambda: site.label(waiting) == 1, "learned, though it began to wait before")
        late = site.deliver(message("ham", 662), "TrainHam")
        site.compared()
        clock.ahead += HOUR
        until(lambda: site.label(late) == 0, "learned after its dwell")
        more = site.spam(663)
        until(lambda: more in site.contents("Junk"), "new spam moved")
        site.move(spam, "Junk", "Archive")
        site.compared()
        clock.ahead += HOUR
        until(lambda: site.label(spam) == 0, "a correction learned")
    assert site.faults() == []
    with Ledger(str(site.ledger)) as ledger:
        done = [(action.kind, action.state) for action in ledger.journal.newest(6)]
        assert ("moved", "done") in done
        assert ledger.journal.since(clock() - 2 * HOUR)


@BOTH
def test_folders_are_compared_without_events(site: Faulty, jump: float) -> None:
    """A service that polls keeps its period."""
    site.configure("service:\n  watch: polling\n  poll_seconds: 0.5\n")
    site.teach()
    clock = Clock()
    with in_thread(site, clock):
        clock.ahead = jump
        for number in range(3):
            spam = site.spam(665 + number)
            until(lambda: spam in site.contents("Junk"), "spam moved")  # noqa: B023


def test_kept_mail(site: Faulty) -> None:
    """Mail that was read and kept counts after its days by the clock, however often that was set between."""
    site.configure("service:\n  reconcile_seconds: 1\n")
    site.teach()
    clock = Clock()
    with in_thread(site, clock):
        ham = site.deliver(message("ham", 669))
        until(lambda: known(site) == 1, "judged")
        path = site.path_of("INBOX", ham)
        path.rename(site.root / "cur" / f"{path.name}:2,S")
        for ahead in (-DAY, DAY, 0.0, 2 * DAY):
            clock.ahead = ahead
            site.compared()
            assert site.label(ham) is None
        clock.ahead = 3 * DAY + 60
        until(lambda: site.label(ham) == 0, "kept for three days")


def known(site: Faulty) -> int:
    """How many messages lie in the inbox, as the ledger knows."""
    with Ledger(str(site.ledger)) as ledger:
        mailbox, _ = ledger.locations.mailbox(str(site.root))
        return len(ledger.locations.files_in(ledger.locations.folder(mailbox, "INBOX")))


@pytest.mark.skipif(not LIBRARY, reason="needs libfaketime")
@BOTH
def test_a_start_on_the_wrong_day(site: Faulty, jump: float) -> None:
    """A service started under a clock that is a day off works, and `undo --since 1h` takes back what it just did."""
    site.teach()
    site.start()
    site.goes_on(670)
    site.end()
    when = {"FAKETIME": f"{'+' if jump > 0 else '-'}1d", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    when["PYTHONDONTWRITEBYTECODE"] = "1"  # all files seem to have changed, also Python's own modules
    site.start(environ={"LD_PRELOAD": str(LIBRARY[0])} | when)
    site.goes_on(671)
    trained = site.deliver(message("spam", 672), "TrainSpam")
    until(lambda: site.label(trained) == 1, "learned after its dwell")
    site.end()
    with Ledger(str(site.ledger)) as ledger:
        newest = next(ledger.journal.newest(1))
    assert abs(newest.at - time.time() - jump) < 3600
    assert site.spamnb("undo", str(newest.id)) == 0
    assert site.spamnb("history") == 0
    assert site.faults() == []
    assert Path(site.ledger).exists()
