"""Requests and answers of the spamd protocol, from SPAMC/1.2 to SPAMC/1.5, as bytes. Pure: no socket is touched.

The source is SpamAssassin's `spamd/PROTOCOL`, and what its clients really send and accept:

- Exim asks in SPAMC/1.2, and finds no verdict where a Content-length is answered before it.
- Haraka sends no Content-length: the message ends with the stream. amavis keeps the stream open: it ends by length.
- Haraka reads a score of exactly one decimal; spamc reads no exponent.
- An error is one line without an empty line after it: `spamc -L` takes any empty line for success.
- An answer to REPORT_IFSPAM that says `Yes` in place of `True` is ham to `spamc -E`.
"""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from spamnb.label import Label

MOST_MESSAGE = 32 << 20  # bytes of one message, inflated
_MOST_LINE = 8 << 10  # bytes; a user's name and all that clients send is far below
_MOST_FIELDS = 256  # as in spamd
_FIRST = re.compile(rb"([A-Z_]+) SPAMC/([0-9]{1,3})\.([0-9]{1,3})[ \t]*")
_NAME = re.compile(rb"[!-9;-~]+")
_LENGTH = re.compile(rb"[0-9]{1,12}")
_WITH_LENGTHS = (1, 3)  # the first version whose answers have a Content-length before all bodies
_PONG = b"SPAMD/1.5 0 PONG\r\n"


class Command(StrEnum):
    """What is asked for."""

    CHECK = "CHECK"
    SYMBOLS = "SYMBOLS"
    REPORT = "REPORT"
    REPORT_IFSPAM = "REPORT_IFSPAM"
    HEADERS = "HEADERS"
    PROCESS = "PROCESS"
    TELL = "TELL"
    PING = "PING"
    SKIP = "SKIP"


class Status(StrEnum):
    """Why there is no answer, by the numbers of sysexits.h."""

    REFUSED = "69 Service Unavailable"
    MALFORMED = "76 Bad header line"
    LATE = "79 Timeout"

    @property
    def code(self) -> int:
        """The number."""
        return int(self.split()[0])


class RequestError(Exception):
    """A request is not answered. `why` is for the client, in ASCII."""

    def __init__(self, status: Status, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


@dataclass(frozen=True, slots=True)
class Request:
    """One request, whole. user: as it was sent, of which nothing is known. version: of the protocol.

    set_local, remove_local: a TELL wants the message learned, or forgotten; label: as what, where it says so.
    """

    command: Command
    version: tuple[int, int]
    user: str = ""
    message: bytes = b""
    label: Label | None = None
    set_local: bool = False
    remove_local: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """A verdict as it is answered. points: with one decimal, 5.0 and more for spam alone."""

    is_spam: bool
    points: float


class RequestReader:
    """Reads one request from a stream, in whatever pieces it comes. size: bytes that are held meanwhile."""

    def __init__(self, most: int = MOST_MESSAGE) -> None:
        self._most = most
        self._line = bytearray()
        self._first: tuple[Command, tuple[int, int]] | None = None
        self._fields: dict[bytes, bytes] = {}
        self._open: tuple[Request, _Body] | None = None  # without its message, which is being received
        self._request: Request | None = None

    @property
    def size(self) -> int:
        """Bytes held."""
        return len(self._line) + (0 if self._open is None else self._open[1].size)

    @property
    def has_begun(self) -> bool:
        """Whether the first line is there."""
        return self._first is not None

    def feed(self, data: bytes) -> Request | None:
        """Take what has come. Returns the request once it is whole; what comes after it is left out.

        Raises RequestError for what is no request.
        """
        at = 0
        while self._request is None and self._open is None and at < len(data):
            end = data.find(b"\n", at) + 1 or len(data)
            self._line += data[at:end]
            at = end
            if len(self._line) > _MOST_LINE:
                raise RequestError(Status.MALFORMED, "a line is too long")
            if self._line.endswith(b"\n"):
                line = bytes(self._line[:-1]).removesuffix(b"\r")
                self._line.clear()
                self._take(line)
        if self._request is None and self._open is not None:
            request, body = self._open
            body.feed(memoryview(data)[at:])
            if body.is_whole:
                self._request = replace(request, message=body.taken())
        return self._request

    def end(self) -> Request:
        """The request, where the stream ends with it. Raises RequestError where that is too soon."""
        if self._request is not None:
            return self._request
        if self._open is None:
            raise RequestError(Status.MALFORMED, "the stream ends before the message")
        request, body = self._open
        body.end()
        self._request = replace(request, message=body.taken())
        return self._request

    def _take(self, line: bytes) -> None:
        """One line before the message."""
        if self._first is None:
            self._first = _first(line)
            if self._first[0] in (Command.PING, Command.SKIP):  # which bring nothing, or fields that say nothing
                self._request = Request(*self._first)
        elif line:
            name, colon, value = (part.strip(b" \t") for part in line.partition(b":"))
            if not (colon and _NAME.fullmatch(name)):
                raise RequestError(Status.MALFORMED, "a field has no name")
            if len(self._fields) == _MOST_FIELDS:
                raise RequestError(Status.MALFORMED, "too many fields")
            self._fields[name.lower()] = value
        else:
            user = self._fields.get(b"user", b"").decode("utf-8", "replace")
            request = Request(*self._first, user)
            if request.command is Command.TELL:
                request = _to_learn(request, self._fields)
            self._open = request, self._begin_body()

    def _begin_body(self) -> "_Body":
        written = self._fields.get(b"content-length")
        if written is not None and not _LENGTH.fullmatch(written):
            raise RequestError(Status.MALFORMED, "Content-length is no number")
        packed = self._fields.get(b"compress")
        if packed is not None and packed.lower() != b"zlib":
            raise RequestError(Status.MALFORMED, "Compress is not zlib")
        return _Body(None if written is None else int(written), self._most, is_packed=packed is not None)


class _Body:
    """A message that is being received: of a length that was said, or up to the end of the stream."""

    def __init__(self, length: int | None, most: int, *, is_packed: bool) -> None:
        if length is not None and length > most:
            raise _too_large(most)
        self._left = length
        self._most = most
        self._inflate = zlib.decompressobj() if is_packed else None
        self._pieces: list[bytes] = []
        self.size = 0

    @property
    def is_whole(self) -> bool:
        """Whether all of the length that was said is there."""
        return self._left == 0

    def feed(self, data: memoryview) -> None:
        """Take more. Raises RequestError for too much, and for what cannot be inflated."""
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        if self._inflate is None:
            self._keep(bytes(data))
        else:
            self._unpack(self._inflate, bytes(data))

    def end(self) -> None:
        """The stream has ended. Raises RequestError where more was promised."""
        if self._left:
            raise RequestError(Status.MALFORMED, f"the message is {self._left} bytes shorter than its Content-length")

    def taken(self) -> bytes:
        """All of it. Raises RequestError where the end of what was packed is missing."""
        if self._inflate is not None and not self._inflate.eof:
            raise RequestError(Status.MALFORMED, "what is compressed is not whole")
        message = b"".join(self._pieces)
        self._pieces = [message]
        return message

    def _unpack(self, inflate: "zlib._Decompress", data: bytes) -> None:
        try:
            self._keep(inflate.decompress(data, self._most + 1 - self.size))
        except zlib.error:
            raise RequestError(Status.MALFORMED, "what is compressed is not zlib") from None

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.size += len(piece)
        if self.size > self._most:
            raise _too_large(self._most)


def _too_large(most: int) -> RequestError:
    return RequestError(Status.REFUSED, f"the message has more than {most} bytes")


def _first(line: bytes) -> tuple[Command, tuple[int, int]]:
    found = _FIRST.fullmatch(line)
    if found is None:
        raise RequestError(Status.MALFORMED, "the first line is not COMMAND SPAMC/VERSION")
    try:
        return Command(found[1].decode("ascii")), (int(found[2]), int(found[3]))
    except ValueError:
        raise RequestError(Status.MALFORMED, "there is no such command") from None


def _to_learn(request: Request, fields: dict[bytes, bytes]) -> Request:
    """A TELL with what it says: the label, and whether the message is to be learned or forgotten here.

    `remote`, which means databases that others share, is left out.
    """
    is_set, is_removed = (b"local" in _words(fields.get(name, b"")) for name in (b"set", b"remove"))
    if is_set and is_removed:
        raise RequestError(Status.MALFORMED, "Set and Remove contradict each other")
    written = fields.get(b"message-class")
    label = {b"spam": Label.SPAM, b"ham": Label.HAM}.get((written or b"").lower())
    if written is not None and label is None:
        raise RequestError(Status.MALFORMED, "Message-class is neither spam nor ham")
    if is_set and label is None:
        raise RequestError(Status.MALFORMED, "Set needs a Message-class")
    return replace(request, label=label, set_local=is_set, remove_local=is_removed)


def _words(value: bytes) -> set[bytes]:
    return {word.strip().lower() for word in value.split(b",")}


# --- answers --------------------------------------------------------------------------------------------------------


def pong() -> bytes:
    """The answer to PING, which has no empty line."""
    return _PONG


def error(status: Status, why: str) -> bytes:
    """One line, after which the stream is closed."""
    text = f"({why})" if status is Status.MALFORMED else why
    return f"SPAMD/1.0 {status}: {text}\r\n".encode("ascii", "replace")


def answer(request: Request, told: Told, body: Sequence[bytes] = ()) -> list[bytes]:
    """The answer with a verdict, in pieces; the one to CHECK has no body.

    >>> ask = Request(Command.REPORT, (1, 2))
    >>> b"".join(answer(ask, Told(True, 7.25), [b"why"]))
    b'SPAMD/1.1 0 EX_OK\\r\\nSpam: True ; 7.2 / 5.0\\r\\n\\r\\nwhy'
    """
    body = () if request.command is Command.CHECK else body
    length = f"Content-length: {sum(map(len, body))}\r\n"
    spam = f"Spam: {told.is_spam} ; {told.points:.1f} / 5.0\r\n"
    if request.command is Command.CHECK:
        fields = spam
    elif request.version >= _WITH_LENGTHS:
        fields = length + spam
    elif request.command is Command.PROCESS:
        fields = length
    else:
        fields = spam
    return [f"SPAMD/1.1 0 EX_OK\r\n{fields}\r\n".encode("ascii"), *body]


def symbols(request: Request, names: Sequence[str]) -> bytes:
    """The body of an answer to SYMBOLS, whose line ended before SPAMC/1.3."""
    end = b"" if request.version >= _WITH_LENGTHS else b"\r\n"
    return ",".join(names).encode("ascii") + end


def learned(request: Request, *, is_changed: bool) -> bytes:
    """The answer to TELL: what was done, where that was anything."""
    did = {(True, False): "DidSet: local\r\n", (False, True): "DidRemove: local\r\n"}
    done = did.get((request.set_local, request.remove_local), "") if is_changed else ""
    return f"SPAMD/1.1 0 EX_OK\r\n{done}\r\n".encode("ascii")
