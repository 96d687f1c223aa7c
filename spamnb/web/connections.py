"""The connections of the pages: how long one may take to ask, which one makes room, and which requests are refused.

Every user of this machine can connect. waitress counts the seconds in which nothing comes, so that a connection which
sends a byte now and then stays; and where there are as many as it takes, it lets in no other: 50 such kept the owner
out. So a connection has a time for beginning a request, for the whole of it, and for taking its answer; and where there
are too many, the one that has waited longest is closed. A request that is whole is always answered.
"""

import logging
import re
import time
from collections.abc import Mapping
from typing import Any, ClassVar

from waitress.channel import HTTPChannel  # type: ignore[import-untyped]  # it has no types
from waitress.parser import HTTPRequestParser, ParsingError  # type: ignore[import-untyped]
from waitress.server import BaseWSGIServer  # type: ignore[import-untyped]
from waitress.utilities import RequestEntityTooLarge  # type: ignore[import-untyped]

MOST = 50  # connections, unless more requests than that are being answered
WHOLE_SECONDS = 20.0
_CODED = re.compile(rb"\r\ntransfer-encoding:([^\r\n]*)", re.IGNORECASE)


class TooLong(RequestEntityTooLarge):  # type: ignore[misc]
    """The answer to a form that is longer than any, which nobody reads to its end, in words of these pages."""

    def to_response(self, ident: object = None) -> tuple[str, list[tuple[str, str]], bytes]:
        """The status, the fields and the text."""
        text = "spamnb: What you sent is too large for these pages. Go back. In a terminal: spamnb explain FILE\n"
        return f"{self.code} {self.reason}", [("Content-Type", "text/plain; charset=utf-8")], text.encode("ascii")


class Parser(HTTPRequestParser):  # type: ignore[misc]
    """Reads a request, and refuses it where a proxy might see another end of it (RFC 9112, 6.1 and 6.3).

    once: the name of a field that is taken out where it comes twice: a proxy that adds it has left in what it was sent.
    A program may make one variable of several names, so with `_` in the place of `-` it is the same field.
    """

    once: ClassVar[str] = ""
    error: Any

    def received(self, data: bytes) -> int:
        """Take what has come. Returns how many bytes of it belong to this request."""
        taken = int(super().received(data))
        if isinstance(self.error, RequestEntityTooLarge):
            self.error = TooLong(self.error.body)
        return taken

    def parse_header(self, head: bytes) -> None:
        """Read the request line and the fields. Raises ParsingError, which is answered with 400."""
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
    """A connection."""

    parser_class = Parser
    _since: float | None = None
    _is_silent = True

    def received(self, data: bytes) -> bool:
        """Take what has come. With the first of it after a pause the time begins again; blank lines count as well."""
        if self._is_silent:
            self._since, self._is_silent = None, False
        return bool(super().received(data))

    def service(self) -> None:
        """Answer a request; called in a thread of its own."""
        self._since, self._is_silent = None, True  # while the request is there, so that the loop sets neither meanwhile
        super().service()

    def waiting(self, now: float) -> float:
        """Seconds since which it sends nothing, or no whole request, or has not taken the last answer.

        Called by the loop alone.
        """
        if self._since is None:
            self._since = now
        return now - self._since


def serve(sockets: Mapping[int, object], once: str = "") -> None:
    """Let waitress's servers, which are among these, make such connections of those that they accept.

    once: as a `Parser` has it.
    """
    parser = type("ParserOnce", (Parser,), {"once": once})
    channel = type("ChannelOnce", (Channel,), {"parser_class": parser})
    for server in sockets.values():
        if isinstance(server, BaseWSGIServer):
            server.channel_class = channel
    HTTPChannel.logger.addFilter(_without_address)


def tend(sockets: Mapping[int, object]) -> None:
    """Close the connections among these that take too long, and so many of the oldest as make room. Between two polls.

    Directly: waitress closes a connection only where it could write to it, and who does not read his answer stays.
    """
    now = time.monotonic()
    channels = [channel for channel in sockets.values() if isinstance(channel, Channel)]
    waits = [(channel.waiting(now), channel) for channel in channels if not channel.requests]
    excess = len(channels) - MOST
    for place, (seconds, channel) in enumerate(sorted(waits, key=lambda wait: -wait[0])):
        if place < excess or seconds > WHOLE_SECONDS:
            channel.handle_close()


def _without_address(record: logging.LogRecord) -> bool:
    """Whether to log what waitress says; it names the address of a page, which nobody else is to read."""
    record.msg = str(record.msg).partition(" while serving ")[0]
    return True
