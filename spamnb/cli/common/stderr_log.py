"""The log of the command line: standard error, one line per record.

A service may write JSON lines in the place of text. If its log goes to the journal, it then sends each record with its
fields, by the protocol of systemd (https://systemd.io/JOURNAL_NATIVE_PROTOCOL/).
"""

import io
import json
import logging
import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TextIO

_PRIORITIES = ((logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6), (logging.NOTSET, 7))
_JOURNAL = "/run/systemd/journal/socket"


def set_up(level: int, *, service: bool) -> None:
    """Log to standard error: in the journal with priorities, elsewhere for a service with the time."""
    logging.basicConfig(level=level, handlers=[_in_text(service=service)], force=True)
    logging.getLogger("watchdog").setLevel(max(level, logging.INFO))


def set_form(form: str, journal: str = _JOURNAL) -> None:
    """Let a service log text, or JSON; in the journal, fields are the form of JSON. journal: the path of its socket."""
    handler: logging.Handler = _in_text(service=True)
    if form == "json" and is_journal(sys.stderr, os.environ):
        handler = _Journal(journal, otherwise=handler)
    elif form == "json":
        handler.setFormatter(_Json())
    logging.basicConfig(level=logging.getLogger().level, handlers=[handler], force=True)


def _in_text(*, service: bool) -> logging.Handler:
    journal = is_journal(sys.stderr, os.environ)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Text(timed=service and not journal, priorities=journal))
    if service:
        from spamnb.service.log import MailboxPrefix

        handler.addFilter(MailboxPrefix())
    return handler


def is_journal(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return whether a stream goes to the journal, which adds the time: `$JOURNAL_STREAM`, systemd.exec(5).

    The variable alone is not enough: a program that a service starts may write to another file.
    """
    try:
        status = os.fstat(stream.fileno())
    except (OSError, io.UnsupportedOperation):
        return False
    return environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def _priority(record: logging.LogRecord) -> int:
    return next(number for level, number in _PRIORITIES if record.levelno >= level)


def _in_one_line(text: str) -> str:
    """Return text that is safe for a terminal."""
    line = text.replace("\n", " | ")
    return line if line.isprintable() else "".join(c if c.isprintable() else "?" for c in line)


def _values(record: logging.LogRecord) -> dict[str, object]:
    """Return the values of a record, by name: its text, its mailbox, and the fields of its event (`log_fields`)."""
    values: dict[str, object] = {"message": _in_one_line(record.getMessage()), "source": record.name}
    if mailbox := getattr(record, "mailbox", ""):
        values["mailbox"] = mailbox
    if record.exc_info:
        values["trace"] = logging.Formatter().formatException(record.exc_info)
    return values | getattr(record, "fields", {})


class _Text(logging.Formatter):
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
        text = _in_one_line(super().format(record))
        return f"<{_priority(record)}>{text}" if self._priorities else text


class _Json(logging.Formatter):
    """Format a record as a JSON object in one line of ASCII."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object, with the time in UTC."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return json.dumps({"at": at, "level": record.levelname.lower(), **_values(record)})


class _Journal(logging.Handler):
    """Sends records with their fields to the journal; if it does not take one, logs it as before."""

    def __init__(self, path: str, otherwise: logging.Handler) -> None:
        super().__init__()
        self._otherwise = otherwise
        self.filters = otherwise.filters
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record. The journal has two names of its own; other fields begin with SPAMNB_."""
        values = _values(record)
        fields = {"MESSAGE": values.pop("message"), "PRIORITY": _priority(record), "SYSLOG_IDENTIFIER": "spamnb"}
        fields |= {f"SPAMNB_{name.upper()}": value for name, value in values.items()}
        try:
            self._socket.sendto(b"".join(map(_field, fields.items())), self._path)
        except OSError:
            self._otherwise.emit(record)

    def close(self) -> None:
        """Close the socket."""
        with suppress(OSError):
            self._socket.close()
        super().close()


def _field(field: tuple[str, object]) -> bytes:
    """Return a field as the journal reads it: with its length, since it may hold any bytes."""
    name, value = field
    text = str(value).encode(errors="backslashreplace")
    return name.encode() + b"\n" + len(text).to_bytes(8, "little") + text + b"\n"
