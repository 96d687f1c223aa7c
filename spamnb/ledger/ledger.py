"""The ledger: one SQLite file, and its rooms over one connection."""

import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from spamnb.ledger.connection import Connection
from spamnb.ledger.files import Files
from spamnb.ledger.imports import Imports
from spamnb.ledger.journal import Journal
from spamnb.ledger.learned import Learned
from spamnb.ledger.messages import Messages
from spamnb.ledger.owner import Owner
from spamnb.ledger.pruning import Pruning
from spamnb.ledger.retention import Retention
from spamnb.ledger.without import Without


class Ledger:
    """What has happened. Open it once a process, and close it; several processes may have it open.

    `only_read`: nothing is made, upgraded or written.

    messages: who each message is, and the verdicts on it.
    learned: labels, tokens and counts.
    files: where messages lie.
    journal: what was done.
    imports: counts that came from other ledgers.
    pruning: forgetting tokens for the sake of size.
    retention: forgetting what is long over.
    owner: this process, as the one that carries out its intents.
    """

    def __init__(self, path: str, *, busy_seconds: float = 10.0, only_read: bool = False) -> None:
        self.path = path
        self._connection = Connection(path, busy_seconds=busy_seconds, only_read=only_read)
        self.messages = Messages(self._connection)
        self.learned = Learned(self._connection)
        self.files = Files(self._connection)
        self.journal = Journal(self._connection)
        self.imports = Imports(self._connection)
        self.pruning = Pruning(self._connection)
        self.retention = Retention(self._connection)
        self.owner = Owner(path)

    def without(self, message: int) -> Without:
        """The counts as they would be if a message were not learned; to be used within one snapshot."""
        return Without(self._connection, self.learned, message)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is written at once, or not at all."""
        with self._connection.transaction():
            yield

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that is read inside is of one moment, whatever other processes commit meanwhile."""
        with self._connection.snapshot():
            yield

    def note(self, name: str) -> str | None:
        """A note kept under a name, or None."""
        row = self._connection.row("SELECT value FROM note WHERE name = ?", (name,))
        return None if row is None else row[0]

    def set_note(self, name: str, value: str | None) -> None:
        """Keep a note under a name; None takes it away."""
        with self.transaction():
            self._connection.execute("DELETE FROM note WHERE name = ?", (name,))
            if value is not None:
                self._connection.execute("INSERT INTO note VALUES (?, ?)", (name, value))

    def empty_log(self) -> None:
        """Give back what a large write-ahead log takes on the disk, where nobody reads from it now."""
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
        self.close()
