"""Requests and answers of the spamd protocol, from SPAMC/1.2 to SPAMC/1.5, as bytes. Pure: it touches no socket.

The source is SpamAssassin's `spamd/PROTOCOL`, and what its clients really send and accept:

- Exim asks in SPAMC/1.2, and finds no verdict if a Content-length comes before it in the answer.
- Haraka sends no Content-length: the message ends with the stream. amavis keeps the stream open: it ends by length.
- Haraka reads a score of exactly one decimal; spamc reads no exponent.
- An error is one line without an empty line after it: `spamc -L` takes any empty line for success.
- An answer to REPORT_IFSPAM that says `Yes` in place of `True` is ham to `spamc -E`.
"""

import io
import re
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from enum import StrEnum

from spamnb.base.label import Label

MOST_MESSAGE = 32 << 20  # bytes of one message, inflated
SMALL = 64 << 10  # bytes of a message that always have room; nine messages of ten are smaller
_STEP = 1 << 16  # bytes that are inflated at once
_MOST_LINE = 8 << 10  # bytes; a user's name and everything that clients send is much shorter
_MOST_FIELDS = 256  # as in spamd
_FIRST = re.compile(rb"([A-Z_]+) SPAMC/([0-9]{1,3})\.([0-9]{1,3})[ \t]*")
_NAME = re.compile(rb"[!-9;-~]+")
_LENGTH = re.compile(rb"[0-9]{1,12}")
_WITH_LENGTHS = (1, 3)  # the first version whose answers have a Content-length before every body
_PONG = b"SPAMD/1.5 0 PONG\r\n"


class Command(StrEnum):
    """What a client asks for."""

    CHECK = "CHECK"
    SYMBOLS = "SYMBOLS"
    REPORT = "REPORT"
    REPORT_IFSPAM = "REPORT_IFSPAM"
    HEADERS = "HEADERS"
    PROCESS = "PROCESS"
    TELL = "TELL"
    PING = "PING"
    SKIP = "SKIP"


class ResponseStatus(StrEnum):
    """Why there is no answer, by the numbers of sysexits.h."""

    REFUSED = "69 Service Unavailable"
    BUSY = "75 EX_TEMPFAIL"
    MALFORMED = "76 Bad header line"
    LATE = "79 Timeout"

    @property
    def code(self) -> int:
        """The number."""
        return int(self.split()[0])


class RequestError(Exception):
    """A request gets no answer. `why` is for the client, in ASCII."""

    def __init__(self, status: ResponseStatus, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


@dataclass(frozen=True, slots=True)
class SpamdRequest:
    """One whole request.

    user: as sent, not checked. version: of the protocol. set_local, remove_local: a TELL wants the message learned, or
    forgotten; label: as what, if it says so.
    """

    command: Command
    version: tuple[int, int]
    user: str = ""
    message: bytes = b""
    label: Label | None = None
    set_local: bool = False
    remove_local: bool = False


@dataclass(frozen=True, slots=True)
class VerdictReply:
    """A verdict as the answer gives it. points: with one decimal; 5.0 and more only for spam."""

    is_spam: bool
    points: float


class Stream:
    """The bytes of a client, which come in pieces; it holds at most one piece at a time.

    receive: returns the next piece, b"" if the client has ended. The connection's own loop awaits it: this module does
    not know which loop.
    """

    def __init__(self, receive: Callable[[], Awaitable[bytes]]) -> None:
        self._receive = receive
        self._rest = b""

    async def line(self) -> bytes:
        """Return the next line, without its end. Raises RequestError if there is none."""
        while (end := self._rest.find(b"\n", 0, _MOST_LINE)) < 0:
            if len(self._rest) >= _MOST_LINE:
                raise RequestError(ResponseStatus.MALFORMED, "a line is too long")
            piece = await self._receive()
            if not piece:
                raise RequestError(ResponseStatus.MALFORMED, "the stream ends before the message")
            self._rest += piece
        line, self._rest = self._rest[:end], self._rest[end + 1 :]
        return line.removesuffix(b"\r")

    async def piece(self) -> bytes:
        """Return what comes after the lines taken so far; b"" at the end."""
        if self._rest:
            piece, self._rest = self._rest, b""
            return piece
        return await self._receive()


Pieces = Sequence[bytes | memoryview]
"""An answer, piece by piece."""


@dataclass(frozen=True, slots=True)
class AnswerAfter:
    """An answer that waits until something has been written, for a limited number of seconds."""

    pieces: Pieces
    written: Future[None]
    within: float


Answer = Pieces | AnswerAfter

Admit = Callable[[int], Awaitable[None]]
"""Waits until there is room for that number of bytes of a message in all."""

First = tuple[Command, tuple[int, int]]
"""The content of a request's first line: the command, and the version of the protocol."""


async def read_first(stream: Stream) -> First:
    """Read the first line of a request. Raises RequestError if it is not one."""
    line = await stream.line()
    found = _FIRST.fullmatch(line)
    if found is None:
        raise RequestError(ResponseStatus.MALFORMED, "the first line is not COMMAND SPAMC/VERSION")
    try:
        return Command(found[1].decode("ascii")), (int(found[2]), int(found[3]))
    except ValueError:
        raise RequestError(ResponseStatus.MALFORMED, "there is no such command") from None


async def read_rest(stream: Stream, first: First, admit: Admit, most: int = MOST_MESSAGE) -> SpamdRequest:
    """Return the request that begins with that line; it does not read what follows the request.

    `admit` is awaited before more than `SMALL` bytes of the message are kept, and again before each doubling. Raises
    RequestError if this is not a request.
    """
    if first[0] in (Command.PING, Command.SKIP):  # they bring nothing, or fields without meaning here
        return SpamdRequest(*first)
    fields: dict[bytes, bytes] = {}
    while line := await stream.line():
        name, colon, value = (part.strip(b" \t") for part in line.partition(b":"))
        if not (colon and _NAME.fullmatch(name)):
            raise RequestError(ResponseStatus.MALFORMED, "a field has no name")
        if len(fields) == _MOST_FIELDS:
            raise RequestError(ResponseStatus.MALFORMED, "too many fields")
        fields[name.lower()] = value
    request = SpamdRequest(*first, fields.get(b"user", b"").decode("utf-8", "replace"))
    if request.command is Command.TELL:
        request = _to_learn(request, fields)
    return replace(request, message=await _read_message(stream, fields, admit, most))


async def _read_message(stream: Stream, fields: Mapping[bytes, bytes], admit: Admit, most: int) -> bytes:
    """Return the message: up to its given length, or to the end of the stream, or of the packed content."""
    left = _length(fields, most)
    packed = fields.get(b"compress")
    if packed is not None and packed.lower() != b"zlib":
        raise RequestError(ResponseStatus.MALFORMED, "Compress is not zlib")
    message = _Message(admit, most if left is None else left) if packed is None else _PackedMessage(admit, most)
    while (left is None or left) and not message.has_ended:
        piece = await stream.piece()
        if not piece:
            break
        if left is not None:
            piece = piece[:left]
            left -= len(piece)
        await message.add(piece)
    if left and not message.has_ended:
        raise RequestError(ResponseStatus.MALFORMED, f"the message is {left} bytes shorter than its Content-length")
    return message.whole()


def _length(fields: Mapping[bytes, bytes], most: int) -> int | None:
    written = fields.get(b"content-length")
    if written is None:
        return None
    if not _LENGTH.fullmatch(written):
        raise RequestError(ResponseStatus.MALFORMED, "Content-length is not a number")
    if int(written) > most:
        raise _too_large(most)
    return int(written)


class _Message:
    """A message that is being received. Its room grows with the received bytes: announced bytes take none.

    has_ended: what follows does not belong to it.
    """

    has_ended = False

    def __init__(self, admit: Admit, most: int) -> None:
        self._admit = admit
        self._most = most
        self._room = SMALL
        self._bytes = io.BytesIO()  # returns its content without a copy

    async def add(self, piece: bytes) -> None:
        """Take more, when there is room for it. Raises RequestError for too much."""
        size = self._bytes.tell() + len(piece)
        if size > self._most:
            raise _too_large(self._most)
        if size > self._room:
            while size > self._room:
                self._room = min(2 * self._room, self._most)
            await self._admit(self._room)
        self._bytes.write(piece)

    def whole(self) -> bytes:
        """Return the whole message."""
        return self._bytes.getvalue()


class _PackedMessage(_Message):
    """A message that is compressed by zlib, and ends where zlib says so."""

    def __init__(self, admit: Admit, most: int) -> None:
        super().__init__(admit, most)
        self._inflate = zlib.decompressobj()

    async def add(self, piece: bytes) -> None:
        """Take more. Raises RequestError for too much, and for content that cannot be inflated."""
        inflated = b"more"
        while (piece or inflated) and not self.has_ended:
            try:
                inflated = self._inflate.decompress(piece, _STEP)
            except zlib.error:
                raise RequestError(ResponseStatus.MALFORMED, "the compressed content is not zlib") from None
            await super().add(inflated)
            piece, self.has_ended = self._inflate.unconsumed_tail, self._inflate.eof

    def whole(self) -> bytes:
        """Return the whole message. Raises RequestError if the end of the packed content is missing."""
        if not self.has_ended:
            raise RequestError(ResponseStatus.MALFORMED, "the compressed content is incomplete")
        return super().whole()


def _too_large(most: int) -> RequestError:
    return RequestError(ResponseStatus.REFUSED, f"the message has more than {most} bytes")


def _to_learn(request: SpamdRequest, fields: dict[bytes, bytes]) -> SpamdRequest:
    """Return a TELL with its details: the label, and whether to learn or forget the message here.

    `remote` is left out: it means databases that others share.
    """
    is_set, is_removed = (b"local" in _words(fields.get(name, b"")) for name in (b"set", b"remove"))
    if is_set and is_removed:
        raise RequestError(ResponseStatus.MALFORMED, "Set and Remove contradict each other")
    written = fields.get(b"message-class")
    label = {b"spam": Label.SPAM, b"ham": Label.HAM}.get((written or b"").lower())
    if written is not None and label is None:
        raise RequestError(ResponseStatus.MALFORMED, "Message-class is neither spam nor ham")
    if is_set and label is None:
        raise RequestError(ResponseStatus.MALFORMED, "Set needs a Message-class")
    return replace(request, label=label, set_local=is_set, remove_local=is_removed)


def _words(value: bytes) -> set[bytes]:
    return {word.strip().lower() for word in value.split(b",")}


# --- answers --------------------------------------------------------------------------------------------------------


def pong() -> bytes:
    """Return the answer to PING, which has no empty line."""
    return _PONG


def error(status: ResponseStatus, why: str) -> bytes:
    """Return one line, after which the stream is closed."""
    text = f"({why})" if status is ResponseStatus.MALFORMED else why
    return f"SPAMD/1.0 {status}: {text}\r\n".encode("ascii", "replace")


def answer(request: SpamdRequest, told: VerdictReply, body: Pieces = ()) -> Pieces:
    """Return the answer with a verdict, in pieces; the answer to CHECK has no body.

    >>> ask = SpamdRequest(Command.REPORT, (1, 2))
    >>> b"".join(answer(ask, VerdictReply(True, 7.25), [b"why"]))
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


def symbols(request: SpamdRequest, names: Sequence[str]) -> bytes:
    """Return the body of an answer to SYMBOLS, whose line ended before SPAMC/1.3.

    QUIRK: a single name has a comma after it: npm's spamc and spamc-stream only take text before a comma for a name.
    """
    end = b"" if request.version >= _WITH_LENGTHS else b"\r\n"
    return ",".join(names if len(names) > 1 else [*names, ""]).encode("ascii") + end


def learned(request: SpamdRequest, *, is_changed: bool) -> bytes:
    """Return the answer to TELL: what was done, if anything."""
    did = {(True, False): "DidSet: local\r\n", (False, True): "DidRemove: local\r\n"}
    done = did.get((request.set_local, request.remove_local), "") if is_changed else ""
    return f"SPAMD/1.1 0 EX_OK\r\n{done}\r\n".encode("ascii")
