"""What a ledger remembers of itself and of the service: single values, kept over a restart.

Only this module knows the table `state`. A new value is one line below, and no change of the schema. A missing row is a
value that was never set. A row with an unknown name was written by a later program.
"""

import base64
import json
import math
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Self, TypeVar

from spamnb.base.errors import LedgerDamagedError
from spamnb.ledger.connection import Connection
from spamnb.ledger.sqlite_errors import damage

_T = TypeVar("_T")
MARK_BYTES, MOST_MARKS = 8, 90_000
LONGEST = 1 << 20  # bytes of a value: the names of a few hundred skipped files
_LONGEST_NAME = 1000  # letters of one name: a mark has 32, the name of a log 36
_SET = "INSERT OR REPLACE INTO state VALUES (?, ?)"
_RESTORED, _KEPT = "restored at", "former kept"
_UNREADABLE = (TypeError, ValueError, RecursionError)  # errors of a text that spamnb did not write


class Job(StrEnum):
    """Work that is done again every few days."""

    FORGETTING = "forgetting"  # history that is long over
    OUTDATED = "outdated lessons"  # weak lessons that newer lessons contradict


class MissedSpam(StrEnum):
    """What a person does about spam in the inbox."""

    UNKNOWN = "unknown"
    IS_MOVED = "moved"  # to a spam folder
    IS_LEFT = "left"  # in its folder, read


@dataclass(frozen=True, slots=True)
class SeenTags:
    """The last look at a tag in notmuch: the database, its revision then, and marks of the messages that had the tag.

    A mark has MARK_BYTES bytes. `write` keeps MOST_MARKS of them.
    """

    tag: str
    database: str
    revision: int
    marks: frozenset[bytes]

    @classmethod
    def read(cls, text: str) -> Self:
        """Read the text of `write`. Raises ValueError for any other."""
        tag, database, revision, encoded = json.loads(text)
        marks = base64.b64decode(encoded, validate=True)
        if [type(tag), type(database), type(revision)] != [str, str, int] or len(marks) % MARK_BYTES:
            raise ValueError(text)
        each = (marks[start : start + MARK_BYTES] for start in range(0, len(marks), MARK_BYTES))
        return cls(tag, database, revision, frozenset(each))

    def write(self) -> str:
        """Return the values as text."""
        marks = b"".join(sorted(self.marks)[:MOST_MARKS])
        return json.dumps([self.tag, self.database, self.revision, base64.b64encode(marks).decode()])


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A letter of the filter that may not be in the inbox yet. folder: the inbox's id. base: the file's base name.

    digest, delivery: of its content.
    """

    folder: int
    base: str
    digest: bytes
    delivery: bytes

    @classmethod
    def read(cls, text: str) -> Self:
        """Read the text of `write`. Raises ValueError for any other."""
        folder, base, digest, delivery = json.loads(text)
        if [type(folder), type(base)] != [int, str] or "/" in base:
            raise ValueError(text)
        return cls(folder, base, bytes.fromhex(digest), bytes.fromhex(delivery))

    def write(self) -> str:
        """Return the values as text."""
        return json.dumps([self.folder, self.base, self.digest.hex(), self.delivery.hex()])


@dataclass(frozen=True, slots=True)
class Told:
    """The newest letter with a statement. period: its text. letter: the letter's identity. at: when it was written.

    shown: the identities of the messages that it shows. drawn: which of them were drawn at random.
    """

    period: str
    letter: bytes
    at: float
    shown: tuple[bytes, ...]
    drawn: tuple[bytes, ...]

    @classmethod
    def read(cls, text: str) -> Self:
        """Read the text of `write`. Raises ValueError for any other."""
        period, letter, at, *lists = json.loads(text)
        shown, drawn = (tuple(map(bytes.fromhex, each)) for each in lists)
        return cls(_name(period), bytes.fromhex(letter), _finite(at), shown, drawn)

    def write(self) -> str:
        """Return the values as text."""
        lists = ([digest.hex() for digest in digests] for digests in (self.shown, self.drawn))
        return json.dumps([self.period, self.letter.hex(), self.at, *lists])


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _endless(text: str) -> float:
    number = float(text)
    return math.inf if number == math.inf else _finite(text)


def _name(text: str) -> str:
    if len(text) > _LONGEST_NAME:
        raise ValueError(text)
    return str(text)


def _texts(text: str) -> tuple[str, ...]:
    found = json.loads(text)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ValueError(text)
    return tuple(found)


class _Value(Generic[_T]):
    """A value with a name; `unset` while it is missing. Setting `unset` removes it.

    read, write: from and to its text; read raises ValueError for a text that it does not know.
    """

    def __init__(self, name: str, read: Callable[[str], _T], unset: _T, write: Callable[[_T], str] = str) -> None:
        self.name = name
        self.read = read
        self._unset = unset
        self._write = write

    def __get__(self, state: "State", _: type | None = None) -> _T:
        row = state._db.row("SELECT value FROM state WHERE name = ?", (self.name,))
        if row is None:
            return self._unset
        try:
            return self.read(row[0])
        except _UNREADABLE:
            raise LedgerDamagedError(damage(state._db.path, _odd(self.name, row[0]))) from None

    def __set__(self, state: "State", value: _T) -> None:
        with state._db.transaction():
            if value == self._unset:
                state._db.execute("DELETE FROM state WHERE name = ?", (self.name,))
            else:
                state._db.execute(_SET, (self.name, self._write(value)))


class State:
    """The values. Reading one raises LedgerDamagedError if spamnb never writes such a value.

    Times are seconds since the epoch.

    stopped_at: since when the circuit breaker has stopped moving, or None.
    resumed_at: when moving was last allowed again.
    paused_until: until when a person has paused moving (infinity: until it is resumed), or None.
    begun_with: the `learning.minimum_messages` with which moving began, or None.
    begun_at: when the newest message was judged before moving began, or None.
    ready_at: when the newest message was judged before the filter knew enough to begin, or None.
    missed_spam: what this person does about missed spam, as last seen.
    restored_at: when an earlier ledger replaced a different one, or None.
    former_kept: whether the replaced ledger was kept beside it.
    mark: a random mark of this ledger; its exports and copies have it too. "" in a ledger from before 0.1.0.
    recorded: the number of the last lesson that the history knows.
    tallied: the last action that is in the tallies.
    sifting_since: the number of the last lesson before the mail of folders was learned, until that is sifted; or None.
    unseen_since: the number of a lesson before the first from a spam folder that nobody had opened, or None.
    read_again: the tokenizer's version that last read all existing mail again; 0 if none has.
    told_until: the end of the last week or month that a letter has told, or needed none; None without such letters.
    told: the newest letter with a statement, or None.
    silent: drawn messages, as hexadecimal identities; the person has read the letter, and has said nothing of them.
    letter: the letter that is under way into the inbox, or None.
    letter_fault: why a letter could not be written at the last try; "" if it could.
    stop_told: what a letter last told of a stop that a person must end; "" for none.
    flood_told: until when a letter has told of floods of first letters, or None.

    For a log of lessons that hosts share (`exchange`):
    log: the log that this ledger's places belong to; "" for none.
    sent: the number of the last lesson that was sent to it.
    received: the place in it up to which this ledger has taken over lessons of others.
    to_receive: the place up to which all must be received before mail is moved.
    forgotten_at: when this user was last forgotten there, before this ledger was made; None if never.

    notmuch_seen: the last look at the tag for spam in notmuch, or None.
    skipped: base names of files, and digests of requests, that are not read, because a process has died while it read
        them.
    suspected: the same, for those that are read a second time.
    """

    stopped_at = _Value[float | None]("stopped at", _finite, None)
    resumed_at = _Value("resumed at", _finite, 0.0)
    paused_until = _Value[float | None]("paused until", _endless, None)
    begun_with = _Value[int | None]("begun with", int, None)
    begun_at = _Value[float | None]("begun at", _finite, None)
    ready_at = _Value[float | None]("ready at", _finite, None)
    missed_spam = _Value("missed spam", MissedSpam, MissedSpam.UNKNOWN)
    restored_at = _Value[float | None](_RESTORED, _finite, None)
    former_kept = _Value(_KEPT, int, 0)
    mark = _Value("mark", _name, "")
    recorded = _Value("recorded", int, 0)
    tallied = _Value("tallied", int, 0)
    sifting_since = _Value[int | None]("sifting since", int, None)
    unseen_since = _Value[int | None]("unseen since", int, None)
    read_again = _Value("read again", int, 0)
    told_until = _Value[float | None]("told until", _finite, None)
    told = _Value[Told | None]("statement told", Told.read, None, lambda told: told.write() if told else "")
    silent = _Value[tuple[str, ...]]("silent", _texts, (), json.dumps)
    letter = _Value[UnderWay | None]("letter", UnderWay.read, None, lambda letter: letter.write() if letter else "")
    letter_fault = _Value("letter fault", _name, "")
    stop_told = _Value("stop told", _name, "")
    flood_told = _Value[float | None]("flood told", _finite, None)
    log = _Value("log", _name, "")
    sent = _Value("told", int, 0)  # the names in the ledgers of 0.1.0, for this and the next two
    received = _Value("heard", int, 0)
    to_receive = _Value("to hear", int, 0)
    forgotten_at = _Value[float | None]("forgotten at", _finite, None)
    notmuch_seen = _Value[SeenTags | None](
        "notmuch seen", SeenTags.read, None, lambda seen: seen.write() if seen else ""
    )
    skipped = _Value[tuple[str, ...]]("skipped", _texts, (), json.dumps)
    suspected = _Value[tuple[str, ...]]("suspected", _texts, (), json.dumps)

    def __init__(self, db: Connection) -> None:
        self._db = db

    def done_at(self, job: Job) -> float:
        """Return when the job was last done; 0.0 if never."""
        return _DONE[job].__get__(self)

    def set_done(self, job: Job, at: float) -> None:
        """Keep when the job was done."""
        _DONE[job].__set__(self, at)


_DONE = {job: _Value(f"{job} done at", _finite, 0.0) for job in Job}
_VALUES = {value.name: value for value in (*vars(State).values(), *_DONE.values()) if isinstance(value, _Value)}


def set_restored(sqlite: sqlite3.Connection, at: float, *, former_kept: bool) -> None:
    """Set `restored_at` and `former_kept` in a copy that is about to become the ledger, and that nobody has open."""
    sqlite.execute(_SET, (_RESTORED, str(at)))
    sqlite.execute(_SET, (_KEPT, str(int(former_kept))))


def odd_values(db: Connection) -> Iterator[str]:
    """Yield the values that spamnb never writes; except those that are too long, which `ledger.values` finds."""
    read = "SELECT CAST(name AS BLOB), CAST(value AS BLOB) FROM state WHERE length(CAST(value AS BLOB)) <= ?"
    for row in db.all(read, (LONGEST,)):
        name, text = (part.decode(errors="backslashreplace") for part in row)
        try:
            if name in _VALUES:
                _VALUES[name].read(text)
        except _UNREADABLE:
            yield _odd(name, text)


def _odd(name: str, text: object) -> str:
    shown = repr(text)
    return f"its value {name!r} is {shown if len(shown) <= 40 else f'{shown[:40]}…'}, which is not allowed"
