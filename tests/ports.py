"""Ports of this machine for servers that need a number before they start."""

import contextlib
import socket
from collections.abc import Iterator


@contextlib.contextmanager
def held_port() -> Iterator[int]:
    """A port of 127.0.0.1 that the kernel chooses, held for a server that the caller starts.

    A socket of this process is bound to the port and does not listen, so Linux refuses connections until the server
    listens. While the socket is open, Linux gives the port to no socket that asks for any port, and to no outgoing
    connection. A second socket may bind to this number if both have SO_REUSEADDR. Servers set it, so that they can
    start again at once.
    """
    with socket.socket() as holding:
        holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holding.bind(("127.0.0.1", 0))
        yield int(holding.getsockname()[1])
