"""Sockets to listen on: those that the service manager hands over, and what a killed process has left behind."""

import os
import socket
import stat
from collections.abc import Mapping

from spamnb.base.errors import SpamnbError

_FIRST_HANDED = 3  # SD_LISTEN_FDS_START (sd_listen_fds(3))
_PROBE_SECONDS = 1.0


def inherited(environ: Mapping[str, str], *, example: str) -> list[socket.socket]:
    """The sockets that the service manager hands over to this process (sd_listen_fds(3)).

    Each is a listening stream: a Unix socket, or a port of a loopback address. Raises SpamnbError for any other.
    example: an address to be told then.
    """
    number = environ.get("LISTEN_FDS", "")
    if environ.get("LISTEN_PID") != str(os.getpid()) or not number.isdigit():
        return []
    handed = [socket.socket(fileno=_FIRST_HANDED + each) for each in range(int(number))]
    for one in handed:
        one.set_inheritable(False)
        _check(one, example)
    return handed


def _check(handed: socket.socket, example: str) -> None:
    address = address_of(handed)
    if handed.type != socket.SOCK_STREAM or not handed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        raise SpamnbError(f"{address} from systemd is no listening stream: write ListenStream=, and not Accept=yes")
    if handed.family == socket.AF_UNIX:
        return
    if handed.family not in (socket.AF_INET, socket.AF_INET6) or not is_loopback(str(handed.getsockname()[0])):
        raise SpamnbError(f"{address} from systemd can be reached from outside: write ListenStream={example}")


def address_of(listener: socket.socket) -> str:
    """Where a socket listens: the path of a Unix socket, or `host:port`."""
    name = listener.getsockname()
    return os.fsdecode(name) if listener.family == socket.AF_UNIX else ":".join(map(str, name[:2]))


def is_loopback(host: str) -> bool:
    """Whether an address, in digits, is one of this machine alone (RFC 1122 §3.2.1.3, RFC 4291 §2.5.3)."""
    try:
        return host == "::1" or (socket.inet_aton(host)[0] == 127 and host.count(".") == 3)
    except OSError:
        return False


def remove_stale(path: str) -> None:
    """Remove a socket that a process has left which was killed.

    Raises SpamnbError where a program listens there, or something else lies there, and OSError where that cannot be
    told or the socket not be removed.
    """
    try:
        is_socket = stat.S_ISSOCK(os.lstat(path).st_mode)
    except FileNotFoundError:
        return
    if not is_socket:
        raise SpamnbError(f"cannot listen on {path}: a file is there that is no socket; write another path, or move it")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_SECONDS)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
    raise SpamnbError(f"cannot listen on {path}: another program does; stop that one, or write another path")
