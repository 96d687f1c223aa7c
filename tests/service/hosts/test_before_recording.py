"""Mail that comes after the start of the service, and before the mail of its user is recorded, is new mail."""

import os
import time
from collections.abc import Callable

import pytest

from spamnb.cli.common.sample_mail import message
from spamnb.host.register import FilterState
from tests.patience import until_files_are_later
from tests.service.hosts.inn import Desk


@pytest.fixture
def desk(desk_of: Callable[[int], Desk]) -> Desk:
    """A host of eight users with a spam each; the service has begun, and will record the last user's mail first."""
    made = desk_of(8)
    made.old = made.deliver_to_all()
    made.start()
    until_files_are_later(made.directory)
    return made


def test_new_mail(desk: Desk) -> None:
    """Mail is judged that came before anything of its user was recorded; what was there at the start is not moved."""
    new = desk.deliver_to_all()
    desk.settle()
    assert desk.are_moved(new)
    assert all(desk.contents(name) == [content] for name, content in desk.old.items())
    assert not any(map(desk.unknown, desk.names))


def test_a_hint_comes_first(desk: Desk) -> None:
    """A user for whom mail has come is recorded before the others, and its mail is judged at once."""
    last = desk.names[0]  # by the times of the folders
    new = desk.deliver(last)
    desk.until(lambda: desk.contents(last, "Junk") == [new], "the new mail is moved")
    assert sum(bool(desk.unknown(name)) for name in desk.names) >= 5


def test_killed_before_recording(desk: Desk) -> None:
    """If the service dies before it has recorded a user, the next one still judges what came after the first start."""
    new = desk.deliver_to_all()
    desk.kill()
    also = desk.deliver_to_all()
    desk.start()
    desk.settle()
    assert desk.are_moved(new) and desk.are_moved(also)
    assert all(desk.contents(name) == [content] for name, content in desk.old.items())


def test_moved_before_recording(desk: Desk) -> None:
    """Mail that a person moved in this time is old mail, in its new place."""
    name = desk.names[0]
    desk.move(name, desk.old[name], "INBOX", "Archive")
    desk.settle()
    assert desk.contents(name, "Archive") == [desk.old[name]]
    assert desk.label(name, desk.old[name]) is None
    assert not desk.unknown(name)


def test_a_time_in_the_future(desk: Desk) -> None:
    """An old file with a time in the future is old mail, also if it was renamed since the start."""
    name, far = desk.names[0], time.time() + 10 * 365 * 86_400
    path = desk.root(name) / "new" / "future"
    path.write_bytes(content := message("spam", 9000))
    os.utime(path, (far, far))
    desk.settle()
    assert content in desk.contents(name)


def test_long_work_within_a_turn(desk: Desk) -> None:
    """A user whose recording was put off, within the long work of another user, is recorded next."""
    other, *_, long = desk.names
    for number in range(300):
        for name in (long, other):
            (desk.root(name) / "cur" / f"{number}.many:2,S").write_bytes(message("ham", 9000 + number))
    new: list[bytes] = []

    def alive(status: str) -> None:
        if not new and str(desk.root(long)) in status:
            new.append(desk.deliver(other))
            for hint in desk.heard():
                desk.watcher.tell(hint)
        desk.ahead += 0.02

    desk.alive = alive
    desk.until(lambda: bool(new) and desk.contents(other, "Junk") == new, "the new mail is moved")
    assert sum(bool(desk.unknown(name)) for name in desk.names) >= 5


def test_the_register_says_who_waits(desk: Desk) -> None:
    """Until the service has looked at a mailbox, the register says that its user waits."""
    assert {row.state for row in desk.rows().values()} == {FilterState.WAITING}
    desk.settle()
    assert {row.state for row in desk.rows().values()} == {FilterState.LEARNING}
