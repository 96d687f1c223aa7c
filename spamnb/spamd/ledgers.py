"""Which ledger answers a request: one person's, or that of the mail host's user whom the request names.

One person's ledger stays open. SQLite drops all cached pages of a connection when another has written, and each message
writes a verdict. So one connection serves all threads: a message then reads 3 pages again instead of 256
(benchmarks/spamd.py). On a host each request opens the user's ledger and closes it again. So thousands of users need no
more files than the requests of this moment. That adds 2 ms of CPU to 5 (the same program), and four waits for the disk
if nobody else has that ledger open.

The service's claim on a ledger (`only_service`) excludes other services, not this: in SQLite many may read, and writers
wait for each other. So it does not matter which of a host's services is asked.
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
_Config = TypeVar("_Config")
_AT_ONCE = 0.01  # seconds for which a thread waits for another process
_MOST_REMEMBERED = 1_000  # users
_CACHE_OF_USER = 1_000  # KB of a ledger's pages, as in the service of a host


class LedgerInTurn:
    """A ledger that only a single thread works with at a time. It opens at its first use, and after a lasting fault."""

    def __init__(self, path: str, open_ledger: Callable[[str], Ledger]) -> None:
        self._path = path
        self._open = open_ledger
        self._turn = threading.Lock()
        self._ledger: Ledger | None = None

    def use(self, work: Callable[[Ledger], _Result]) -> _Result:
        """Call `work` with the ledger when no other thread uses it. Raises LedgerError, or LedgerBusyError later."""
        with self._turn:
            if self._ledger is None:
                self._ledger = self._open(self._path)
            try:
                return work(self._ledger)
            except LedgerUnavailableError:  # a fault of now, such as a full disk: reading goes on
                raise
            except LedgerError:
                self.close()
                raise

    def close(self) -> None:
        """Close the ledger; no other thread may use it now."""
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None


@dataclass(frozen=True, slots=True)
class AskedUser:
    """A user whose ledger a request asks for.

    name: of the user; "" for the one person. opened: returns the ledger, as a context manager. is_new: there is none
    yet. remembered: as for `acts.may_move.hindrance`.
    """

    name: str
    config: Config
    opened: Callable[[], AbstractContextManager[LedgerInTurn]]
    remembered: MissingCache
    is_new: bool = False


class Ledgers(ABC, Generic[_Config]):
    """The ledgers that requests may ask for. recorders: the number of threads for delayed writing.

    config: the configuration, which may change between two requests.
    """

    recorders: int

    def __init__(self, config: _Config) -> None:
        self.config = config

    @abstractmethod
    def of(self, asked: str) -> AskedUser | None:
        """Return whom a client means by that name, which anyone can write; None if nobody has the name.

        Raises SpamnbError if this cannot be found out.
        """

    @abstractmethod
    def close(self) -> None:
        """Close what is open; nobody uses a ledger any longer."""


class OnePersonsLedger(Ledgers[Config]):
    """One ledger, open until `close`, whoever is named. The service has made it before."""

    recorders = 1

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._ledger = LedgerInTurn(str(config.ledger), _open_there)
        self._remembered = MissingCache()

    def of(self, asked: str) -> AskedUser:
        """Return the only ledger, for every name."""
        return AskedUser("", self.config, lambda: nullcontext(self._ledger), self._remembered)

    def close(self) -> None:
        """Close the ledger."""
        self._ledger.close()


class LedgersOfUsers(Ledgers[Host]):
    """The ledgers of the users of a mail host, each open for one request.

    A user without a ledger gets the answer of a filter that has learned nothing: asking makes no file. Learning makes
    the ledger, as `train` does. Otherwise the service makes it, and it works with a ledger that is already there.
    """

    recorders = 4

    def __init__(self, config: Host) -> None:
        super().__init__(config)
        # Until a user's filter has moved mail once, each message would else judge 20 ham: 12 ms.
        self._remembered = lru_cache(_MOST_REMEMBERED)(lambda name: MissingCache())

    def of(self, asked: str) -> AskedUser | None:
        """Return the ledger of the user of that name. A name that no user can have makes no path (`Host.find`)."""
        user = self.config.find(asked)
        if user is None:
            return None
        config = self.config.config_of(user).config
        path = str(config.ledger)

        def opened() -> AbstractContextManager[LedgerInTurn]:
            return closing(LedgerInTurn(path, partial(Ledger, busy_seconds=_AT_ONCE, cache=_CACHE_OF_USER)))

        return AskedUser(user.name, config, opened, self._remembered(user.name), is_new=not os.path.exists(path))

    def close(self) -> None:
        """Do nothing: nothing is open."""


def ledgers_of(config: Config | Host) -> Ledgers[Any]:
    """Return the ledgers of a configuration."""
    return LedgersOfUsers(config) if isinstance(config, Host) else OnePersonsLedger(config)


def _open_there(path: str) -> Ledger:
    if not os.path.exists(path):  # opening would make an empty one in its place
        raise LedgerUnavailableError(f"The ledger {path} is gone: move it back")
    return Ledger(path, busy_seconds=_AT_ONCE)
