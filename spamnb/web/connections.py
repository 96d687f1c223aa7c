"""The connections of the pages: their time limits, their number, and the requests that they refuse.

Every user of this machine can connect. waitress counts only the seconds without any byte. So a connection that sends a
byte now and then stays open. At its limit waitress lets no other connection in: 50 such connections kept the owner out.
So a connection has a limited time to begin a request, to complete it, and to take its answer. If there are too many
connections, the one that has waited longest is closed. A complete request is always answered.
"""

import contextlib
import logging
import re
import time
from collections.abc import Mapping
from typing import Any, ClassVar

from waitress.channel import HTTPChannel  # type: ignore[import-untyped]  # it has no types
from waitress.parser import HTTPRequestParser, ParsingError  # type: ignore[import-untyped]
from waitress.server import BaseWSGIServer  # type: ignore[import-untyped]
from waitress.utilities import RequestEntityTooLarge  # type: ignore[import-untyped]

MOST = 50  # connections, or more if more requests are being answered
WHOLE_SECONDS = 20.0
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
    b"Retry-After: 2\r\n\r\nspamnb: You ask for too much at once. Load this page again in a moment.\n"
)
_CODED = re.compile(rb"\r\ntransfer-encoding:([^\r\n]*)", re.IGNORECASE)


class TooLong(RequestEntityTooLarge):  # type: ignore[misc]
    """The answer to a form that is too long to read, in the words of these pages."""

    def to_response(self, ident: object = None) -> tuple[str, list[tuple[str, str]], bytes]:
        """Return the status, the fields and the text."""
        text = "spamnb: Your form is too large for these pages. Go back. In a terminal: spamnb explain FILE\n"
        return f"{self.code} {self.reason}", [("Content-Type", "text/plain; charset=utf-8")], text.encode("ascii")


class Parser(HTTPRequestParser):  # type: ignore[misc]
    """Reads a request, and refuses it if a proxy might see a different end of it (RFC 9112, 6.1 and 6.3).

    once: the name of a field that is removed if it comes twice: then the proxy that adds it has not removed the
    client's own. A program may turn both names into one variable, so `_` in the place of `-` is the same field.
    """

    once: ClassVar[str] = ""
    command = path = ""  # of a request whose first line cannot be read
    error: Any

    def received(self, data: bytes) -> int:
        """Take the bytes that have come. Returns how many of them belong to this request."""
        taken = int(super().received(data))
        if isinstance(self.error, RequestEntityTooLarge):
            self.error = TooLong(self.error.body)
        return taken

    def parse_header(self, head: bytes) -> None:
        """Read the request line and the fields. Raises ParsingError, whose answer is 400."""
        codings = [value.strip(b" \t").lower() for value in _CODED.findall(head)]
        super().parse_header(head)
        once = _variable(self.once.encode())
        if once and [_variable(line.partition(b":")[0]) for line in head.split(b"\r\n")].count(once) > 1:
            self.headers.pop(once.decode(), None)
        if codings and "CONTENT_LENGTH" in self.headers:
            raise ParsingError("Content-Length beside Transfer-Encoding")
        if codings and (codings != [b"chunked"] or not self.chunked):
            raise ParsingError("Transfer-Encoding has to be chunked, once")


def _variable(name: bytes) -> bytes:
    return name.upper().replace(b"-", b"_")


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection. is_refused: its request is not answered, since too many of this user wait (`turns`)."""

    parser_class = Parser
    is_refused = False
    _since: float | None = None
    _is_silent = True

    def received(self, data: bytes) -> bool:
        """Take the bytes that have come. The first ones after a pause start the time again, even blank lines."""
        if self._is_silent:
            self._since, self._is_silent = None, False
        return bool(super().received(data))

    def service(self) -> None:
        """Answer a request; called in its own thread."""
        self._since, self._is_silent = None, True  # before the request is done, so that the loop does not set them
        super().service()

    def waiting(self, now: float) -> float:
        """Return the seconds in which it has sent no complete request, or has not taken the last answer.

        Only the loop calls this.
        """
        if self._since is None:
            self._since = now
        return now - self._since


def serve(sockets: Mapping[int, object], once: str = "") -> None:
    """Let waitress's servers among these sockets accept connections as a `Channel`.

    once: see `Parser`.
    """
    parser = type("ParserOnce", (Parser,), {"once": once})
    channel = type("ChannelOnce", (Channel,), {"parser_class": parser})
    for server in sockets.values():
        if isinstance(server, BaseWSGIServer):
            server.channel_class = channel
    HTTPChannel.logger.addFilter(_without_address)


def close_slow(sockets: Mapping[int, object]) -> None:
    """Close connections that are refused or take too long, and the oldest ones above the limit.

    Call this between two polls.

    It closes directly: waitress closes a connection only if it can write to it, so a client that does not read its
    answer would stay.
    """
    now = time.monotonic()
    for channel in [one for one in sockets.values() if isinstance(one, Channel) and one.is_refused]:
        with contextlib.suppress(OSError):
            channel.socket.send(_REFUSAL)
        channel.handle_close()
    channels = [channel for channel in sockets.values() if isinstance(channel, Channel)]
    waits = [(channel.waiting(now), channel) for channel in channels if not channel.requests]
    excess = len(channels) - MOST
    for place, (seconds, channel) in enumerate(sorted(waits, key=lambda wait: -wait[0])):
        if place < excess or seconds > WHOLE_SECONDS:
            channel.handle_close()


def _without_address(record: logging.LogRecord) -> bool:
    """Log the line of waitress without the address of a page, which nobody else may read."""
    record.msg = str(record.msg).partition(" while serving ")[0]
    return True
