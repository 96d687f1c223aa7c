"""The users of a mail host, or a share of them, as those for whom a service works."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from spamnb.config import Config
from spamnb.host.host import Host
from spamnb.host.shares import Share, claimed
from spamnb.ledger.file.locks import only_service
from spamnb.service.account import Claim, ServiceTools
from spamnb.service.served import OTHER_KIND, Accounts, LoopTools, Served

_MOST_WATCHES = 400  # per user; a user with more folders is polled


@dataclass(frozen=True, slots=True)
class ServedHost:
    """The users of the host in its share."""

    host: Host

    @property
    def config(self) -> Config:
        """The configuration that all users share."""
        return self.host.template

    @property
    def most_watches(self) -> int:
        """How many directories of a user are watched."""
        return _MOST_WATCHES

    @contextmanager
    def alone(self) -> Iterator[Claim]:
        """Be the only service of the share. Yields how the ledger of a user is claimed."""
        with claimed(self.host.directory, self.host.share or Share()):
            yield partial(only_service, patience=0.0)

    def accounts(self, tools: ServiceTools, loop: LoopTools) -> Accounts:
        """Return the users' accounts."""
        from spamnb.host.service.roster import Roster

        return Roster(self.host, tools, loop.new_faults)

    def moved(self, after: Served) -> str | None:
        """Return the setting that a reload changes, though a running service cannot change it."""
        if not isinstance(after, ServedHost):
            return OTHER_KIND
        return None if self.host.directory == after.host.directory else "the directory of the ledgers"
