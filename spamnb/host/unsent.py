"""How many lessons of a mail host's users wait to be sent to other hosts."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from spamnb.base.errors import LedgerError
from spamnb.base.wording import clock, plural
from spamnb.host.host import Host
from spamnb.ledger.file.replacement import present
from spamnb.ledger.ledger import ExchangeState, Ledger


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


def shared_by_users(host: Host) -> dict[str, ExchangeState | None]:
    """Return what the ledger of each user knows of the exchange, by name; None if the user has no ledger yet.

    It takes 0.9 ms of CPU per user. Users whose ledgers cannot be read are missing: their own checks report that.
    """
    found: dict[str, ExchangeState | None] = {}
    for user in host.users().users:
        path = present(str(host.ledger_of(user.name)))
        if not os.path.exists(path):
            found[user.name] = None
            continue
        with suppress(LedgerError), Ledger(path, only_read=True) as ledger:
            found[user.name] = ledger.shared()
    return found


def unsent(shared: Iterable[ExchangeState | None]) -> Unsent:
    """Return the sum of what waits in ledgers."""
    known = [each for each in shared if each is not None]
    waiting = [(each.waiting_since, each.unsent) for each in known if each.waiting_since is not None]
    since = min((at for at, _ in waiting), default=None)
    strangers = sum(not each.log for each in known)
    return Unsent(sum(number for _, number in waiting), len(waiting), since, strangers)


@dataclass(frozen=True, slots=True)
class Behind:
    """A user of whom not all lessons are exchanged.

    unsent: how many lessons wait to be sent. since: when the oldest of them was learned, in seconds since the epoch, or
    None. to_receive: how many changes of the log are not received yet; None if the log cannot be asked.
    """

    name: str
    unsent: int
    since: float | None
    to_receive: int | None


def users_behind(shared: Mapping[str, ExchangeState | None], log: str, last: Mapping[str, int] | None) -> list[Behind]:
    """Return the users who are behind, those first whose lessons wait longest.

    shared: as of `shared_by_users`. log: which log is asked. last: the number of its last change of each user, or None
    if it cannot be asked.
    """
    behind = []
    for name, known in shared.items():
        waits, since = (0, None) if known is None else (known.unsent, known.waiting_since)
        received = known.received if known is not None and known.log == log else 0
        missing = None if last is None else max(0, last[name] - received)
        if waits or missing:
            behind.append(Behind(name, waits, since, missing))
    return sorted(behind, key=lambda user: (user.since is None, user.since or 0.0, user.name))
