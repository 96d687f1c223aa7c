"""The log of the command line: standard error, one line per record."""

import io
import logging
import os
import sys
from collections.abc import Mapping
from typing import TextIO

_PRIORITIES = ((logging.ERROR, "<3>"), (logging.WARNING, "<4>"), (logging.INFO, "<6>"), (logging.NOTSET, "<7>"))


def set_up(level: int, *, service: bool) -> None:
    """Log to standard error: in the journal with priorities, elsewhere for a service with the time."""
    journal = is_journal(sys.stderr, os.environ)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter(timed=service and not journal, priorities=journal))
    if service:
        from spamnb.service.log import MailboxPrefix

        handler.addFilter(MailboxPrefix())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("watchdog").setLevel(max(level, logging.INFO))


def is_journal(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return whether a stream goes to the journal, which adds the time: `$JOURNAL_STREAM`, systemd.exec(5).

    The variable alone is not enough: a program that a service starts may write to another file.
    """
    try:
        status = os.fstat(stream.fileno())
    except (OSError, io.UnsupportedOperation):
        return False
    return environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


class _Formatter(logging.Formatter):
    """Format a record as one line, with its mailbox, and with a priority prefix (sd-daemon(3)) for journald."""

    def __init__(self, *, timed: bool, priorities: bool) -> None:
        super().__init__("%(asctime)s %(message)s" if timed else "%(message)s", "%Y-%m-%d %H:%M:%S")
        self._priorities = priorities

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name for it
        """Return the line, without a traceback."""
        mailbox = getattr(record, "mailbox", "")
        if mailbox and mailbox not in record.message:
            record.message = f"{mailbox}: {record.message}"
        return super().formatMessage(record)

    def format(self, record: logging.LogRecord) -> str:
        """Return the record in one line that is safe for a terminal."""
        text = super().format(record).replace("\n", " | ")
        text = "".join(c if c.isprintable() else "?" for c in text)
        priority = next(mark for level, mark in _PRIORITIES if record.levelno >= level)
        return priority + text if self._priorities else text
