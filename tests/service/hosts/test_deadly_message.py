"""A message that ends the service of a host: it is met once, and nobody else's mail waits for it longer than that."""

from collections.abc import Callable
from pathlib import Path

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.host.shares import Share
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.messages import deliver
from spamnb.service.reading_now import ReadingNow
from tests.patience import until
from tests.service.hosts.inn import Desk, Disk, Process
from tests.service.test_reading_now import ABORT, DEADLY

ONE = "u00@one.example"


@pytest.mark.thorough
def test_a_message_that_ends_the_process(process: Process) -> None:
    """The service ends over it once; from then on the mail of all users is judged, and `users` tells of the message."""
    assert process.once() == 0
    process.program = DEADLY.format(end=ABORT)
    process.start()
    culprit = b"X-Deadly: yes\n" + message("spam", 800)
    deliver(process.folder(ONE), culprit, next(process.bases))
    assert process.ended() < 0
    mail = process.deliver_to_all()
    process.start()
    until(lambda: process.are_moved(mail), "the mail of all moved")
    assert process.end() == 0
    assert process.contents(ONE) == [culprit]
    assert {name: row.fault for name, row in process.rows().items() if row.fault} == {
        ONE: "1 message not read, because the service crashed over it: spamnb users retry"
    }


def test_what_was_read_for_a_user_of_another_service(
    desk_of: Callable[[int], Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a service read for another one's user, when it ended, is written into that user's ledger."""
    desk = desk_of(4)
    ours = Share.of_user(ONE, 2)
    theirs = next(name for name in desk.names if not ours.owns(name))
    monkeypatch.setattr(desk, "host", lambda: Disk.host(desk, ours))
    reading = ReadingNow()
    reading.open(str(ours.claim(Path(desk.host().directory))))
    assert reading.left == {}
    for name in (theirs, "nobody@one.example"):
        reading._write(hash(name), f'["0x1", "{name}", "digest:1"]'.encode())  # as in threads of their own
    desk.start()
    reading.close()
    with Ledger(str(desk.ledger(theirs))) as ledger:
        assert ledger.state.suspected == ("digest:1",)
    assert not desk.ledger("nobody@one.example").exists()
