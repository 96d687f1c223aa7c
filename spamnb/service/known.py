"""What the service of a mail host remembers of a user."""

from dataclasses import dataclass

from spamnb.config import Config
from spamnb.host.register import AccountRow
from spamnb.ledger.history.tallies import Place
from spamnb.service.account import Account
from spamnb.service.tenants import Sharing


@dataclass(slots=True)
class Known:
    """A user of this service.

    row: the row in the register, written or not yet. device: the disk of the Maildir. stamp: the stamp of the folders
    when everything in them had been seen; None if unknown. slept: a stamp that does not count yet, and when it was
    taken; asked: the question to the watcher that makes it count. looked: the stamp for which a comparison was last
    requested. counted: the metrics of this service include the user's history up to here; None before the account was
    awake. own_fault: the fault of the user's own settings, in one line; "" for none. own_read_at: when these settings
    were last read, in seconds since the epoch. sharing: the user for the exchange of lessons, which asks every few
    seconds; None before it has asked. is_away: something else is in the place of the Maildir.
    """

    account: Account
    row: AccountRow
    device: int | None
    stamp: int | None
    slept: tuple[int, float] | None = None
    asked: int | None = None
    looked: int | None = None
    counted: Place | None = None
    own_fault: str = ""
    own_read_at: float = 0.0
    is_away: bool = False
    sharing: Sharing | None = None
    config: Config | None = None
