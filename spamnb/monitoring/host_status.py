"""The status of all users of a mail host together, and which of its services run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spamnb.host.host import Host
from spamnb.host.register import AccountRow, State, Sums, read
from spamnb.host.shares import Share, running


@dataclass(frozen=True, slots=True)
class HostStatus:
    """The status of a host.

    running: the shares whose services run, and since when, in seconds since the epoch. rows: of all users; sums: over
    them.
    """

    running: Mapping[Share, float]
    rows: Sequence[AccountRow]
    sums: Sums

    @property
    def in_need(self) -> int:
        """The number of users whose filter needs somebody's look: it is broken, or has stopped moving by itself."""
        return self.sums.states[State.BROKEN] + self.sums.states[State.STOPPED]


def host_status(host: Host) -> HostStatus:
    """Return the status of a host; without users if no service has started yet. Raises RegisterError."""
    rows = read(host.directory)
    return HostStatus(running(host.directory), rows, Sums.of(rows))
