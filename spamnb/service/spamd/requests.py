"""What each command does: judge a message, tell the verdict in the form that was asked for, learn or forget.

Messages are read in several threads. What is read from the ledger and written to it goes over one connection, which one
thread has at a time: SQLite drops all pages that a connection remembers when another one has written, and a verdict is
written for each message (256 pages were read again for a message, and 3 are so: benchmarks/spamd.py).

No thread waits for another process while it has the connection. Where that process writes, what is to be written waits
in one more thread, and verdicts are told meanwhile. It is not handed to the thread that watches the folders: that one
may compare a large mailbox or write the day's copy for a minute, and a person's `spamc -L`, called by an IMAP server,
has ten seconds.

A verdict is written before it is told, since the rule that files the message by it may be faster than we are; but a
mail server does not wait for longer than `REMEMBERED_WITHIN`, as when `train` has the ledger.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from spamnb.acts import training
from spamnb.acts.may_move import Remembered
from spamnb.base.errors import LedgerBusyError, LedgerError, LedgerUnavailableError
from spamnb.base.label import How, Label, Verdict
from spamnb.config import Config
from spamnb.delivery.annotate import annotate
from spamnb.delivery.judge import REMEMBERED_WITHIN, JudgedAtDelivery, judge, remember
from spamnb.delivery.verdict import NAMES, Delivered, fields
from spamnb.ledger.ledger import Ledger
from spamnb.mail.intake import take
from spamnb.mail.reading import LazyReading, Reading, printable
from spamnb.service.log import LogOnce, name_of
from spamnb.service.measurements import Measurements
from spamnb.service.spamd import protocol
from spamnb.service.spamd.peers import Peer
from spamnb.service.spamd.protocol import Command, Pieces, RequestError, ResponseStatus, SpamdRequest
from spamnb.service.spamd.report import report

_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)
_PATIENCE = 8.0  # seconds for a ledger that another process writes: Pigeonhole gives a script ten
_AT_ONCE = 0.01  # seconds of it for which others wait too
_PAUSE = 0.02
_CHUNK = 1 << 20  # bytes
_MOST_USER = 64  # characters of a name in the history
_LEVEL, _MOST_STARS = "X-Spam-Level", 50
_NAMES = (*NAMES["spamnb"], _LEVEL)


class Requests:
    """Answers requests, by one ledger; called in several threads at once. `now` gives seconds since the epoch."""

    def __init__(
        self, config: Config, now: Callable[[], float] = time.time, measurements: Measurements | None = None
    ) -> None:
        self._config = config
        self._now = now
        self._path = str(config.ledger)
        self._remembered = Remembered()
        self._turn = threading.Lock()  # of who uses the ledger
        self._ledger: Ledger | None = None
        self._measurements = measured = measurements or Measurements()
        self._faults = LogOnce(_log, count=lambda _: measured.fault("ledger"))
        self._recorder = ThreadPoolExecutor(1, thread_name_prefix="spamd-recorder")

    def use(self, config: Config) -> None:
        """Work by another configuration, of the same ledger, from the next request on."""
        self._config = config

    def close(self) -> None:
        """Write what is to be written, and close the ledger; nobody may ask any more."""
        self._recorder.shutdown()
        self._close_ledger()

    def answer(self, request: SpamdRequest, peer: Peer) -> "Pieces | Future[Pieces]":
        """The answer, in pieces, or when the ledger has been written. Raises RequestError where there is none."""
        config = self._config
        unread = LazyReading(take(_chunks(request.message)))
        if request.command is Command.TELL:
            return self._tell(request, peer, unread, config)
        return self._judged(request, unread, config)

    # --- judging

    def _judged(self, request: SpamdRequest, unread: LazyReading, config: Config) -> Pieces:
        explains = request.command in (Command.REPORT, Command.REPORT_IFSPAM)
        try:
            with self._measurements.judging():
                reading = unread.reading  # before the ledger is held
                asked = partial(judge, reading=reading, config=config, now=self._now(), explains=explains)
                judged = self._in_turn(partial(asked, remembered=self._remembered), _end())
        except LedgerError as fault:
            raise self._unavailable(fault) from fault
        self._faults.over("ledger")
        asker, held = _asked(request, "spamd"), f", {judged.hindrance.words}" if judged.hindrance else ""
        if not judged.hindrance:
            self._remember(unread.digest, judged, asker)
        verdict, probability, *_ = judged.judgement
        _log.info("%s %.4f %s: told to %s%s", verdict, probability, name_of(reading, config.log), asker, held)
        return _answer(request, judged.delivered, report(judged, config) if explains else b"")

    def _remember(self, digest: bytes, judged: JudgedAtDelivery, asker: str) -> None:
        write = partial(remember, digest=digest, judged=judged, asker=asker, how=How.SPAMD, now=self._now())
        try:
            try:
                self._in_turn(write, 0.0)
            except LedgerBusyError:
                self._recorder.submit(self._in_turn, write, _end()).result(REMEMBERED_WITHIN)
        except TimeoutError:
            pass  # it is written once the ledger is free, if that is soon
        except LedgerError as fault:
            self._faults.log("remember", f"verdicts that are told at delivery are not remembered: {fault}")
        else:
            self._faults.over("remember")

    # --- learning

    def _tell(
        self, request: SpamdRequest, peer: Peer, unread: LazyReading, config: Config
    ) -> "Pieces | Future[Pieces]":
        if not config.spamd.learn or (peer.uid is None and config.spamd.learn != "tcp"):
            raise RequestError(ResponseStatus.REFUSED, "TELL is not allowed here (spamd.learn)")
        label, why, now, end = request.label, _asked(request, "spamc -L"), self._now(), _end()
        if request.set_local and label is not None:
            reading, done = unread.reading, f"learned as {label.word}"
            write = partial(_learn, reading=reading, label=label, why=why, at=now)
        elif request.remove_local:
            write, done = partial(_forget, digest=unread.digest, why=why, at=now), "forgot"
        else:
            return [protocol.learned(request, is_changed=False)]

        def tell() -> Pieces:
            try:
                is_changed = self._in_turn(write, end)
            except LedgerError as fault:
                raise self._unavailable(fault) from fault
            if is_changed:
                _log.info("%s, %s: %s", done, why, name_of(unread, config.log))
            return [protocol.learned(request, is_changed=is_changed)]

        return self._recorder.submit(tell)

    # --- the ledger

    def _in_turn(self, work: Callable[[Ledger], _Result], end: float) -> _Result:
        """Do it with the ledger, when nobody else here uses it, and no other process hinders it until then.

        `work` begins with what another process may hinder; it is done again from there. The ledger is opened again
        after a fault that does not pass by itself. Raises LedgerError.
        """
        while True:
            try:
                with self._turn:
                    return self._with_ledger(work)
            except LedgerBusyError:
                if time.monotonic() >= end:
                    raise
            time.sleep(_PAUSE)

    def _with_ledger(self, work: Callable[[Ledger], _Result]) -> _Result:
        if self._ledger is None:
            if not os.path.exists(self._path):  # the service has made it: in its place there would be an empty one
                raise LedgerUnavailableError(f"There is no ledger {self._path} any more: move it back")
            self._ledger = Ledger(self._path, busy_seconds=_AT_ONCE)
        try:
            return work(self._ledger)
        except LedgerUnavailableError:  # for now, as on a full disk: what can be read is read on
            raise
        except LedgerError:
            self._close_ledger()
            raise

    def _close_ledger(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None

    def _unavailable(self, fault: LedgerError) -> RequestError:
        """The answer to a request that the ledger is needed for; where the ledger is, is for the log alone."""
        self._faults.log("ledger", f"requests cannot be answered: {fault}")
        return RequestError(ResponseStatus.REFUSED, "the ledger cannot be used now")


def _end() -> float:
    """Until when what is asked for now may wait, by `time.monotonic`; whoever waits behind others waits no longer."""
    return time.monotonic() + _PATIENCE


def _chunks(message: bytes) -> Iterator[bytes]:
    """The message in pieces: its digests take three times as much memory as is fed to them at once."""
    return (message[at : at + _CHUNK] for at in range(0, len(message), _CHUNK))


def _learn(ledger: Ledger, reading: Reading, label: Label, why: str, at: float) -> bool:
    with ledger.transaction():
        return training.learn(ledger, reading, label, why, at, how=How.TELL) is not None


def _forget(ledger: Ledger, digest: bytes, why: str, at: float) -> bool:
    with ledger.transaction():
        return training.forget(ledger, [digest], why, at, how=How.TELL) == 1


def _asked(request: SpamdRequest, way: str) -> str:
    """Who asked, as text for the history: anyone can write any name."""
    user = printable(request.user)[:_MOST_USER]
    return f"{way} for {user}" if user else way


def _answer(request: SpamdRequest, told: Delivered, text: bytes) -> Pieces:
    is_spam = told.verdict is Verdict.SPAM
    body: Pieces = ()
    match request.command:
        case Command.SYMBOLS:
            body = [protocol.symbols(request, [f"SPAMNB_{told.verdict.upper()}"])]
        case Command.REPORT:
            body = [text]
        case Command.REPORT_IFSPAM:
            body = [text] if is_spam else []
        case Command.PROCESS:
            body = _with_fields(request.message, told, len(request.message))
        case Command.HEADERS:
            body = _with_fields(request.message, told, _end_of_header(request.message))
    return protocol.answer(request, protocol.VerdictReply(is_spam, told.points), body)


def _with_fields(raw: bytes, told: Delivered, end: int) -> Pieces:
    """The message as far as `end`, with the verdict in its header."""
    stars = "*" * min(_MOST_STARS, int(told.points))
    beginning, replaced = annotate(raw, [*fields(told), *([(_LEVEL, stars)] if stars else [])], _NAMES)
    return [beginning, memoryview(raw)[replaced:end]]


def _end_of_header(raw: bytes) -> int:
    """Where spamc appends its own copy of the rest to an answer to HEADERS: behind the first empty line that it finds.

    Also in a message without a header, whose beginning would be lost otherwise.
    """
    end = len(raw)
    for mark in (b"\r\n\r\n", b"\n\n"):
        start = raw.find(mark)
        if start >= 0:
            end = min(end, start + len(mark))
    return end
