"""How many lessons of a mail host's users wait to be sent to other hosts."""

import os
from dataclasses import dataclass

from spamnb.base.errors import LedgerError
from spamnb.base.wording import clock, plural
from spamnb.host.host import Host
from spamnb.ledger.file.replacement import present
from spamnb.ledger.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Unsent:
    """The waiting lessons of all users.

    lessons: how many wait; users: how many users they belong to. since: when the oldest was learned, in seconds since
    the epoch. strangers: the number of users whose ledgers have not met the database yet.
    """

    lessons: int = 0
    users: int = 0
    since: float | None = None
    strangers: int = 0

    @property
    def words(self) -> str:
        """Return in words how much waits to be sent."""
        waiting = "all is sent"
        if self.since is not None:
            verb = "waits" if self.lessons == 1 else "wait"
            of_users = f"{plural(self.lessons, 'lesson')} of {plural(self.users, 'user')}"
            waiting = f"{of_users} {verb} to be sent, since {clock(self.since)}"
        return waiting if not self.strangers else f"{waiting}; {plural(self.strangers, 'ledger')} new to the log"


def unsent(host: Host) -> Unsent:
    """Ask the ledger of each user, which takes 0.9 ms of CPU per user; skip those that cannot be read."""
    waiting, strangers = [], 0
    for user in host.users().users:
        path = present(str(host.ledger_of(user.name)))
        if not os.path.exists(path):
            continue
        try:
            with Ledger(path, only_read=True) as ledger:
                shared = ledger.shared()
        except LedgerError:  # the checks of that user report it
            continue
        strangers += not shared.log
        if shared.waiting_since is not None:
            waiting.append((shared.waiting_since, shared.unsent))
    since = min((at for at, _ in waiting), default=None)
    return Unsent(sum(number for _, number in waiting), len(waiting), since, strangers)
