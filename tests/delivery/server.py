"""A server with chosen answers, to test a client of the spamd protocol."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from spamnb.delivery.annotate import annotate
from spamnb.delivery.verdict import NAMES, Delivered, fields
from tests.patience import PATIENCE

Answer = Callable[[bytes], bytes]


class Requests(list[bytes]):
    """The requests, each as it came; `address` is the place of the server."""

    address = ""


def verdict_of(found: Delivered) -> Answer:
    """The answer to HEADERS with a verdict, as the service gives it."""

    def answer(request: bytes) -> bytes:
        message = request.partition(b"\r\n\r\n")[2]
        beginning, replaced = annotate(message, fields(found), NAMES["spamnb"])
        rest = message[replaced:]
        header = beginning + (b"\r\n" if rest.startswith(b"\r\n") else b"\n")
        return granted(header, b"True" if found.verdict == "spam" else b"False")

    return answer


def granted(header: bytes, spam: bytes = b"False", more: int = 0) -> bytes:
    """An answer with a header; `more`: by how much its length is wrong."""
    length = len(header) + more
    return b"SPAMD/1.1 0 EX_OK\r\nContent-length: %d\r\nSpam: %s ; 1.0 / 5.0\r\n\r\n%s" % (length, spam, header)


@contextlib.contextmanager
def serving(answer: Answer | None, where: Path | None = None, early: bytes = b"") -> Iterator[Requests]:
    """Serve at a socket, or over TCP. None: accept, and never answer. early: sent before anything is read."""
    requests = Requests()
    over = threading.Event()
    listening = socket.socket(socket.AF_INET if where is None else socket.AF_UNIX)
    listening.bind(("127.0.0.1", 0) if where is None else str(where))
    listening.listen()
    listening.settimeout(0.02)
    requests.address = f"127.0.0.1:{listening.getsockname()[1]}" if where is None else str(where)

    def serve() -> None:
        while not over.is_set():
            try:
                connection, _ = listening.accept()
            except TimeoutError:
                continue
            with connection, contextlib.suppress(OSError):
                connection.settimeout(PATIENCE)
                if early:
                    connection.sendall(early)
                    continue
                with connection.makefile("rb") as request:
                    requests.append(request.read())
                if answer is None:
                    over.wait(PATIENCE)
                else:
                    connection.sendall(answer(requests[-1]))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield requests
    finally:
        over.set()
        thread.join()
        listening.close()
