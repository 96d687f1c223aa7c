"""What one user of a mail host orders holds for this user alone."""

from collections.abc import Callable

from tests.service.hosts.inn import Desk
from tests.service.test_ordered import TEXT, mail

ONE, TWO = "u00@one.example", "u01@two.example"


def test_orders_of_one_user(desk_of: Callable[[int], Desk]) -> None:
    """A copy and a near-copy go to Junk if this user has moved the first one there, and not because another has."""
    desk = desk_of(0)
    for name in (ONE, TWO):
        desk.add(name, is_taught=False)
    desk.start()
    desk.settle()
    first, near = mail(1), mail(2, f"{TEXT} random", "other@else.example")
    for name in (ONE, TWO):
        desk.mail(name).deliver(first, "INBOX")
    desk.settle()
    desk.move(ONE, first, "INBOX", "Junk")
    desk.settle()
    again = b"Received: from relay.example by mail.example; Mon, 2 Nov 2026 09:00:00 +0000\n" + first
    for name in (ONE, TWO):
        for content in (again, near):
            desk.mail(name).deliver(content, "INBOX")
    desk.settle()
    assert sorted(desk.contents(ONE, "Junk")) == sorted([first, again, near])
    assert sorted(desk.contents(TWO, "INBOX")) == sorted([first, again, near])
