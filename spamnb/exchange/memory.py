"""A log of lessons in memory: it has the rules of a log in a database, and ends with the process."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from spamnb.base.errors import ExchangeError
from spamnb.exchange.port import LogAccount, LogRow, wins
from spamnb.ledger.lessons.port import LessonCopy


@dataclass
class _Rows:
    """An account, and its rows by their messages."""

    account: LogAccount = field(default_factory=LogAccount)
    by_digest: dict[bytes, LogRow] = field(default_factory=dict)


class MemoryLog:
    """The lessons of many accounts."""

    def __init__(self, identity: str = "in memory") -> None:
        self._identity = identity
        self._accounts: dict[str, _Rows] = {}

    def identity(self) -> str:
        """Return which log this is."""
        return self._identity

    def has(self, account: str, digests: Sequence[bytes]) -> set[bytes]:
        """Return the messages, of the given ones, that have a row in the log."""
        return set(digests) & self._rows(account).by_digest.keys()

    def send(self, account: str, received: int, host: str, lessons: Sequence[LessonCopy]) -> None:
        """Write the lessons of an account that this host has learned: all of them, or none."""
        rows = self._rows(account)
        last, written = rows.account.last, dict[bytes, LogRow]()
        for copy in lessons:
            digest = copy.lesson.digest
            former = written.get(digest) or rows.by_digest.get(digest)
            if former is None and copy.tokens is None:
                raise ExchangeError(f"the log no longer has the row of {digest.hex()}, whose tokens it needs")
            if former is None or wins(copy, former, received):
                last += 1
                row = copy if former is None else former.copy
                lesson = replace(copy.lesson, number=last, takes_back=None, summary=row.lesson.summary)
                written[digest] = LogRow(last, host, row._replace(lesson=lesson))
        if written:
            rows.by_digest |= written
            rows.account = rows.account._replace(last=last)
            self._accounts[account] = rows

    def receive(self, account: str, since: int, most: int) -> list[LogRow]:
        """Return the first rows above a number, at most `most`, in the order of their numbers."""
        return sorted(row for row in self._rows(account).by_digest.values() if row.number > since)[:most]

    def accounts(self, names: Collection[str]) -> dict[str, LogAccount]:
        """Return the accounts with these names; a name without an account is left out."""
        return {name: self._accounts[name].account for name in names if name in self._accounts}

    def forget(self, account: str, at: float) -> None:
        """Delete the rows of an account, and keep the time of that."""
        rows = self._accounts.setdefault(account, _Rows())
        rows.by_digest.clear()
        rows.account = rows.account._replace(forgotten_at=at)

    def _rows(self, account: str) -> _Rows:
        return self._accounts.get(account) or _Rows()
