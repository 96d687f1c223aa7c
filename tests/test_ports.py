"""A port that a test holds for a server is that server's alone."""

import errno
import socket
import struct

import pytest

from tests.ports import held_port

_IP_LOCAL_PORT_RANGE = 51  # linux/in.h, since Linux 6.3: from which ports the kernel chooses for this socket


def choosing_from(port: int) -> socket.socket:
    """A socket to which the kernel can give no port but this one."""
    made = socket.socket()
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.IPPROTO_IP, _IP_LOCAL_PORT_RANGE, struct.pack("=I", port << 16 | port))
    except OSError:
        made.close()
        pytest.skip("this kernel cannot be told which ports to choose from (Linux 6.3)")
    return made


def test_a_server_takes_it() -> None:
    """A server listens on the given port, twice in a row; before it does, a connection is refused."""
    with held_port() as port:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        for _ in range(2):
            with socket.create_server(("127.0.0.1", port)) as server:
                client = socket.create_connection(("127.0.0.1", port))
                accepted, _ = server.accept()
                accepted.close()
                client.close()


@pytest.mark.parametrize("listens", [False, True])
def test_nobody_else_gets_it(listens: bool) -> None:
    """The kernel chooses it for nobody: not for a socket that asks for any port, not for an outgoing connection."""
    with held_port() as port, socket.create_server(("127.0.0.1", 0)) as other:
        server = socket.create_server(("127.0.0.1", port)) if listens else socket.socket()
        with server, choosing_from(port) as binding, choosing_from(port) as connecting:
            with pytest.raises(OSError) as bound:
                binding.bind(("127.0.0.1", 0))
            with pytest.raises(OSError) as connected:
                connecting.connect(other.getsockname())
    assert (bound.value.errno, connected.value.errno) == (errno.EADDRINUSE, errno.EADDRNOTAVAIL)
