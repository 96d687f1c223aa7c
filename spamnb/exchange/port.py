"""What a round needs of the log of lessons that hosts share, whichever it is; one test suite holds all logs to it.

The log has one row a user and message. An account is what it has of a user. Each row has a number, its place: a row
that is written gets the next one of its account, so that places are in the order in which rows become visible.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from spamnb.ledger.lessons.port import Kept


class Told(NamedTuple):
    """A row of the log: its place, which is the number of its lesson too, and the host that has told it last."""

    place: int
    host: str
    kept: Kept


class Account(NamedTuple):
    """An account: the place of its last row, and when the user was forgotten last (None: never).

    That is in seconds since the epoch. No place is given twice, also not after the user was forgotten.
    """

    last: int = 0
    forgotten_at: float | None = None


class Log(Protocol):
    """The lessons of many accounts, that hosts share.

    Raises ExchangeAwayError where it cannot be reached, ExchangeError where it can, but not be used.
    """

    def identity(self) -> str:
        """Which log this is: another one, or this one put back from a copy, has another."""

    def has(self, account: str, digests: Sequence[bytes]) -> set[bytes]:
        """Those of the messages of which it has a row."""

    def tell(self, account: str, heard: int, host: str, lessons: Sequence[Kept]) -> None:
        """Write the lessons of an account that this host has learned; all of them, or none.

        heard: the place up to which the host knew the rows. Of a message that has a row, the lesson takes its place
        where the host knew the row; or where the lesson is a decision, and the row a weak label; or where both are or
        none is, and the lesson is the later one. The tokens of a row stay. A lesson without tokens is of a message
        that has a row; where it has none any more, ExchangeError is raised.
        """

    def hear(self, account: str, since: int, most: int) -> list[Told]:
        """The first rows above a place, and at most so many, in the order of their places."""

    def accounts(self, names: Collection[str]) -> dict[str, Account]:
        """Those of the accounts that there are."""

    def forget(self, account: str, at: float) -> None:
        """Delete the rows of an account, and keep when that was, so that each host forgets the user too."""


class News(NamedTuple):
    """What a log says of an account, before a round. log: which log."""

    log: str
    account: Account


def news_of(log: Log, names: Iterable[str]) -> Mapping[str, News]:
    """What there is of each of these accounts, in two questions."""
    wanted = list(names)
    identity, found = log.identity(), log.accounts(wanted)
    return {name: News(identity, found.get(name, Account())) for name in wanted}


def wins(lesson: Kept, over: Told, heard: int) -> bool:
    """Whether a lesson takes the place of a row, when a host tells it that knew the rows up to `heard`."""
    new, old = lesson.lesson, over.kept.lesson
    if over.place <= heard:
        return True
    return new.at > old.at if new.weak == old.weak else old.weak
