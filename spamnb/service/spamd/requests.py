"""What each command does: judge a message, tell the verdict in the form that was asked for, learn or forget.

Messages are judged in several threads, each with a connection to the ledger that only reads. What is written goes
through one more thread with a connection of its own, which waits for SQLite's lock as any command does that runs
beside the service. It is not handed to the thread that watches the folders: that one may compare a large mailbox or
write the day's copy for a minute, and a person's `spamc -L`, called by an IMAP server, has ten seconds.

A verdict is written before it is told, since the rule that files the message by it may be faster than we are; but a
mail server does not wait for longer than `_REMEMBERED_WITHIN`, as when `train` has the ledger. It is written without
waiting for the disk: power that fails loses the last verdicts, and the messages that they were about with them, mostly.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from spamnb import __version__, training
from spamnb.arming import Remembered
from spamnb.breaker import hindrance
from spamnb.config import Config
from spamnb.delivery.judging import delivered
from spamnb.delivery.verdict import NAMES, Delivered, fields
from spamnb.errors import LedgerError, LedgerUnavailableError
from spamnb.filter import Clue, Filter, Judgement
from spamnb.label import Label, Verdict
from spamnb.ledger.history.early_verdicts import EarlyVerdict
from spamnb.ledger.ledger import Ledger
from spamnb.mail.annotate import annotate
from spamnb.mail.identity import take
from spamnb.mail.reading import LazyReading, Reading, printable
from spamnb.service.log import LogOnce, name_of
from spamnb.service.measurements import Measurements
from spamnb.service.spamd import protocol
from spamnb.service.spamd.protocol import Command, Pieces, Request, RequestError, Status, Told
from spamnb.service.spamd.sockets import Peer
from spamnb.wording import escaped

_log = logging.getLogger(__name__)
_REMEMBERED_WITHIN = 1.0  # seconds
_PATIENCE = 8.0  # seconds for a ledger that another process writes: Pigeonhole gives a script ten
_MOST_USER = 64  # characters of a name in the history
_CLUES = 5
_MOST_TOKEN = 40  # characters in a report, whose lines have at most 76
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
        self._missing = Remembered()
        self._own = threading.local()
        self._opened: list[Ledger] = []
        self._measurements = measured = measurements or Measurements()
        self._faults = LogOnce(_log, count=lambda _: measured.fault("ledger"))
        self._recorder = ThreadPoolExecutor(1, thread_name_prefix="spamd-recorder")

    def use(self, config: Config) -> None:
        """Work by another configuration, of the same ledger, from the next request on."""
        self._config = config

    def close(self) -> None:
        """Write what is to be written, and close the ledger; nobody may ask any more."""
        self._recorder.shutdown()
        for ledger in self._opened:
            ledger.close()

    def answer(self, request: Request, peer: Peer) -> "Pieces | Future[Pieces]":
        """The answer, in pieces, or when the ledger has been written. Raises RequestError where there is none."""
        config = self._config
        unread = LazyReading(take([request.message]))
        if request.command is Command.TELL:
            return self._tell(request, peer, unread, config)
        return self._judged(request, unread, config)

    # --- judging

    def _judged(self, request: Request, unread: LazyReading, config: Config) -> Pieces:
        report = request.command in (Command.REPORT, Command.REPORT_IFSPAM)
        clues: Sequence[Clue] = ()
        try:
            with self._measurements.judging():
                reading = unread.reading  # before the ledger is held
                with self._ledger(only_read=True) as ledger, ledger.snapshot():
                    found = Filter(ledger.lessons, config.scoring, config.senders)
                    missing, stopped = hindrance(ledger, config, self._now(), self._missing)
                    if report:
                        explanation = found.explain(reading, 0)
                        judgement, clues = explanation.judgement, explanation.clues[:_CLUES]
                    else:
                        judgement = found.judge(reading)
        except LedgerError as fault:
            raise self._unavailable(fault) from fault
        self._faults.over("ledger")
        why = missing or ("moving is stopped" if stopped else "")
        told, asker = delivered(judgement, config, is_held=bool(why)), _asked(request, "spamd")
        if not why:
            self._remember(unread.digest, judgement, asker)
        name = name_of(reading, config.log)
        _log.info("%s %.4f %s: told to %s%s", judgement.verdict, judgement.probability, name, asker, why and f", {why}")
        body = _report(told, clues, why) if report else b""
        return _answer(request, told, body)

    def _remember(self, digest: bytes, judgement: Judgement, asker: str) -> None:
        told = EarlyVerdict(judgement.verdict, judgement.probability, judgement.log_odds, asker, self._now())

        def remember() -> None:
            with self._ledger(only_read=False) as ledger, ledger.hasty():
                ledger.early_verdicts.remember(digest, told)

        try:
            self._recorder.submit(remember).result(_REMEMBERED_WITHIN)
        except TimeoutError:
            pass  # it is written once the ledger is free
        except LedgerError as fault:
            self._faults.log("remember", f"verdicts that are told at delivery are not remembered: {fault}")
        else:
            self._faults.over("remember")

    # --- learning

    def _tell(self, request: Request, peer: Peer, unread: LazyReading, config: Config) -> "Pieces | Future[Pieces]":
        if not config.spamd.learn or (peer.uid is None and config.spamd.learn != "tcp"):
            raise RequestError(Status.REFUSED, "TELL is not allowed here (spamd.learn)")
        label, why, now = request.label, _asked(request, "spamc -L"), self._now()
        if request.set_local and label is not None:
            reading, done = unread.reading, f"learned as {label.word}"
            write = partial(_learn, reading=reading, label=label, why=why, at=now)
        elif request.remove_local:
            write, done = partial(_forget, digest=unread.digest, why=why, at=now), "forgot"
        else:
            return [protocol.learned(request, is_changed=False)]

        def tell() -> Pieces:
            try:
                with self._ledger(only_read=False) as ledger:
                    is_changed = write(ledger)
            except LedgerError as fault:
                raise self._unavailable(fault) from fault
            if is_changed:
                _log.info("%s, %s: %s", done, why, name_of(unread, config.log))
            return [protocol.learned(request, is_changed=is_changed)]

        return self._recorder.submit(tell)

    # --- the ledger

    @contextlib.contextmanager
    def _ledger(self, *, only_read: bool) -> Iterator[Ledger]:
        """This thread's own connection, opened again after a fault. Raises LedgerError."""
        ledger: Ledger | None = getattr(self._own, "ledger", None)
        if ledger is None:
            if not os.path.exists(self._path):  # the service has made it: in its place there would be an empty one
                raise LedgerUnavailableError(f"There is no ledger {self._path} any more: move it back")
            ledger = Ledger(self._path, busy_seconds=_PATIENCE, only_read=only_read)
            self._opened.append(ledger)
            self._own.ledger = ledger
        try:
            yield ledger
        except LedgerError:
            self._own.ledger = None
            self._opened.remove(ledger)
            ledger.close()
            raise

    def _unavailable(self, fault: LedgerError) -> RequestError:
        """The answer to a request that the ledger is needed for; where the ledger is, is for the log alone."""
        self._faults.log("ledger", f"requests cannot be answered: {fault}")
        return RequestError(Status.REFUSED, "the ledger cannot be used now")


def _learn(ledger: Ledger, reading: Reading, label: Label, why: str, at: float) -> bool:
    return training.learn(ledger, reading, label, why, at) is not None


def _forget(ledger: Ledger, digest: bytes, why: str, at: float) -> bool:
    return training.forget(ledger, [digest], why, at) == 1


def _asked(request: Request, how: str) -> str:
    """Who asked, as text for the history: anyone can write any name."""
    user = printable(request.user)[:_MOST_USER]
    return f"{how} for {user}" if user else how


def _answer(request: Request, told: Delivered, report: bytes) -> Pieces:
    is_spam = told.verdict is Verdict.SPAM
    body: Pieces = ()
    match request.command:
        case Command.SYMBOLS:
            body = [protocol.symbols(request, [f"SPAMNB_{told.verdict.upper()}"])]
        case Command.REPORT:
            body = [report]
        case Command.REPORT_IFSPAM:
            body = [report] if is_spam else []
        case Command.PROCESS:
            body = _with_fields(request.message, told, len(request.message))
        case Command.HEADERS:
            body = _with_fields(request.message, told, _end_of_header(request.message))
    return protocol.answer(request, Told(is_spam, told.points), body)


def _with_fields(raw: bytes, told: Delivered, end: int) -> Pieces:
    """The message as far as `end`, with the verdict in its header."""
    stars = "*" * min(_MOST_STARS, int(told.points))
    beginning, replaced = annotate(raw, [*fields(told), *([(_LEVEL, stars)] if stars else [])], _NAMES)
    return [beginning, memoryview(raw)[replaced:end]]


def _end_of_header(raw: bytes) -> int:
    """Where spamc appends its own copy of the rest to an answer to HEADERS: behind the first empty line that it finds.

    Also in a message without a header, whose beginning would be lost otherwise.
    """
    ends = [found + len(mark) for mark in (b"\r\n\r\n", b"\n\n") if (found := raw.find(mark)) >= 0]
    return min(ends, default=len(raw))


def _report(told: Delivered, clues: Sequence[Clue], why: str) -> bytes:
    """The verdict and its strongest clues, in ASCII, lines of at most 76 characters: Exim puts it into the header."""
    lines = [
        f"spamnb {__version__}: {told.verdict}, {told.points:.1f} points of 5.0 required",
        f"Probability of spam: {told.probability:.4f}",
        *([f"No verdict is told yet: {why}"] if why else []),
        *(["", "contributes  in ham  in spam  token"] if clues else []),
        *(f"{one.contribution:+11.2f}  {one.ham:6}  {one.spam:7}  {_plain(one.token)}" for one in clues),
    ]
    return "".join(f"{line[:76]}\n" for line in lines).encode("ascii", "replace")


def _plain(token: str) -> str:
    return escaped(token).encode("ascii", "backslashreplace").decode("ascii")[:_MOST_TOKEN]
