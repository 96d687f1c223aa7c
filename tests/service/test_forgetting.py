"""Once a day the service forgets history that is long over."""

import logging
import math
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from spamnb.base.errors import LedgerBusyError
from spamnb.cli.common.sample_mail import message
from spamnb.identity.digests import identity
from spamnb.ledger.history.state import Job
from spamnb.ledger.ledger import Ledger
from spamnb.service.jobs import Forgetting
from tests.service.conftest import Site

DAY = 86_400.0


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """A ledger with ten messages that were deleted on ten different days, and one that is in the inbox."""
    with Ledger(str(tmp_path / "ledger.sqlite"), busy_seconds=0.1) as opened:
        inbox = opened.locations.folder(opened.locations.mailbox("/mail")[0], "INBOX")
        for day in range(11):
            known = opened.messages.ensure(bytes([day]), "")
            opened.locations.put(inbox, str(day), known.id, "appeared", b"", "", 0.0)
            if day < 10:
                opened.locations.gone(inbox, [str(day)], day * DAY)
        yield opened


def run(forgetting: Forgetting, now: float) -> int:
    """Make steps as long as there are any; how many were made."""
    steps = 0
    while forgetting.step_if_due(now):
        assert forgetting.under_way
        steps += 1
    assert not forgetting.under_way
    return steps


def known(ledger: Ledger) -> int:
    """How many messages the ledger knows."""
    return sum(ledger.messages.find(bytes([day])) is not None for day in range(11))


def test_once_a_day(ledger: Ledger) -> None:
    """Mail gone for the configured days is forgotten, once a day, also over a restart or with a clock set back."""
    forgetting = Forgetting(ledger, 2.0, dict)
    assert run(forgetting, 5.5 * DAY) > 0
    assert known(ledger) == 7
    for again in (forgetting, Forgetting(ledger, 2.0, dict)):
        assert run(again, 6.4 * DAY) == 0
        assert run(again, 6.4 * DAY) == 0
    assert run(forgetting, 6.6 * DAY) > 0
    assert known(ledger) == 6
    assert run(forgetting, 5 * DAY) > 0
    assert known(ledger) == 6


def test_kept_for_good(ledger: Ledger) -> None:
    """With 0 days nothing is forgotten."""
    assert run(Forgetting(ledger, 0.0, dict), math.nextafter(math.inf, 0)) > 0
    assert known(ledger) == 11


def test_a_folder_that_was_deleted(ledger: Ledger) -> None:
    """Mail of a missing folder is forgotten after that time. It begins anew if the folder comes back."""
    mailbox = ledger.locations.mailbox("/mail")[0]
    inbox = {mailbox: {"INBOX"}}
    present: dict[int, set[str]] = {}
    forgetting = Forgetting(ledger, 365.0, lambda: present)
    deleted = ledger.messages.ensure(b"deleted", "")
    ledger.locations.put(ledger.locations.folder(mailbox, "Old"), "deleted", deleted.id, "appeared", b"", "", 0.0)
    ledger.messages.ensure(b"newest", "")
    for day, there in ((100, {}), (500, inbox), (700, {mailbox: {"INBOX", "Old"}}), (701, inbox), (1065, inbox)):
        present = there
        assert run(forgetting, day * DAY) > 0
        assert ledger.messages.find(b"deleted") is not None
        assert ledger.locations.files_in(ledger.locations.folder(mailbox, "Old")) == {"deleted": ""}
    assert run(forgetting, 1067 * DAY) > 0
    assert ledger.messages.find(b"deleted") is None
    assert ledger._connection.row("SELECT count(*) FROM folder WHERE missing_since IS NOT NULL") == (0,)
    assert ledger.lessons.verify() == []


def test_a_ledger_in_use(ledger: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    """If another process holds the ledger, the service goes on, and tries again an hour later."""
    forgetting = Forgetting(ledger, 2.0, dict)
    caplog.set_level(logging.WARNING)
    with Ledger(ledger.path) as other, other.transaction():
        assert run(forgetting, 9 * DAY) == 0
        with pytest.raises(LedgerBusyError):
            ledger.state.restored_at = 1.0
    assert "stays in the ledger for now" in caplog.text
    assert run(forgetting, 9 * DAY + 3599) == 0
    assert run(forgetting, 9 * DAY + 3600) > 0
    assert known(ledger) == 3


def test_by_the_service(site: Site) -> None:
    """Mail judged, moved and deleted a year ago is forgotten; spam that is still in Junk is not."""
    site.teach()
    site.work()
    here, gone = (site.deliver(message("spam", number)) for number in (500, 501))
    site.deliver(message("ham", 503), "Archive")
    site.work()
    assert site.contents("INBOX") == []
    site.path_of("Junk", gone).unlink()
    site.work()
    with Ledger(str(site.ledger)) as ledger:
        then = time.time() - 366 * DAY
        ledger._connection.execute("UPDATE file SET gone_at = ? WHERE gone_at IS NOT NULL", (then,))
        ledger._connection.execute("UPDATE action SET at = ?", (then,))
        ledger._connection.execute("UPDATE message SET judged_at = ? WHERE judged_at IS NOT NULL", (then,))
        ledger.state.set_done(Job.FORGETTING, 0.0)
    shutil.rmtree(site.folders["Archive"].path)
    later = site.deliver(message("ham", 502))
    assert site.once() == 0
    with Ledger(str(site.ledger)) as ledger:
        assert ledger.messages.find(identity(gone)) is None
        assert ledger.messages.find(identity(later)) is not None
        there = ledger.messages.find(identity(here))
        assert there is not None
        assert len(ledger.locations.of_message(there.id)) == 1
        assert [action.kind for action in ledger.journal.of_message(there.id)] == ["moved"]
        missing = ledger._connection.all("SELECT name FROM folder WHERE missing_since IS NOT NULL")
        assert missing == [("Archive",)]
    assert "forgot 4 rows" in site.log()
    assert site.faults() == []
    site.move(here, "Junk", "INBOX")
    assert site.once() == 0
    assert site.label(here) == 0
