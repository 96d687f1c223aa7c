"""What each command does: judge a message, give the verdict in the requested form, learn or forget.

Messages are read in several threads, and none of these waits for another process. If another process holds the ledger,
a different thread does the work as soon as possible (`recorder`), and other requests are answered until then. The
thread that watches the folders does not get this work: it may compare a large mailbox or write the daily copy for a
minute, and a person's `spamc -L`, called by an IMAP server, has ten seconds.

A verdict is written before it is given, since the rule that files the message by it may be faster than we are. But a
mail server waits no longer than `REMEMBERED_WITHIN`, for example while `train` holds the ledger.
"""

import logging
import time
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from spamnb.acts import skipped, training
from spamnb.base.errors import LedgerBusyError, LedgerError, SpamnbError
from spamnb.base.label import How, Label, Verdict
from spamnb.config import Config
from spamnb.delivery.annotate import annotate
from spamnb.delivery.judge import REMEMBERED_WITHIN, JudgedAtDelivery, judge, judge_untaught, remember
from spamnb.delivery.verdict import NAMES, Delivered, fields
from spamnb.host.host import Host
from spamnb.ledger.file.parts import refuse_new
from spamnb.ledger.ledger import Ledger
from spamnb.mail.intake import take
from spamnb.mail.reading import LazyReading, Reading, printable
from spamnb.service.log import LogOnce, about, digest_in_log, log_fields, name_of
from spamnb.service.measurements import Measurements
from spamnb.service.reading_now import ReadingNow
from spamnb.spamd import protocol
from spamnb.spamd.ledgers import AskedUser, LedgerInTurn, ledgers_of
from spamnb.spamd.peers import Peer
from spamnb.spamd.protocol import (
    Answer,
    AnswerAfter,
    Command,
    Pieces,
    RequestError,
    ResponseStatus,
    SpamdRequest,
)
from spamnb.spamd.recorder import Recorder
from spamnb.spamd.report import report

_log = logging.getLogger(__name__)
_PATIENCE = 8.0  # seconds for a ledger that another process writes: Pigeonhole gives a script ten
_USERS = "users"  # the subject of a fault, like a ledger and a remembered verdict
_CHUNK = 1 << 20  # bytes
_MOST_USER = 64  # characters of a name in the history
_LEVEL, _MOST_STARS = "X-Spam-Level", 50
_NAMES = (*NAMES["spamnb"], _LEVEL)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request at work. at: when it came, in seconds since the epoch. end: its last moment, by `time.monotonic`.

    Waiting behind other requests does not move the end.
    """

    request: SpamdRequest
    user: AskedUser
    unread: LazyReading
    at: float
    end: float

    def by(self, way: str) -> str:
        """Return who asked, as text for the history: anyone can write any name."""
        user = _shown(self.request.user)
        return f"{way} for {user}" if user else way


class Requests:
    """Answers requests, by one person's ledger or the ledgers of a host's users; safe in several threads.

    `now` gives seconds since the epoch.
    """

    def __init__(
        self,
        config: Config | Host,
        now: Callable[[], float] = time.time,
        measurements: Measurements | None = None,
        reading: ReadingNow | None = None,
    ) -> None:
        self._ledgers = ledgers_of(config)
        self._now = now
        self._measurements = measured = measurements or Measurements()
        self._reading = reading or ReadingNow()
        self._faults = LogOnce(_log, count=lambda what: measured.fault("disk" if what == _USERS else "ledger"))
        self._recorder = Recorder(self._ledgers.recorders)

    def use(self, config: Config | Host) -> None:
        """Work by a new configuration of these ledgers, from the next request on."""
        self._ledgers.config = config

    def close(self) -> None:
        """Write what waits, and close the ledger; nobody may ask any longer."""
        self._recorder.close()
        self._ledgers.close()

    def answer(self, request: SpamdRequest, peer: Peer) -> Answer | Future[Answer]:
        """Return the answer, or a future of it if the ledger makes it wait. Raises RequestError if there is none."""
        end = time.monotonic() + _PATIENCE
        user = self._user_of(request)
        asked = _Asked(request, user, LazyReading(take(_chunks(request.message))), self._now(), end)
        if request.command is Command.TELL:
            teach = user.config.spamd.teach
            if teach == "nobody" or (peer.uid is None and teach != "tcp"):
                raise RequestError(ResponseStatus.REFUSED, "TELL is not allowed here (spamd.teach)")
            return self._recorder.submit(user.name, partial(self._work, asked, self._tell))
        try:
            return self._work(asked, self._judge)
        except LedgerBusyError:
            return self._recorder.submit(user.name, partial(self._work, asked, self._judge))

    def _user_of(self, request: SpamdRequest) -> AskedUser:
        """Return the user whose ledger is asked. Raises RequestError for an unknown user."""
        try:
            user = self._ledgers.of(request.user)
        except SpamnbError as fault:
            raise self._unavailable(_USERS, fault) from fault
        self._faults.clear(_USERS)
        if user is not None:
            return user
        if not request.user:
            _log.info("%s is not answered: it names no user, and a mail host needs one (spamc -u)", request.command)
            raise RequestError(ResponseStatus.REFUSED, "no user is named")
        _log.info("%s is not answered: there is no user %s", request.command, _shown(request.user))
        raise RequestError(ResponseStatus.REFUSED, "there is no such user")

    def _work(self, asked: _Asked, work: Callable[[_Asked, LedgerInTurn], Answer]) -> Answer:
        """Do what is asked; all work with a message is inside this call.

        Raises RequestError if it is impossible, and LedgerBusyError to be called again.
        """
        subject = "ledger", asked.user.name
        with about(asked.user.name), asked.user.opened() as ledger:
            try:
                with self._noted(asked, ledger):
                    answer = work(asked, ledger)
            except LedgerError as fault:
                if _may_pass(fault, asked):
                    raise
                raise self._unavailable(subject, fault) from fault
            self._faults.clear(subject)
            return answer

    @contextmanager
    def _noted(self, asked: _Asked, ledger: LedgerInTurn) -> Iterator[None]:
        """Note the message of the block, in case the process ends over it. Raises RequestError if one has."""
        what, suspects = f"digest:{asked.unread.digest.hex()}", False
        if not asked.user.is_new:
            skips, suspects = ledger.use(lambda its: (what in its.state.skipped, what in its.state.suspected))
            if skips:
                _log.warning(
                    "a message is not read, since the service crashed over it before. To try again: spamnb users retry"
                )
                raise RequestError(ResponseStatus.REFUSED, "the service crashed while it read this message")
        self._reading.begin(asked.user.name, what)
        try:
            yield
        finally:
            self._reading.end()
        if suspects:
            ledger.use(lambda its: skipped.clear(its, what))

    def _unavailable(self, subject: Hashable, fault: SpamnbError) -> RequestError:
        """Return the answer if the ledger cannot be used; only the log says where the ledger is."""
        self._faults.log(subject, f"requests cannot be answered: {fault}")
        return RequestError(ResponseStatus.REFUSED, "the ledger cannot be used now")

    # --- judging

    def _judge(self, asked: _Asked, ledger: LedgerInTurn) -> Answer:
        request, config = asked.request, asked.user.config
        explains = request.command in (Command.REPORT, Command.REPORT_IFSPAM)
        with self._measurements.judging():
            reading = asked.unread.reading  # before the ledger is held
            judged = self._judged(asked, reading, ledger, explains=explains)
        asker, held = asked.by("spamd"), f", {judged.hindrance.words}" if judged.hindrance else ""
        written = None if judged.hindrance else self._remember(asked, judged, asker, ledger)
        verdict, probability, *_ = judged.judgement
        name, by = name_of(reading, config.log), asked.by("spamc")
        of_log = log_fields(
            event="answered", verdict=verdict, probability=probability, digest=digest_in_log(reading.digest)
        )
        _log.info("%s %.4f %s: answered %s%s", verdict, probability, name, by, held, extra=of_log)
        pieces = _answer(request, judged.delivered, report(judged, config) if explains else b"")
        return pieces if written is None else AnswerAfter(pieces, written, REMEMBERED_WITHIN)

    def _judged(self, asked: _Asked, reading: Reading, ledger: LedgerInTurn, *, explains: bool) -> JudgedAtDelivery:
        user = asked.user
        if user.is_new:
            refuse_new(str(user.config.ledger))
            return judge_untaught(user.config)
        return ledger.use(
            partial(
                judge,
                reading=reading,
                config=user.config,
                now=asked.at,
                explains=explains,
                remembered=user.remembered,
            )
        )

    def _remember(
        self, asked: _Asked, judged: JudgedAtDelivery, asker: str, ledger: LedgerInTurn
    ) -> Future[None] | None:
        """Remember a verdict before it is given. Returns a future if this has to wait."""
        write = partial(remember, digest=asked.unread.digest, judged=judged, asker=asker, how=How.SPAMD, now=asked.at)

        def later() -> None:
            with about(asked.user.name), asked.user.opened() as opened:
                self._write_verdict(asked, write, opened)

        try:
            self._write_verdict(asked, write, ledger)
        except LedgerBusyError:
            return self._recorder.submit(asked.user.name, later)
        return None

    def _write_verdict(self, asked: _Asked, write: Callable[[Ledger], None], ledger: LedgerInTurn) -> None:
        """Write the verdict. Raises LedgerBusyError to be called again."""
        subject = "remember", asked.user.name
        try:
            ledger.use(write)
        except LedgerError as fault:
            if _may_pass(fault, asked):
                raise
            self._faults.log(subject, f"verdicts given at delivery are not remembered: {fault}")
        else:
            self._faults.clear(subject)

    # --- learning

    def _tell(self, asked: _Asked, ledger: LedgerInTurn) -> Answer:
        request, why, is_changed = asked.request, asked.by("spamc -L"), False
        if request.set_local and (label := request.label) is not None:
            done, reading = f"learned as {label.word}", asked.unread.reading  # before the ledger is held
            is_changed = ledger.use(partial(_learn, reading=reading, label=label, why=why, at=asked.at))
        elif request.remove_local and not asked.user.is_new:
            done = "forgot"
            is_changed = ledger.use(partial(_forget, digest=asked.unread.digest, why=why, at=asked.at))
        if is_changed:
            _log.info("%s, %s: %s", done, why, name_of(asked.unread, asked.user.config.log))
        return [protocol.learned(request, is_changed=is_changed)]


def _may_pass(fault: LedgerError, asked: _Asked) -> bool:
    """Whether another process merely holds the ledger, and there is time to try again."""
    return isinstance(fault, LedgerBusyError) and time.monotonic() < asked.end


def _shown(user: str) -> str:
    return printable(user)[:_MOST_USER]


def _chunks(message: bytes) -> Iterator[bytes]:
    """Yield the message in pieces: its digests take three times the memory of one piece."""
    return (message[at : at + _CHUNK] for at in range(0, len(message), _CHUNK))


def _learn(ledger: Ledger, reading: Reading, label: Label, why: str, at: float) -> bool:
    with ledger.transaction():
        return training.learn(ledger, reading, label, why, at, how=How.TELL) is not None


def _forget(ledger: Ledger, digest: bytes, why: str, at: float) -> bool:
    with ledger.transaction():
        return training.forget(ledger, [digest], why, at, how=How.TELL) == 1


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
    """Return the message up to `end`, with the verdict in its header."""
    stars = "*" * min(_MOST_STARS, int(told.points))
    beginning, replaced = annotate(raw, [*fields(told), *([(_LEVEL, stars)] if stars else [])], _NAMES)
    return [beginning, memoryview(raw)[replaced:end]]


def _end_of_header(raw: bytes) -> int:
    """Return where spamc appends its own copy of the rest to an answer to HEADERS: after the first empty line it finds.

    This holds even in a message without a header; otherwise its beginning would be lost.
    """
    end = len(raw)
    for mark in (b"\r\n\r\n", b"\n\n"):
        start = raw.find(mark)
        if start >= 0:
            end = min(end, start + len(mark))
    return end
