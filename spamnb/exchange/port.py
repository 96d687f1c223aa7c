"""What a round needs from any log of the lessons that hosts share; one test suite holds all logs to it.

A host sends its lessons: it writes them into the log. It receives the lessons of the others: it reads them from there.
The log has one row per user and message. A user's rows are an account. Each row has a number. A row that is written
gets the next number of its account, so numbers are in the order in which rows become visible.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from spamnb.ledger.lessons.port import LessonCopy


class LogRow(NamedTuple):
    """A row of the log: its number, which is also the number of its lesson, and the host that sent it last."""

    number: int
    host: str
    copy: LessonCopy


class LogAccount(NamedTuple):
    """An account: the number of its last row, and when the user was forgotten last (None: never).

    That time is in seconds since the epoch. No number is used twice, even after the user was forgotten.
    """

    last: int = 0
    forgotten_at: float | None = None


class LessonLog(Protocol):
    """The lessons of many accounts that hosts share.

    Raises ExchangeAwayError if the log cannot be reached, and ExchangeError if it can be reached but not used.
    """

    def identity(self) -> str:
        """Return which log this is. A different log, or this log after a restore from a copy, has another identity."""

    def has(self, account: str, digests: Sequence[bytes]) -> set[bytes]:
        """Return the messages, of the given ones, that have a row in the log."""

    def send(self, account: str, received: int, host: str, lessons: Sequence[LessonCopy]) -> None:
        """Write the lessons of an account that this host has learned: all of them, or none.

        received: up to this number the host knew the rows. A lesson replaces the row of its message in three cases: the
        host knew the row; the lesson is a decision and the row a weak label; or both are decisions or both weak, and
        the lesson is later. The row's tokens stay. A lesson without tokens needs an existing row of its message:
        without one, ExchangeError is raised.
        """

    def receive(self, account: str, since: int, most: int) -> list[LogRow]:
        """Return the first rows above a number, at most `most`, in the order of their numbers."""

    def accounts(self, names: Collection[str]) -> dict[str, LogAccount]:
        """Return the accounts with these names; a name without an account is left out."""

    def forget(self, account: str, at: float) -> None:
        """Delete the rows of an account, and keep the time of that, so that each host forgets the user too."""


class News(NamedTuple):
    """A log's state of an account, before a round. log: which log."""

    log: str
    account: LogAccount


def news_of(log: LessonLog, names: Iterable[str]) -> Mapping[str, News]:
    """Return the state of each of these accounts, in two questions."""
    wanted = list(names)
    identity, found = log.identity(), log.accounts(wanted)
    return {name: News(identity, found.get(name, LogAccount())) for name in wanted}


def wins(lesson: LessonCopy, over: LogRow, received: int) -> bool:
    """Tell whether a lesson replaces a row, if the host that sends it knew the rows up to `received`."""
    new, old = lesson.lesson, over.copy.lesson
    if over.number <= received:
        return True
    return new.at > old.at if new.weak == old.weak else old.weak
