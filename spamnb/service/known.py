"""What the service of a mail host keeps in mind of a user."""

from dataclasses import dataclass

from spamnb.config import Config
from spamnb.host.register import AccountRow
from spamnb.ledger.history.tallies import Place
from spamnb.service.account import Account


@dataclass(slots=True)
class Known:
    """A user of this service.

    row: as it is in the register, or will be. device: of the Maildir. stamp: of the folders when all that was in them
    had been seen; None: not known. slept: such a stamp that does not count yet, and when it was taken; asked: by which
    question to the watcher it will. looked: the stamp for which the folders were to be compared last. counted: up to
    where the metrics of this service have what was done for the user; None before the account was awake.
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
    config: Config | None = None
