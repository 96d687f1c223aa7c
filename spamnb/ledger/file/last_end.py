"""How the last service that worked with a ledger ended, and when the ledger was last examined.

Reading a large ledger from end to end takes long. So a start does it only if something may have happened to the ledger:
the last service did not end in order, or ended over damage; the file is not as that service left it; or nobody has
examined it for two days.

This record is in the service's lock file. A damaged ledger could not hold it. A service needs a writable lock file to
begin at all, and only the service that holds it writes it. The service empties it before it writes the ledger, and
fills it at the end: a kill or a power cut leaves an empty file.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from spamnb.base.errors import LedgerDamagedError, SpamnbError
from spamnb.ledger.file.parts import SERVICE_LOCK
from spamnb.ledger.file.readonly import FileStamp, state_of

_MOST_SAID = 500  # characters of a fault that are kept
_MOST = 100 + 12 * _MOST_SAID  # bytes that are read; JSON writes a letter beyond ASCII in up to 12
_TRUSTED_SECONDS = 2 * 86_400.0  # the examination of the day, and one that was missed


@dataclass(frozen=True, slots=True)
class LastEnd:
    """The record of the last service; empty if it did not end in order.

    examined_at: when the ledger was last examined, in seconds since the epoch. state: the state of its file at the end.
    damage: the damage in the ledger over which the service ended.
    """

    examined_at: float | None = None
    state: FileStamp | None = None
    damage: str = ""

    def is_trusted_for(self, ledger: str, now: float) -> bool:
        """Whether the ledger need not be examined again."""
        if self.damage or self.examined_at is None or self.state != state_of(ledger):
            return False
        return 0 <= now - self.examined_at < _TRUSTED_SECONDS

    @classmethod
    def of(cls, content: bytes) -> Self:
        """Read the content of the lock file; the record is empty if the content makes no sense."""
        try:
            match json.loads(content):
                case {"damage": str(damage)}:
                    return cls(damage=damage)
                case {"examined": float(at), "state": [int(), int(), int(), int()] as state}:
                    return cls(at, (state[0], state[1], state[2], state[3]))
        except (ValueError, RecursionError):
            pass
        return cls()


def last_end_of(ledger: str) -> LastEnd:
    """Return how the last service ended; the record is empty while a service runs."""
    try:
        with open(ledger + SERVICE_LOCK, "rb") as file:
            return LastEnd.of(file.read(_MOST))
    except OSError:
        return LastEnd()


class EndRecord:
    """The record of a service that holds the lock file, by its descriptor.

    last: how the last service ended. examined_at: when the ledger was last examined; None before it was opened.
    """

    def __init__(self, ledger: str, lock: int) -> None:
        self._ledger = ledger
        self._lock = lock
        self.last = LastEnd.of(os.pread(lock, _MOST, 0))
        self.examined_at: float | None = None
        self._file: int | None = None

    @contextlib.contextmanager
    def kept(self) -> Iterator[Self]:
        """Record how the block ends, which opens and closes the ledger; nothing if it ends as no service should."""
        try:
            yield self
        except LedgerDamagedError as fault:
            self.damaged(str(fault))
            raise
        except SpamnbError:
            self._left_in_order()
            raise
        self._left_in_order()

    def begin(self) -> None:
        """Record that from here on the ledger is written."""
        if os.fstat(self._lock).st_size:
            os.ftruncate(self._lock, 0)
            os.fsync(self._lock)

    def opened(self, examined_at: float | None) -> None:
        """Record that the ledger is open, and was examined at that time."""
        self.examined_at, self._file = examined_at, _file_of(state_of(self._ledger))

    def damaged(self, what: str) -> None:
        """Record that the ledger is damaged: the next start examines all of it, and takes a copy."""
        self.last = LastEnd(damage=what[:_MOST_SAID])
        self._write({"damage": self.last.damage})

    def _left_in_order(self) -> None:
        with contextlib.suppress(OSError):  # if its directory is out of reach, its state is unknown
            state = state_of(self._ledger)
            if self.examined_at is not None and self._file == _file_of(state):  # else a different file has the name now
                self._write({"examined": self.examined_at, "state": state})

    def _write(self, content: object) -> None:
        with contextlib.suppress(OSError):  # such as a full disk: an empty file says enough
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, json.dumps(content).encode(), 0)
            os.fsync(self._lock)


def _file_of(state: FileStamp) -> int:
    """Return the number of the file that a stamp is of."""
    return state[0]
