"""The service's log: a lasting fault is logged once, not at each pass, and each line may name its mailbox."""

import logging
import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

from spamnb.config import Log
from spamnb.mail.reading import LazyReading, Reading

_log = logging.getLogger(__name__)
_MOST_NAMED = 20  # unreadable files that get a line in the log
_mailbox: ContextVar[str] = ContextVar("mailbox", default="")


@contextmanager
def about(mailbox: str) -> Iterator[None]:
    """Mark every log line within as about this mailbox; "" if it is obvious."""
    before = _mailbox.set(mailbox)
    try:
        yield
    finally:
        _mailbox.reset(before)


def name_of(message: Reading | LazyReading, log: Log) -> str:
    """Name a message for the log: by subject and sender, or by its digest if these must stay out of the log."""
    return message.summary if log.subjects else f"message {digest_in_log(message.digest)}"


def log_fields(**values: object) -> Mapping[str, object]:
    """Return what a record is about, by name, as `extra` of a call of the log; only a log in JSON shows it."""
    return {"fields": values}


def digest_in_log(digest: bytes) -> str:
    """Return the part of a digest that names a message in the log."""
    return digest.hex()[:12]


class MailboxPrefix(logging.Filter):
    """Gives each record the attribute `mailbox`."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Lets every record through."""
        record.mailbox = _mailbox.get()
        return True


class LogOnce:
    """Lasting faults, by their subject. A fault is logged again when its text changes, or after it was cleared.

    `count` is called with the subject when a fault is logged. While more than `most` faults last, no other is logged:
    faults that a user can make by the thousand must not fill the log.
    """

    __slots__ = ("_count", "_faults", "_level", "_log", "_most")

    def __init__(
        self,
        log: logging.Logger,
        level: int = logging.WARNING,
        count: Callable[[Hashable], object] = lambda _: None,
        most: float = math.inf,
    ) -> None:
        self._log = log
        self._level = level
        self._count = count
        self._most = most
        self._faults: dict[Hashable, str] = {}

    def log(self, subject: Hashable, text: str) -> None:
        """Log a fault, unless it equals the last one with this subject."""
        if self._faults.get(subject) != text:
            self._faults[subject] = text
            if len(self._faults) <= self._most:
                self._log.log(self._level, "%s", text)
            elif len(self._faults) == self._most + 1:
                self._log.log(self._level, "%s; more faults of this kind are not logged until some are over", text)
            self._count(subject)

    @property
    def text(self) -> str:
        """The oldest of the lasting faults; "" for none."""
        return next(iter(self._faults.values()), "")

    def __iter__(self) -> Iterator[Hashable]:
        """The subjects of the lasting faults, as of now: the caller may clear them."""
        return iter([*self._faults])

    def clear(self, subject: Hashable) -> bool:
        """Note that this subject has no fault now. Returns whether a fault had been logged."""
        return self._faults.pop(subject, None) is not None

    def __contains__(self, subject: object) -> bool:
        return subject in self._faults


class MailFaults:
    """The lasting faults of an account's mail, which it keeps while it sleeps: each is logged once.

    messages: files that cannot be read, by path. folders: folders that cannot be listed, by path. moves: moves that
    cannot be made for now.
    """

    __slots__ = ("folders", "messages", "moves")

    def __init__(self, count: Callable[[Literal["mail", "disk"]], object] = lambda _: None) -> None:
        """count: called with what has failed, for each fault that is logged: reading a message, or a directory."""
        self.messages = LogOnce(_log, count=lambda _: count("mail"), most=_MOST_NAMED)
        self.folders = LogOnce(_log, count=lambda _: count("disk"))
        self.moves = LogOnce(_log, logging.ERROR, count=lambda _: count("disk"))

    @property
    def text(self) -> str:
        """One of the lasting faults; "" for none."""
        return self.of_disk or self.messages.text

    @property
    def of_disk(self) -> str:
        """One of the faults that keep mail from being seen or moved; "" for none."""
        return self.moves.text or self.folders.text

    def clear_moves(self) -> None:
        """Note that no move is open."""
        for subject in self.moves:
            self.moves.clear(subject)
