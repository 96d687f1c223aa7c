"""The service's log: a lasting fault is logged once, not at each pass, and each line may name its mailbox."""

import logging
import math
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from spamnb.config import Log
from spamnb.mail.reading import LazyReading, Reading

_mailbox: ContextVar[str] = ContextVar("mailbox", default="")


@contextmanager
def about(mailbox: str) -> Iterator[None]:
    """What is logged within is about this mailbox; "" where that is obvious."""
    before = _mailbox.set(mailbox)
    try:
        yield
    finally:
        _mailbox.reset(before)


def name_of(message: Reading | LazyReading, log: Log) -> str:
    """A message as the log names it: by subject and sender, unless these are to stay out of the log."""
    return message.summary if log.subjects else f"message {message.digest.hex()[:12]}"


class AboutMailbox(logging.Filter):
    """Gives each record the attribute `mailbox`."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Lets every record through."""
        record.mailbox = _mailbox.get()
        return True


class LogOnce:
    """Faults that last, by what they are about. One is logged again when its text changes, or after it was cleared.

    `count` is called with what a fault is about when it is logged. While more than `most` of them last, no other is
    logged: what a user can make thousands of is not to fill the log.
    """

    __slots__ = ("_count", "_faults", "_level", "_log", "_most")

    def __init__(
        self,
        log: logging.Logger,
        level: int = logging.WARNING,
        count: Callable[[Hashable], None] = lambda _: None,
        most: float = math.inf,
    ) -> None:
        self._log = log
        self._level = level
        self._count = count
        self._most = most
        self._faults: dict[Hashable, str] = {}

    def log(self, subject: Hashable, text: str) -> None:
        """Log a fault, unless it is the last one that was logged about that."""
        if self._faults.get(subject) != text:
            self._faults[subject] = text
            if len(self._faults) <= self._most:
                self._log.log(self._level, "%s", text)
            elif len(self._faults) == self._most + 1:
                self._log.log(self._level, "%s; more faults of this kind are not logged until some are over", text)
            self._count(subject)

    @property
    def text(self) -> str:
        """The fault that was logged first of those that last; "" for none."""
        return next(iter(self._faults.values()), "")

    def clear(self, subject: Hashable) -> bool:
        """Note that nothing is wrong with it now. Returns whether a fault had been logged."""
        return self._faults.pop(subject, None) is not None

    def __contains__(self, subject: object) -> bool:
        return subject in self._faults
