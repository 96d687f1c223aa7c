"""Ask the running service for a verdict, by the spamd protocol (SpamAssassin, spamd/PROTOCOL).

The request is HEADERS, since its answer holds only the header: the service's `X-Spamnb` field has the whole verdict.
The message is sent without the fields that anybody could have written, so that none of them can be the answer.
"""

import re
import socket
import time
from collections.abc import Iterable, Sequence

from spamnb.base.errors import SpamnbError
from spamnb.delivery.verdict import FIELD, Delivered, read_verdict

_SECONDS = 4.0  # for all addresses: Pigeonhole gives a filter ten seconds in all, and judging here takes one second
_LONGEST_LINE = 1000  # bytes per line of the answer's own header
_MOST_LINES = 20
_MOST_ADDED = 8192  # bytes that the service may add to the header
_PIECE = 1 << 16
_GRANTED = re.compile(rb"SPAMD/\d\.\d 0 ")
_TOLD = re.compile(rb"^%s:([^\n]*)$" % FIELD.encode(), re.MULTILINE | re.IGNORECASE)


class AnswerError(SpamnbError):
    """The service gives no verdict; perhaps the program that answers there is not spamnb."""


def ask(
    addresses: Iterable[str],
    message: Sequence[bytes | memoryview],
    header_bytes: int,
    user: str,
    seconds: float = _SECONDS,
) -> Delivered | None:
    """Return the verdict of the first address that gives one, or None. An address is a socket's path or HOST:PORT.

    `message` is given in pieces; `header_bytes` is the length of its header.
    """
    end = time.monotonic() + seconds
    for address in addresses:
        try:
            return _ask(address, message, header_bytes, user, end)
        except (OSError, AnswerError):
            continue
    return None


def _ask(address: str, message: Sequence[bytes | memoryview], header_bytes: int, user: str, end: float) -> Delivered:
    length = sum(map(len, message))
    request = f"HEADERS SPAMC/1.5\r\nUser: {user}\r\nContent-length: {length}\r\n\r\n".encode()
    with _connected(address, end) as connection:
        try:
            for piece in (request, *message):
                connection.settimeout(_left(end))
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a service may refuse before it has read everything
        return _verdict(_received(connection, header_bytes + _MOST_ADDED + _MOST_LINES * _LONGEST_LINE, end))


def _connected(address: str, end: float) -> socket.socket:
    if not address.startswith("/"):
        host, _, port = address.rpartition(":")
        return socket.create_connection((host, int(port)), _left(end))
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(_left(end))
        connection.connect(address)
    except BaseException:
        connection.close()
        raise
    return connection


def _received(connection: socket.socket, most: int, end: float) -> bytes:
    """Return the whole answer. Raises AnswerError if it is too long."""
    answer = bytearray()
    while True:
        connection.settimeout(_left(end))
        piece = connection.recv(_PIECE)
        if not piece:
            return bytes(answer)
        answer += piece
        if len(answer) > most:
            raise AnswerError("the answer is longer than the header that was sent")


def _verdict(answer: bytes) -> Delivered:
    """Return the verdict in an answer to HEADERS. Raises AnswerError for any other answer, or a part of one."""
    head, end, header = answer.partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    if not (end and _GRANTED.match(status)):
        raise AnswerError(f"the service gives no answer to HEADERS: {status[:100]!r}")
    lengths = [line.partition(b":")[2].strip() for line in lines if line.lower().startswith(b"content-length:")]
    if lengths != [str(len(header)).encode()]:
        raise AnswerError("the answer is incomplete")
    values = [field[1].decode("ascii", "replace").strip() for field in _TOLD.finditer(header)]
    verdict = read_verdict(values[0]) if len(values) == 1 else None
    if verdict is None:
        raise AnswerError("the answer has no verdict")
    return verdict


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("the service takes too long")
    return left
