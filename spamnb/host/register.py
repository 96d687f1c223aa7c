"""The register of a mail host: the known state of each account, so that telling it opens no ledger.

It is one SQLite file. The services of all shares write it; commands and pages read it. A look at each account can make
all of it again. So a power cut may lose the newest rows, and an empty file replaces a damaged one.
"""

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from spamnb.base.errors import RegisterMissingError
from spamnb.base.label import Verdict
from spamnb.base.wording import escaped
from spamnb.host.register_file import RegisterFile, damaged, transaction

_BUSY_SECONDS = 10.0
_MOST_SAID = 500  # characters of a fault that are kept


class State(StrEnum):
    """What the filter of an account does."""

    MOVING = "moving"
    LEARNING = "learning"  # it must learn more before it moves mail
    STOPPED = "stopped"  # the circuit breaker has stopped moving
    PAUSED = "paused"  # a person has stopped moving
    BROKEN = "broken"  # nothing is judged or learned: the fault says why
    GONE = "gone"  # its mailbox no longer exists


@dataclass(frozen=True, slots=True)
class AccountRow:
    """The known state of an account. Times are seconds since the epoch, None for never or not.

    root: the path of its Maildir. stamp: the stamp of its folders at the last comparison with the ledger, a signed
    64-bit integer; None: never. fault: the fault in words, since fault_since; "" for none. gone_at: since when the
    mailbox is missing. looked_after_at: the last daily look. ham, spam: the number of learned messages. judged: the
    numbers of the last 30 days by verdict; corrected: how many of these verdicts a person has corrected. judged_at:
    when the last message was judged. bytes: the size of its ledger on the disk, with its copies. polled: its folders
    cannot all be watched, so the service looks at them every few seconds.
    """

    name: str
    root: str
    state: State
    stamp: int | None = None
    fault: str = ""
    fault_since: float | None = None
    gone_at: float | None = None
    looked_after_at: float | None = None
    ham: int = 0
    spam: int = 0
    judged: Mapping[str, int] = field(default_factory=dict, hash=False)
    corrected: int = 0
    judged_at: float | None = None
    bytes: int = 0
    polled: bool = False


@dataclass(frozen=True, slots=True)
class Sums:
    """The known state of many accounts together.

    states: the number of accounts in each state, also for states without any. faulty: the number with a fault. judged:
    the sum over all verdicts. judged_at: the latest. The others are sums of the fields of `AccountRow`.
    """

    states: Mapping[State, int] = field(default_factory=lambda: dict.fromkeys(State, 0), hash=False)
    faulty: int = 0
    ham: int = 0
    spam: int = 0
    judged: Mapping[str, int] = field(default_factory=dict, hash=False)
    corrected: int = 0
    judged_at: float | None = None
    bytes: int = 0

    @property
    def users(self) -> int:
        """The number of users."""
        return sum(self.states.values())


class Register:
    """The table of all accounts. Close it after use; each process and each thread may open its own.

    `only_read`: makes, changes and moves nothing; a missing register is a RegisterMissingError. Each method raises
    RegisterError if the file cannot be used, and RegisterBusyError if it may be usable soon.
    """

    def __init__(self, path: str, *, only_read: bool = False, busy_seconds: float = _BUSY_SECONDS) -> None:
        self.path = path
        self._file = RegisterFile(path, only_read=only_read, busy_seconds=busy_seconds)
        self._file.do(lambda _: None)  # opened at once, so that a start fails if it cannot be opened

    def put(self, rows: Iterable[AccountRow]) -> None:
        """Write rows, each in the place of the account's old row; all of them or none."""
        values = [_values(row) for row in rows]

        def write(sqlite: sqlite3.Connection) -> None:
            with transaction(sqlite):
                sqlite.executemany(_PUT, values)

        self._file.do(write)

    def forget(self, name: str) -> None:
        """Remove the row of an account."""
        self._file.do(lambda sqlite: sqlite.execute("DELETE FROM account WHERE name = ?", (name,)))

    def all(self) -> list[AccountRow]:
        """Return all rows, by name."""
        return self._rows("ORDER BY name")

    def worst(self, most: int | None = None) -> list[AccountRow]:
        """Return rows, at most `most` of them, the ones that need a look first.

        The order: broken accounts, stopped ones, those with a fault, and then those with the most corrections.
        """
        return self._rows(_WORST_FIRST, -1 if most is None else most)

    def find(self, name: str) -> AccountRow | None:
        """Return the row of an account, or None if there is none."""
        return next(iter(self._rows("WHERE name = ?", name)), None)

    def _rows(self, which: str, *parameters: object) -> list[AccountRow]:
        """Return the rows that the end of a statement chooses."""

        def read(sqlite: sqlite3.Connection) -> list[AccountRow]:
            found = sqlite.execute(f"SELECT * FROM account {which}", parameters)  # noqa: S608 - no text from outside
            columns = [column[0] for column in found.description]
            return [_row(self.path, dict(zip(columns, values, strict=True))) for values in found]

        return self._file.do(read)

    def sums(self, is_counted: Callable[[str], bool] = lambda _: True) -> Sums:
        """Return the sums over all accounts, or over those for which `is_counted` is true of the name."""

        def read(sqlite: sqlite3.Connection) -> Sums:
            sqlite.create_function("is_counted", 1, is_counted)
            return _sums(self.path, sqlite.execute(_SUMS).fetchone())

        return self._file.do(read)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextlib.contextmanager
def reading(path: str) -> Iterator[Register | None]:
    """Open a register only for reading; yields None if there is none yet. Raises as `Register` does."""
    with contextlib.ExitStack() as opened:
        register = None
        with contextlib.suppress(RegisterMissingError):
            register = opened.enter_context(Register(path, only_read=True))
        yield register


_NONE = type(None)
_NUMBER, _TEXT, _TIME = frozenset[object]({int}), frozenset[object]({str}), frozenset[object]({float, _NONE})
_COLUMNS: Mapping[str, frozenset[object]] = {  # and the types of their values
    "name": _TEXT, "root": frozenset({bytes}), "state": _TEXT, "stamp": _NUMBER | {_NONE}, "fault": _TEXT | {_NONE},
    "fault_since": _TIME, "gone_at": _TIME, "looked_after_at": _TIME, "ham": _NUMBER, "spam": _NUMBER,
    "judged": _TEXT, "corrected": _NUMBER, "judged_at": _TIME, "bytes": _NUMBER, "polled": _NUMBER,
}  # fmt: skip
_NAMES = ", ".join(_COLUMNS)
_PUT = f"INSERT OR REPLACE INTO account ({_NAMES}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
_WORST_FIRST = (
    f"ORDER BY state <> '{State.BROKEN}', state <> '{State.STOPPED}', fault IS NULL, corrected DESC, name LIMIT ?"
)
_STATES = ", ".join(f"count(*) FILTER (WHERE state = '{state}')" for state in State)
_BY_VERDICT = ", ".join(f"total(json_extract(judged, '$.{verdict}'))" for verdict in Verdict)
_SUMS = (  # over 5,000 accounts in 6 ms; reading their rows takes 40
    "SELECT count(fault), total(ham), total(spam), total(corrected), total(bytes), max(judged_at),"  # noqa: S608
    f" {_STATES}, {_BY_VERDICT} FROM account WHERE is_counted(name)"
)
_VERDICTS = frozenset(map(str, Verdict))


def _values(row: AccountRow) -> tuple[object, ...]:
    """Return a row as SQLite keeps it."""
    fault = escaped(row.fault)[:_MOST_SAID] or None
    times = row.fault_since, row.gone_at, row.looked_after_at
    judged = json.dumps(dict(row.judged))
    figures = row.ham, row.spam, judged, row.corrected, row.judged_at, row.bytes, int(row.polled)
    return row.name, os.fsencode(row.root), str(row.state), row.stamp, fault, *times, *figures


def _row(path: str, found: Mapping[str, Any]) -> AccountRow:
    """Turn a row of SQLite, by column, into a value. Raises RegisterDamagedError for a row that spamnb did not write.

    A register that no service has opened since an upgrade has no column `polled`.
    """
    try:
        complete = {"polled": 0, **found}
        values = [complete[column] for column in _COLUMNS]
        if not all(type(value) in types for value, types in zip(values, _COLUMNS.values(), strict=True)):
            raise TypeError(values)
        name, root, state, stamp, fault, since, gone_at, looked_after_at, ham, spam, text, *rest = values
        judged, rest[-1] = json.loads(text), bool(rest[-1])
        if not (judged.keys() <= _VERDICTS and {*map(type, judged.values())} <= _NUMBER):
            raise ValueError(text)
        root, state, times = os.fsdecode(root), State(state), (since, gone_at, looked_after_at)
        return AccountRow(name, root, state, stamp, fault or "", *times, ham, spam, judged, *rest)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise damaged(path) from None


def _sums(path: str, values: Sequence[Any]) -> Sums:
    """Turn the sums of SQLite into a value. Raises as `_row` does."""
    faulty, ham, spam, corrected, size, latest, *numbers = values
    states = dict(zip(State, numbers, strict=False))
    judged = {str(verdict): int(number) for verdict, number in zip(Verdict, numbers[len(states) :], strict=True)}
    try:
        judged_at = None if latest is None else float(latest)
    except (TypeError, ValueError):
        raise damaged(path) from None
    return Sums(states, faulty, int(ham), int(spam), judged, int(corrected), judged_at, int(size))
