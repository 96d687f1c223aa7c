"""What is known of all users of a mail host together, and which of its services run."""

from collections.abc import Mapping
from dataclasses import dataclass

from spamnb.host.host import Host
from spamnb.host.register import State, Sums, reading
from spamnb.host.shares import Share, running


@dataclass(frozen=True, slots=True)
class HostStatus:
    """running: the shares whose services run, and since when, in seconds since the epoch. sums: over all users."""

    running: Mapping[Share, float]
    sums: Sums

    @property
    def in_need(self) -> int:
        """How many users have somebody to look at their filter: it is broken, or has stopped moving by itself."""
        return self.sums.states[State.BROKEN] + self.sums.states[State.STOPPED]


def host_status(host: Host) -> HostStatus:
    """What is known of a host; of no user where no service has begun yet. Raises RegisterError."""
    with reading(str(host.register)) as register:
        return HostStatus(running(host.register.parent), Sums() if register is None else register.sums())
