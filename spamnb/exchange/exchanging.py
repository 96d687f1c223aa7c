"""The exchange of lessons beside the service: a thread of its own, which delays no mail.

It has its own connections to the log and to the ledgers, and each transaction is short. If another thread writes to a
ledger, this one leaves it for the next time; another thread waits a tenth of a second for it. One question asks for the
news of all accounts. A ledger is opened only if there is news, or if its files show that it was written since it was
last sent. An unreachable database is the ordinary case: it is logged once, and tried again after 10 seconds to 5
minutes. Until then new lessons wait in the ledgers.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from spamnb.base.errors import ExchangeAwayError, ExchangeError, LedgerBusyError, SpamnbError
from spamnb.base.wording import plural
from spamnb.config import Exchange
from spamnb.exchange.by_hand import host_of
from spamnb.exchange.connecting import connected
from spamnb.exchange.port import LessonLog, News, news_of
from spamnb.exchange.rounds import Round, exchange
from spamnb.ledger.ledger import Ledger
from spamnb.service.account import SharingUser
from spamnb.service.log import LogOnce, about
from spamnb.service.measurements import Measurements

_log = logging.getLogger(__name__)
_BUSY_SECONDS = 0.2
_SLICE_SECONDS = 1.0  # after which the next account has its turn
_FIRST_PATIENCE, _LONGEST_PATIENCE = 10.0, 300.0  # seconds until an unreachable database is tried again
_LONGEST_REST = 1.0  # seconds; the rest is as long as the work before, to leave half of a core to others
_LOOK_ANYWAY = 3600.0  # seconds, after which a ledger is opened even if its files are unchanged
_END_SECONDS = 10.0  # connecting takes at most half of it
_DATABASE = object()  # the subject of a fault that belongs to no account
_Stamp = tuple[tuple[int, int, int] | None, ...]


@dataclass(slots=True)
class _Seen:
    """The state of an account when everything was last sent and received: its files, the log, and the time."""

    stamp: _Stamp
    news: News
    at: float


class Exchanging:
    """Keeps accounts up with the log, as a context manager: its thread runs until the block ends.

    accounts: returns the current accounts; called in the thread, before each look at the log. forgotten: called in the
    thread, with an account whose user was forgotten on another host. Its ledger is then closed and removed
    (`ledger.file.removal`); the call is repeated until this is done.
    """

    def __init__(
        self,
        settings: Exchange,
        accounts: Callable[[], Sequence[SharingUser]],
        measurements: Measurements,
        forgotten: Callable[[SharingUser], object],
        running: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._host = host_of(settings)
        self._accounts = accounts
        self._measurements = measurements
        measurements.exchanged_at = 0.0
        self._forgotten = forgotten
        self._running = running
        self._stop = threading.Event()
        self._faults = LogOnce(_log, count=lambda _: measurements.fault("exchange"))
        self._faulty: set[str] = set()  # names of accounts
        self._seen: dict[str, _Seen] = {}
        self._unsent: dict[str, tuple[_Stamp, int]] = {}  # the state of its files, and how many lessons wait
        # A library may hang while it looks up a name in the network; as a daemon, the thread does not stop the
        # service's end.
        self._thread = threading.Thread(target=self._run, name="exchange", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(_END_SECONDS)
        if self._thread.is_alive():
            _log.warning("the exchange of lessons does not end; the service ends without it")

    def _run(self) -> None:
        patience = _FIRST_PATIENCE
        while not self._stop.is_set():
            try:
                self._count()
                with connected(self._settings.database or "", self._stop.is_set) as log:
                    while not self._stop.is_set():
                        is_over = self._pass(log)
                        self._count()
                        patience = _FIRST_PATIENCE
                        self._stop.wait(self._settings.seconds if is_over else 0.0)
            except ExchangeError as fault:
                if not self._stop.is_set() and _DATABASE not in self._faults:
                    self._faults.log(
                        _DATABASE, f"{fault}. Lessons wait to be sent; mail is judged and learned as before"
                    )
            except Exception:  # else the thread would end silently, and no lesson would be sent until a restart
                _log.exception("the exchange of lessons failed, and is tried again")
                self._measurements.fault("exchange")
            self._stop.wait(patience)
            patience = min(2 * patience, _LONGEST_PATIENCE)

    def _pass(self, log: LessonLog) -> bool:
        """Look at each account once. Returns whether everything possible is sent and received."""
        accounts = self._accounts()
        news = news_of(log, (account.name for account in accounts))
        if self._faults.clear(_DATABASE):
            _log.info("the database is back: lessons are sent and received again")
        self._seen = {account.name: seen for account in accounts if (seen := self._seen.get(account.name))}
        is_over = True
        for account in accounts:
            if self._stop.is_set():
                return False
            stamp = _stamp_of(account.ledger)
            if stamp[0] is None or self._is_up_to_date(account, stamp, news[account.name]):
                continue
            began = self._running()
            is_over &= self._keep_up(account, stamp, log, news[account.name])
            self._stop.wait(min(_LONGEST_REST, max(0.0, self._running() - began)))
        self._faulty.intersection_update(news)
        if is_over and not self._faulty:
            self._measurements.exchanged_at = time.time()
        return is_over

    def _is_up_to_date(self, account: SharingUser, stamp: _Stamp, news: News) -> bool:
        seen = self._seen.get(account.name)
        is_same = seen is not None and (seen.stamp, seen.news) == (stamp, news)
        return is_same and seen is not None and self._running() - seen.at < _LOOK_ANYWAY

    def _keep_up(self, account: SharingUser, stamp: _Stamp, log: LessonLog, news: News) -> bool:
        """Make a round. Returns whether no other round should follow at once. Raises ExchangeAwayError."""
        until = self._running() + _SLICE_SECONDS
        last = self._running()

        def go_on() -> bool:
            nonlocal last
            self._stop.wait(min(_LONGEST_REST, self._running() - last))
            last = self._running()
            return not self._stop.is_set() and last < until

        with about(account.about):
            try:
                with Ledger(account.ledger, busy_seconds=_BUSY_SECONDS) as ledger:
                    done = exchange(ledger, log, account.name, self._host, news, go_on)
            except ExchangeAwayError:
                raise
            except LedgerBusyError:
                return True  # not up to date, so it is tried again the next time
            except SpamnbError as fault:
                self._faulty.add(account.name)
                self._faults.log(account.name, f"lessons of this account are not sent or received: {fault}")
                return True
            self._faulty.discard(account.name)
            self._faults.clear(account.name)
            self._report(done)
            if done.is_forgotten:
                self._forgotten(account)
                return True
            if done.is_over and not (done.sent or done.received):  # else this has changed the files
                self._seen[account.name] = _Seen(stamp, news, self._running())
            return done.is_over

    def _count(self) -> None:
        """Count the lessons that wait; open a ledger only if it was written since the last time."""
        counted = {}
        for account in self._accounts():
            if self._stop.is_set():
                return
            stamp = _stamp_of(account.ledger)
            found = self._unsent.get(account.name)
            if stamp[0] is not None and (found is None or found[0] != stamp):
                with (
                    suppress(SpamnbError),
                    Ledger(account.ledger, only_read=True, busy_seconds=_BUSY_SECONDS) as ledger,
                ):
                    found = stamp, ledger.shared().unsent
            if stamp[0] is not None and found is not None:
                counted[account.name] = found
        self._unsent = counted
        self._measurements.unsent = sum(number for _, number in counted.values())

    def _report(self, done: Round) -> None:
        self._measurements.exchanged(done.sent, done.received)
        if done.changed or done.sent:
            _log.info("sent %s to other hosts, took over %s of theirs", plural(done.sent, "lesson"), done.changed)


def _stamp_of(ledger: str) -> _Stamp:
    """Return what changes when a ledger is written: the file, size and time of the ledger and of its log."""
    return tuple(map(_stamp_of_file, (ledger, ledger + "-wal")))


def _stamp_of_file(path: str) -> tuple[int, int, int] | None:
    with suppress(OSError):
        found = os.stat(path)
        if found.st_size:
            return found.st_ino, found.st_size, found.st_mtime_ns
    return None
