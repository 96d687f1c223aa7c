"""Both units as services: start, deliver, watchdog, reload, stop, restart."""

import time

from tests.systemd.machine import until
from tests.systemd.unit import WATCHDOG, Unit


def test_moves_spam(unit: Unit) -> None:
    """The unit, set up as the README says, is enabled and moves spam from the inbox to Junk, which it has made."""
    assert unit.systemctl("is-enabled") == "enabled"
    ham = unit.deliver("ham")
    unit.wait_moved(unit.deliver("spam"))
    assert unit.holds("", ham)
