"""Which mailbox a line of the log is about."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_mailbox: ContextVar[str] = ContextVar("mailbox", default="")


@contextmanager
def about(mailbox: str) -> Iterator[None]:
    """What is logged within is about this mailbox; "" where it need not be said."""
    before = _mailbox.set(mailbox)
    try:
        yield
    finally:
        _mailbox.reset(before)


class AboutMailbox(logging.Filter):
    """Gives each record the attribute `mailbox`."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Lets every record through."""
        record.mailbox = _mailbox.get()
        return True
