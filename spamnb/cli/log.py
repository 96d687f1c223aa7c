"""The log of the command line: standard error, one line a record."""

import logging
import os
import sys


def set_up(level: int) -> None:
    """Log to standard error, as journald wants it: no time, which the journal adds, but a priority."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JournalFormatter("%(message)s"))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("watchdog").setLevel(max(level, logging.INFO))


class _JournalFormatter(logging.Formatter):
    """One line a record; with a priority prefix (sd-daemon(3)) where journald reads it."""

    _PRIORITIES = ((logging.ERROR, "<3>"), (logging.WARNING, "<4>"), (logging.INFO, "<6>"), (logging.DEBUG, "<7>"))

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record).replace("\n", " | ")
        text = "".join(c if c.isprintable() else "?" for c in text)
        if "JOURNAL_STREAM" not in os.environ:
            return text
        return next((mark for level, mark in self._PRIORITIES if record.levelno >= level), "") + text
