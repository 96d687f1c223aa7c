"""The register of a mail host: the known state of each account, so that telling it opens no ledger.

Each service has a file for its share of the users, such as `register-1-of-4.jsonl`, with an object of JSON for each
account. It writes the file whole, beside the old one, and renames it. Commands and pages read the files of all
services. A look at each account can make all of it again. So a line or a file that cannot be read counts as missing,
and a power cut may lose the newest rows: then the service compares these users once more.
"""

import contextlib
import errno
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, NoReturn, Self

from spamnb.base import durable
from spamnb.base.errors import RegisterError, next_step
from spamnb.base.label import Verdict
from spamnb.base.patterns import lazy_pattern
from spamnb.base.wording import escaped
from spamnb.host.shares import Share

_MOST_SAID = 500  # characters of a fault that are kept
_FILE = lazy_pattern(r"register-([0-9]+-of-[0-9]+)\.jsonl")


class FilterState(StrEnum):
    """What the filter of an account does."""

    WAITING = "waiting"  # the service has not looked at its mailbox yet
    MOVING = "moving"
    LEARNING = "learning"  # it must learn more before it moves mail
    STOPPED = "stopped"  # the circuit breaker has stopped moving
    PAUSED = "paused"  # a person has stopped moving
    BROKEN = "broken"  # nothing is judged or learned: the fault says why
    GONE = "gone"  # its mailbox no longer exists
    LEFT_OUT = "left out"  # by the configuration, so its mail is not filtered


@dataclass(frozen=True, slots=True)
class AccountRow:
    """The known state of an account. Times are seconds since the epoch, None for never or not.

    root: the path of its Maildir. new_since: mail that came later is new, though the mailbox is recorded only
    afterwards; None if all mail counts as old. stamp: the stamp of its folders at the last comparison with the ledger;
    None: never. fault: the fault in words, since fault_since; "" for none. gone_at: since when the mailbox is missing.
    looked_after_at: the last daily look. ham, spam: the number of learned messages. judged: the numbers of the last 30
    days by verdict; corrected: how many of these verdicts a person has corrected. judged_at: when the last message was
    judged. bytes: the size of its ledger on the disk, with its copies. polled: its folders cannot all be watched, so
    the service looks at them every few seconds. copied_at: when the newest copy of its ledger was made. uncopied_since:
    since when the ledger is known to hold something that no copy has. letter_at: when the newest letter with a
    statement was written into the inbox; letter_read: whether it was read.
    """

    name: str
    root: str
    state: FilterState
    new_since: float | None = None
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
    copied_at: float | None = None
    uncopied_since: float | None = None
    letter_at: float | None = None
    letter_read: bool = False


@dataclass(frozen=True, slots=True)
class Sums:
    """The known state of many accounts together.

    states: the number of accounts in each state, also for states without any. faulty: the number with a fault. judged:
    the sum over all verdicts. judged_at: the latest. uncopied_since: the earliest. letters: the accounts with a letter;
    letters_read: those who have read the newest. The others are sums of the fields of `AccountRow`.
    """

    states: Mapping[FilterState, int] = field(default_factory=lambda: dict.fromkeys(FilterState, 0), hash=False)
    faulty: int = 0
    ham: int = 0
    spam: int = 0
    judged: Mapping[str, int] = field(default_factory=dict, hash=False)
    corrected: int = 0
    judged_at: float | None = None
    bytes: int = 0
    uncopied_since: float | None = None
    letters: int = 0
    letters_read: int = 0

    @classmethod
    def of(cls, rows: Iterable[AccountRow]) -> Self:
        """Add up rows."""
        rows = list(rows)
        states = dict.fromkeys(FilterState, 0)
        for row in rows:
            states[row.state] += 1
        return cls(
            states,
            sum(bool(row.fault) for row in rows),
            sum(row.ham for row in rows),
            sum(row.spam for row in rows),
            {str(verdict): sum(row.judged.get(verdict, 0) for row in rows) for verdict in Verdict},
            sum(row.corrected for row in rows),
            max((row.judged_at for row in rows if row.judged_at is not None), default=None),
            sum(row.bytes for row in rows),
            min((row.uncopied_since for row in rows if row.uncopied_since is not None), default=None),
            sum(row.letter_at is not None for row in rows),
            sum(row.letter_read for row in rows),
        )

    @property
    def users(self) -> int:
        """The number of users."""
        return sum(self.states.values())


def path_of(directory: Path, share: Share) -> Path:
    """Return the path of the file of a share."""
    return directory / f"register-{share}.jsonl"


def files_in(directory: Path) -> list[Path]:
    """Return the files of the register in a directory, the last written one last. Raises RegisterError."""
    found: list[tuple[int, Path]] = []
    with _plain_faults(directory), contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for entry in os.scandir(directory):
            if _FILE.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(FileNotFoundError):
                    found.append((entry.stat().st_mtime_ns, Path(entry.path)))
    return [path for _, path in sorted(found)]


def read(directory: Path) -> list[AccountRow]:
    """Return the rows of all files in a directory, by name; if several have a user, the last written file counts.

    Raises RegisterError if the directory or a file may not be read.
    """
    rows: dict[str, AccountRow] = {}
    for path in files_in(directory):
        rows |= {row.name: row for row in _rows_in(path)}
    return [rows[name] for name in sorted(rows)]


def write(path: Path, lines: Iterable[str]) -> None:
    """Write a file of the register, whole or not at all. lines: each from `line_of`. Raises RegisterError.

    It does not wait for the disk: it would make all users wait, and after a power cut the work makes all of it again.
    """
    with _plain_faults(path), durable.scratch(str(path.parent)) as part:
        with open(part, "w", encoding="ascii") as file:
            file.writelines(lines)
        os.rename(part, path)


def drop(directory: Path, name: str) -> None:
    """Remove an account from all files in a directory. Only if no service writes them. Raises RegisterError."""
    for path in files_in(directory):
        rows = _rows_in(path)
        if any(row.name == name for row in rows):
            write(path, [line_of(row) for row in rows if row.name != name])


def remove_of_other_shares(directory: Path, share: Share) -> None:
    """Remove the files of services that shared the users otherwise, once each service of today has its own."""
    today = {path_of(directory, Share(number + 1, share.of)) for number in range(share.of)}
    files = files_in(directory)
    if today <= {*files}:
        for path in {*files} - today:
            with contextlib.suppress(OSError):
                path.unlink()


def by_need(rows: Iterable[AccountRow]) -> list[AccountRow]:
    """Return rows, the ones that need a look first.

    The order: broken accounts, stopped ones, those with a fault, and then those with the most corrections.
    """
    return sorted(
        rows,
        key=lambda row: (
            row.state is not FilterState.BROKEN,
            row.state is not FilterState.STOPPED,
            not row.fault,
            -row.corrected,
            row.name,
        ),
    )


# --- a line

_KEYS = tuple(each.name for each in fields(AccountRow))
_NUMBER: tuple[type, ...] = (int,)
_TIME = (int, float, type(None))
_TIMES = ("new_since", "fault_since", "gone_at", "looked_after_at", "judged_at", "copied_at", "uncopied_since")
_TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("name", "root", "state", "fault"), (str,)),
    **dict.fromkeys((*_TIMES, "letter_at"), _TIME),
    **dict.fromkeys(("ham", "spam", "corrected", "bytes"), _NUMBER),
    "stamp": (int, type(None)),
    "judged": (dict,),
    "polled": (bool,),
    "letter_read": (bool,),
}
_VERDICTS = frozenset(map(str, Verdict))


def line_of(row: AccountRow) -> str:
    """Return the line of a row, with its end; the fault is on one line, and not too long."""
    values = {key: getattr(row, key) for key in _KEYS} | {"judged": dict(row.judged)}
    values["fault"] = escaped(row.fault)[:_MOST_SAID]
    return json.dumps(values) + "\n"


def _rows_in(path: Path) -> list[AccountRow]:
    """Return the rows of a file, which may have gone."""
    with _plain_faults(path), contextlib.suppress(FileNotFoundError):
        return [row for line in path.read_bytes().splitlines() if (row := _row(line)) is not None]
    return []


def _row(line: bytes) -> AccountRow | None:
    """Return the row of a line; None if it is not one. An earlier version may have fewer keys, a later one more."""
    try:
        found = _DECODER.decode(line.decode("ascii"))
        values = {key: found[key] for key in _KEYS if key in found}
        if not all(_is_of(value, _TYPES[key]) for key, value in values.items()):
            return None
        judged = values.get("judged", {})
        if not (judged.keys() <= _VERDICTS and all(_is_of(number, _NUMBER) for number in judged.values())):
            return None
        return AccountRow(**values | {"state": FilterState(values["state"])})
    except (LookupError, RecursionError, TypeError, ValueError):
        return None


def _is_of(value: Any, types: tuple[type, ...]) -> bool:
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


_DECODER = json.JSONDecoder(parse_constant=_refuse)  # one for all lines: 5,000 take 37 ms; with one for each 44


@contextlib.contextmanager
def _plain_faults(path: Path) -> Iterator[None]:
    """Turn faults of the disk into errors that say what to do."""
    try:
        yield
    except OSError as fault:
        shown = escaped(str(path))
        if fault.errno in {errno.ENOSPC, errno.EDQUOT}:
            what = f"The disk that holds the register {shown} is full: free some space. Nothing was lost"
            raise RegisterError(what) from fault
        step = next_step(fault, "check its directory, and who owns it")
        raise RegisterError(f"The register {shown} cannot be used ({fault.strerror}): {step}") from fault
