"""Whose ledger a request is answered by: one person's, or that of the user of a mail host whom it names.

One person's ledger stays open. SQLite drops all pages that a connection remembers when another one has written, and a
verdict is written for each message, so one connection serves all threads (256 pages were read again for a message, and
3 are so: benchmarks/spamd.py). On a host each request opens the user's ledger and closes it again, so that thousands of
users need no more files than those who are asked about at this moment. That takes 2 ms more of CPU, of 5 (the same
program), and waits four times for the disk where nobody else has that ledger open.

The service's claim on a ledger (`only_service`) is against other services, not against this: SQLite lets many read, and
those who write wait for each other. So it does not matter which of a host's services is asked.
"""

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Generic, TypeVar

from spamnb.acts.may_move import MissingCache
from spamnb.base.errors import LedgerError, LedgerUnavailableError
from spamnb.config import Config
from spamnb.host.host import Host
from spamnb.ledger.ledger import Ledger

_Result = TypeVar("_Result")
_Read = TypeVar("_Read")
_AT_ONCE = 0.01  # seconds for which a thread waits for another process
_MOST_REMEMBERED = 1_000  # users
_CACHE_OF_USER = 1_000  # KB of a ledger's pages, as the service of a host has it


class LedgerInTurn:
    """A ledger that one thread at a time works with. It is opened when it is used, and again after a fault that does
    not pass by itself."""

    def __init__(self, path: str, open_ledger: Callable[[str], Ledger]) -> None:
        self._path = path
        self._open = open_ledger
        self._turn = threading.Lock()
        self._ledger: Ledger | None = None

    def use(self, work: Callable[[Ledger], _Result]) -> _Result:
        """Do something with it when no other thread does. Raises LedgerError, LedgerBusyError after a moment."""
        with self._turn:
            if self._ledger is None:
                self._ledger = self._open(self._path)
            try:
                return work(self._ledger)
            except LedgerUnavailableError:  # for now, as on a full disk: what can be read is read on
                raise
            except LedgerError:
                self.close()
                raise

    def close(self) -> None:
        """Close it; no other thread may use it now."""
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None


@dataclass(frozen=True, slots=True)
class Whose:
    """By what a request is answered.

    name: of the user; "" for the one person. opened: gives the ledger, for a block. is_new: there is none yet.
    remembered: as for `acts.may_move.hindrance`.
    """

    name: str
    config: Config
    opened: Callable[[], AbstractContextManager[LedgerInTurn]]
    remembered: MissingCache
    is_new: bool = False


class Ledgers(ABC, Generic[_Read]):
    """The ledgers of those who may be asked about. recorders: so many threads write what has to wait.

    read: the configuration, which may be changed between two requests.
    """

    recorders: int

    def __init__(self, read: _Read) -> None:
        self.read = read

    @abstractmethod
    def of(self, asked: str) -> Whose | None:
        """Of whom a client means by that name, which anyone can write; None where that is nobody.

        Raises SpamnbError where it cannot be found out.
        """

    @abstractmethod
    def close(self) -> None:
        """Close what is open; nobody uses one any more."""


class OnePersonsLedger(Ledgers[Config]):
    """One ledger, whoever is named, and open until `close`. The service has made it before."""

    recorders = 1

    def __init__(self, read: Config) -> None:
        super().__init__(read)
        self._ledger = LedgerInTurn(str(read.ledger), _open_there)
        self._remembered = MissingCache()

    def of(self, asked: str) -> Whose:
        """The same for every name."""
        return Whose("", self.read, lambda: nullcontext(self._ledger), self._remembered)

    def close(self) -> None:
        """Close it."""
        self._ledger.close()


class LedgersOfUsers(Ledgers[Host]):
    """The ledgers of the users of a mail host, each open for a request.

    A user who is there and has no ledger yet is answered as one who has learned nothing: asking makes no file. What is
    to be learned makes the ledger, as `train` does; the service, which will make it otherwise, works with it then.
    """

    recorders = 4

    def __init__(self, read: Host) -> None:
        super().__init__(read)
        # As long as a user's filter has never moved mail, 20 ham are judged for each message otherwise: 12 ms.
        self._remembered = lru_cache(_MOST_REMEMBERED)(lambda name: MissingCache())

    def of(self, asked: str) -> Whose | None:
        """Of the user of that name. No path is made of a name that no user can have (`Host.find`)."""
        user = self.read.find(asked)
        if user is None:
            return None
        config = self.read.config_of(user).config
        path = str(config.ledger)

        def opened() -> AbstractContextManager[LedgerInTurn]:
            return closing(LedgerInTurn(path, partial(Ledger, busy_seconds=_AT_ONCE, cache=_CACHE_OF_USER)))

        return Whose(user.name, config, opened, self._remembered(user.name), is_new=not os.path.exists(path))

    def close(self) -> None:
        """Nothing is open."""


def ledgers_of(read: Config | Host) -> Ledgers[Any]:
    """The ledgers of a configuration."""
    return LedgersOfUsers(read) if isinstance(read, Host) else OnePersonsLedger(read)


def _open_there(path: str) -> Ledger:
    if not os.path.exists(path):  # in its place there would be an empty one
        raise LedgerUnavailableError(f"There is no ledger {path} any more: move it back")
    return Ledger(path, busy_seconds=_AT_ONCE)
