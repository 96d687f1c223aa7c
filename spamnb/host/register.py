"""The register of a mail host: what is known of each account, so that no ledger has to be opened to tell it.

One SQLite file. The services of all shares write it; commands and pages read it. All of it can be made again by looking
at each account once: so what was written last may be lost when power fails, and an empty file takes the place of a
damaged one.
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
    LEARNING = "learning"  # it has still to learn before it moves mail
    STOPPED = "stopped"  # the circuit breaker has stopped moving
    PAUSED = "paused"  # a person has stopped moving
    BROKEN = "broken"  # nothing is judged or learned: the fault says why
    GONE = "gone"  # its mailbox is not there any more


@dataclass(frozen=True, slots=True)
class AccountRow:
    """What is known of an account. Times are seconds since the epoch, None for never or not.

    root: the path of its Maildir. stamp: what its folders were when they were last compared with the ledger, a whole
    number of 64 bits with a sign; None: never. fault: what is wrong, in words, since fault_since; "" for nothing.
    gone_at: since when the mailbox is not there. looked_after_at: the last daily look. ham, spam: what was learned.
    judged: numbers of the last 30 days by verdict; corrected: against how many of these a person has decided.
    judged_at: when the last message was judged. bytes: what its ledger takes on the disk, with its copies.
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


@dataclass(frozen=True, slots=True)
class Sums:
    """What is known of many accounts together.

    states: how many are in each state, those too that none is in. faulty: how many have a fault. judged: of all
    verdicts. judged_at: the latest. The others are sums of what `AccountRow` has.
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
        """How many there are."""
        return sum(self.states.values())


class Register:
    """The table of all accounts. Close it; several processes may have it open, each thread its own.

    `only_read`: nothing is made, changed or moved aside, and a register that is not there is a RegisterMissingError.
    Each method raises RegisterError where the file cannot be used: RegisterBusyError where it may be soon.
    """

    def __init__(self, path: str, *, only_read: bool = False, busy_seconds: float = _BUSY_SECONDS) -> None:
        self.path = path
        self._file = RegisterFile(path, only_read=only_read, busy_seconds=busy_seconds)
        self._file.do(lambda _: None)  # opened at once: a start is to fail where it cannot be

    def put(self, rows: Iterable[AccountRow]) -> None:
        """Write rows, each in the place of what was known of that account, all of them or none."""
        values = [_values(row) for row in rows]

        def write(sqlite: sqlite3.Connection) -> None:
            with transaction(sqlite):
                sqlite.executemany(_PUT, values)

        self._file.do(write)

    def forget(self, name: str) -> None:
        """Know nothing of an account any more."""
        self._file.do(lambda sqlite: sqlite.execute("DELETE FROM account WHERE name = ?", (name,)))

    def all(self) -> list[AccountRow]:
        """All rows, by name."""
        return self._file.do(
            lambda sqlite: [_row(self.path, row) for row in sqlite.execute(f"{_SELECT} ORDER BY name")]
        )

    def worst(self, most: int | None = None) -> list[AccountRow]:
        """Rows, at most so many, what is to be looked at first before the others.

        First those that are broken, then those that have stopped, then those with a fault, then those that were
        corrected most.
        """
        limit = -1 if most is None else most
        return self._file.do(
            lambda sqlite: [_row(self.path, row) for row in sqlite.execute(f"{_SELECT} {_WORST_FIRST}", (limit,))]
        )

    def find(self, name: str) -> AccountRow | None:
        """The row of an account, or None where nothing is known of it."""

        def read(sqlite: sqlite3.Connection) -> AccountRow | None:
            row = sqlite.execute(f"{_SELECT} WHERE name = ?", (name,)).fetchone()
            return None if row is None else _row(self.path, row)

        return self._file.do(read)

    def sums(self, is_counted: Callable[[str], bool] = lambda _: True) -> Sums:
        """The sums over all accounts, or over those whose names are counted."""

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
    """A register that is only read; None where there is none yet. Raises as it does."""
    with contextlib.ExitStack() as opened:
        register = None
        with contextlib.suppress(RegisterMissingError):
            register = opened.enter_context(Register(path, only_read=True))
        yield register


_NONE = type(None)
_NUMBER, _TEXT, _TIME = frozenset[object]({int}), frozenset[object]({str}), frozenset[object]({float, _NONE})
_COLUMNS: Mapping[str, frozenset[object]] = {  # and of which types their values are
    "name": _TEXT, "root": frozenset({bytes}), "state": _TEXT, "stamp": _NUMBER | {_NONE}, "fault": _TEXT | {_NONE},
    "fault_since": _TIME, "gone_at": _TIME, "looked_after_at": _TIME, "ham": _NUMBER, "spam": _NUMBER,
    "judged": _TEXT, "corrected": _NUMBER, "judged_at": _TIME, "bytes": _NUMBER,
}  # fmt: skip
_TYPES = tuple(_COLUMNS.values())
_NAMES = ", ".join(_COLUMNS)
_PUT = f"INSERT OR REPLACE INTO account ({_NAMES}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
_SELECT = f"SELECT {_NAMES} FROM account"  # noqa: S608 - no text from outside
_WORST_FIRST = (
    f"ORDER BY state <> '{State.BROKEN}', state <> '{State.STOPPED}', fault IS NULL, corrected DESC, name LIMIT ?"
)
_STATES = ", ".join(f"count(*) FILTER (WHERE state = '{state}')" for state in State)
_BY_VERDICT = ", ".join(f"total(json_extract(judged, '$.{verdict}'))" for verdict in Verdict)
_SUMS = (  # of 5,000 accounts in 6 ms, where their rows take 40
    "SELECT count(fault), total(ham), total(spam), total(corrected), total(bytes), max(judged_at),"  # noqa: S608
    f" {_STATES}, {_BY_VERDICT} FROM account WHERE is_counted(name)"
)
_VERDICTS = frozenset(map(str, Verdict))


def _values(row: AccountRow) -> tuple[object, ...]:
    """A row as SQLite has it."""
    fault = escaped(row.fault)[:_MOST_SAID] or None
    times = row.fault_since, row.gone_at, row.looked_after_at
    judged = json.dumps(dict(row.judged))
    figures = row.ham, row.spam, judged, row.corrected, row.judged_at, row.bytes
    return row.name, os.fsencode(row.root), str(row.state), row.stamp, fault, *times, *figures


def _row(path: str, values: Sequence[Any]) -> AccountRow:
    """A row that SQLite has found. Raises RegisterDamagedError for one that is none of ours."""
    try:
        if not all(type(value) in types for value, types in zip(values, _TYPES, strict=True)):
            raise TypeError(values)
        name, root, state, stamp, fault, since, gone_at, looked_after_at, ham, spam, text, *rest = values
        judged = json.loads(text)
        if not (judged.keys() <= _VERDICTS and {*map(type, judged.values())} <= _NUMBER):
            raise ValueError(text)
        root, state, times = os.fsdecode(root), State(state), (since, gone_at, looked_after_at)
        return AccountRow(name, root, state, stamp, fault or "", *times, ham, spam, judged, *rest)
    except (AttributeError, RecursionError, TypeError, ValueError):
        raise damaged(path) from None


def _sums(path: str, values: Sequence[Any]) -> Sums:
    """The row of sums that SQLite has found. Raises as `_row`."""
    faulty, ham, spam, corrected, size, latest, *numbers = values
    states = dict(zip(State, numbers, strict=False))
    judged = {str(verdict): int(number) for verdict, number in zip(Verdict, numbers[len(states) :], strict=True)}
    try:
        judged_at = None if latest is None else float(latest)
    except (TypeError, ValueError):
        raise damaged(path) from None
    return Sums(states, faulty, int(ham), int(spam), judged, int(corrected), judged_at, int(size))
