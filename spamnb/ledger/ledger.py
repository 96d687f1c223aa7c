"""The ledger: one SQLite file, and its parts over one connection."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from types import TracebackType
from typing import ClassVar, Self

from spamnb.base.errors import LedgerUnavailableError
from spamnb.base.label import How
from spamnb.base.wording import clock, plural
from spamnb.ledger.connection import CACHE, Connection
from spamnb.ledger.file.locks import IntentOwner
from spamnb.ledger.file.readonly import Alive
from spamnb.ledger.history.choices import Choices
from spamnb.ledger.history.early_verdicts import EarlyVerdicts
from spamnb.ledger.history.figures import Figures
from spamnb.ledger.history.journal import Journal
from spamnb.ledger.history.lines import HistoryLines
from spamnb.ledger.history.locations import Locations
from spamnb.ledger.history.messages import Messages
from spamnb.ledger.history.retention import HistoryRetention
from spamnb.ledger.history.senders import SenderRecords
from spamnb.ledger.history.state import State
from spamnb.ledger.history.tallies import Tallies
from spamnb.ledger.history.trained import TrainedFiles
from spamnb.ledger.lessons.port import Lesson, Lessons
from spamnb.ledger.lessons.sqlite.pruning import Pruning
from spamnb.ledger.lessons.sqlite.store import SqliteLessons
from spamnb.ledger.values import damage_behind, odd_values

_TOGETHER = 1000  # lessons that are recorded in one transaction


@dataclass(frozen=True, slots=True)
class ExchangeState:
    """How far a ledger and the log of lessons that hosts share know each other, as the ledger records it.

    log: which log; "" if they have not met. unsent: the number of lessons that wait to be sent, up to MOST.
    waiting_since: when the oldest of these was learned, in seconds since the epoch, or None. received: the number up to
    which this ledger knows the log. to_receive: the number that it must reach before mail is moved.
    """

    MOST: ClassVar[int] = 1000

    log: str
    unsent: int
    waiting_since: float | None
    received: int
    to_receive: int

    @property
    def words(self) -> str:
        """Return in words how far the ledger and the log know each other."""
        waiting = plural(self.unsent, "lesson") if self.unsent < self.MOST else f"{self.MOST} lessons or more"
        since = "" if self.waiting_since is None else f", the oldest since {clock(self.waiting_since)}"
        sent = f"{waiting} wait to be sent{since}" if self.unsent else "all is sent"
        if not self.log:
            return f"has not met the database yet; {sent}"
        of = f" of {self.to_receive}" if self.received < self.to_receive else ""
        return f"{sent}, received up to change {self.received}{of}"


class Ledger:
    """The ledger of everything that has happened. Open one per process, and close it; several processes may open it.

    `only_read`: makes, upgrades and writes nothing. cache: KB of its pages that are kept in memory. alive: called
    while an upgrade copies the ledger.

    The lessons, which several hosts may share:
    lessons: labels, tokens and counts, by the port of every store of lessons.
    pruning: forgets tokens to save space.

    This host's own history:
    messages: who each message is, and the verdicts on it.
    early_verdicts: verdicts that were given before the message came.
    locations: where messages are.
    trained: the files that messages were learned from at the prompt.
    journal: what was done.
    lines: what was done, with the names of folders and what happened later.
    retention: forgets what is long over.
    tallies: how often each kind of action was done.
    figures: how much was judged, when and how surely.
    senders: mail by its origin.
    choices: a person's choices beside the configuration.
    state: what the ledger remembers of itself and of the service.

    owner: this process, as the one that carries out its intents.
    """

    def __init__(
        self,
        path: str,
        *,
        busy_seconds: float = 10.0,
        only_read: bool = False,
        cache: int = CACHE,
        alive: Alive = lambda: None,
    ) -> None:
        self.path = path
        self._connection = Connection(path, busy_seconds=busy_seconds, only_read=only_read, cache=cache, alive=alive)
        store = SqliteLessons(self._connection)
        self.lessons: Lessons = store
        self._verification = store.verification
        self.pruning = Pruning(self._connection)
        self.messages = Messages(self._connection)
        self.early_verdicts = EarlyVerdicts(self._connection)
        self.locations = Locations(self._connection)
        self.trained = TrainedFiles(self._connection)
        self.journal = Journal(self._connection)
        self.lines = HistoryLines(self._connection)
        self.state = State(self._connection)
        self.retention = HistoryRetention(self._connection, self.state)
        self.tallies = Tallies(self._connection, self.state)
        self.figures = Figures(self._connection)
        self.senders = SenderRecords(self._connection)
        self.choices = Choices(self._connection)
        self.owner = IntentOwner(path)
        if not only_read:
            self._record_what_was_left()

    def _record_what_was_left(self) -> None:
        """Record lessons, if that is possible now; if not, the next process that opens the ledger does."""
        try:
            with contextlib.suppress(LedgerUnavailableError):
                self.record_lessons()
        except BaseException:  # report damage at once: another statement may not meet it
            self.close()
            raise

    def record_lessons(self, as_recorded: Callable[[Lesson], Lesson] = lambda lesson: lesson) -> None:
        """Record in the history what was learned or imported and is not recorded there yet.

        Learning may be one transaction, and this the next. A kill between the two loses nothing: the next process that
        opens the ledger, or learns, records it. as_recorded: returns a lesson in the form for the history.
        """
        # In a transaction the lessons are read once; before it begins, a first look may save waiting for writers.
        while self._connection.is_held or self.lessons.changes(self.state.recorded, 1):
            with self.transaction():
                lessons = self.lessons.changes(self.state.recorded, _TOGETHER)  # another process may have been first
                if lessons:
                    self.journal.learned(list(map(as_recorded, lessons)))
                    self.state.recorded = lessons[-1].number
            if len(lessons) < _TOGETHER:
                return

    def shared(self) -> ExchangeState:
        """How far this ledger and the log of lessons know each other."""
        with self.snapshot():
            waiting = self.lessons.changes(self.state.sent, ExchangeState.MOST)
            times = [lesson.at for lesson in waiting if lesson.how is not How.IMPORT]
            state = self.state
            return ExchangeState(state.log, len(times), min(times, default=None), state.received, state.to_receive)

    @property
    def is_held(self) -> bool:
        """Whether a transaction or a snapshot has begun."""
        return self._connection.is_held

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything inside at once, or not at all."""
        with self._connection.transaction():
            yield

    def without_fsync(self) -> contextlib.AbstractContextManager[None]:
        """Let no transaction inside wait for the disk: each is whole, but a power cut may lose the last of them."""
        return self._connection.without_fsync()

    def verify(self) -> list[str]:
        """Return the faults of what was learned, and of the sums in the history. Empty: all is well."""
        return list(chain.from_iterable(self.verification()))

    def verification(self) -> Iterator[list[str]]:
        """Yield the faults that `verify` returns, in steps: about one for each learned message."""
        with self.snapshot():
            is_odd = False
            for odd in odd_values(self._connection):
                is_odd = is_odd or bool(odd)
                yield odd
            if not is_odd:  # else results computed from them mean nothing
                yield from self._verification()
                yield self.senders.faults()

    def check(self) -> None:
        """Raise LedgerError if the ledger is no longer in its place, or cannot be written."""
        with self.transaction():  # this begins as a writer
            pass

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read everything inside as of one moment, whatever other processes commit."""
        with self._connection.snapshot():
            yield

    def empty_log(self) -> None:
        """Free the disk space of a large write-ahead log, if nobody reads from it now."""
        self._connection.empty_log()

    def close(self) -> None:
        """Close the file."""
        self.owner.close()
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file. A fault from a value that spamnb never writes is raised as LedgerDamagedError."""
        try:
            damage = damage_behind(self._connection, fault)
        finally:
            self.close()
        if damage is not None:
            raise damage from fault
