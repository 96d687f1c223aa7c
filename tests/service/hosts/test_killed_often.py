"""A service that is killed again and again, a moment after each start."""

from collections.abc import Callable

from tests.patience import until_files_are_later
from tests.service.hosts.inn import Desk


def test_everybody_has_a_turn_in_the_end(desk_of: Callable[[int], Desk]) -> None:
    """Whoever waits longest begins first, so all are served, though each life ends after the work for two of them."""
    desk = desk_of(8)
    desk.start()
    desk.settle()
    desk.stop()
    for name in desk.names:
        desk.deliver(name, "ham")
        until_files_are_later(desk.directory)
    served: list[str] = []
    for _ in range(5):
        desk.start()
        for _ in range(2):
            desk.accounts.work()
        desk.kill()
        served += [name for name in desk.names if "judged" in desk.judgements(name) and name not in served]
        desk.deliver(desk.names[-1], "ham")  # the folders of this user have just changed at each start
        until_files_are_later(desk.directory)
    assert sorted(served[:6]) == desk.names[:6]
    assert sorted(served) == desk.names
