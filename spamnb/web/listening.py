"""The sockets of the pages: handed over by the service manager, a Unix socket, or a port of this machine's own.

Nothing else: what others can reach is served by a proxy, which asks by a Unix socket.
"""

import contextlib
import errno
import os
import socket
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spamnb.base.errors import SpamnbError, UsageError
from spamnb.base.sockets import address_of, inherited, is_loopback, remove_stale

PORT = 7726  # SPAM on the keys of a telephone
DEFAULT = f"127.0.0.1:{PORT}"
_BACKLOG = 64
_LISTEN = "0A"  # TCP_LISTEN in /proc/net/tcp
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


@dataclass(frozen=True, slots=True)
class Listener:
    """A socket that is listened on. port: of a loopback address; path: of a Unix socket; one of them is None.

    mode: of a Unix socket's file. is_made: by us, so that it is ours to remove.
    """

    socket: socket.socket
    port: int | None
    path: str | None
    mode: int = 0
    is_made: bool = False

    def close(self) -> None:
        """Listen no more."""
        if self.path is not None and self.is_made:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
        self.socket.close()


def handed_over(environ: Mapping[str, str]) -> list[Listener]:
    """The sockets that the service manager hands over. Raises SpamnbError for one that is not served."""
    return [_taken_over(handed) for handed in inherited(environ, example=DEFAULT)]


def _taken_over(handed: socket.socket) -> Listener:
    if handed.family != socket.AF_UNIX:
        return Listener(handed, int(handed.getsockname()[1]), None)
    path = address_of(handed)
    if not path or path.startswith("\0"):
        raise SpamnbError("the socket from systemd has no file: write ListenStream=/run/…")
    return Listener(handed, None, path, _mode_of(path))


def open_listener(address: str, *, behind_proxy: bool) -> Listener:
    """Listen on a path, or on an address as `127.0.0.1:7726`. Raises SpamnbError where that is not to be had.

    behind_proxy: the group of the Unix socket's file may connect.
    """
    if address.startswith("/"):
        return _open_path(address, 0o660 if behind_proxy else 0o600)
    if behind_proxy:
        raise UsageError(f"--behind-proxy needs a Unix socket: --listen /run/…, not {address}")
    return _open_port(*_parsed(address))


def _parsed(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not port.isascii() or not port.isdigit() or not 0 <= int(port) < 65_536 or not host:
        raise UsageError(f"{address!r} is no address: write {DEFAULT}, or the full path of a Unix socket")
    host = "127.0.0.1" if host == "localhost" else host
    if not is_loopback(host):
        raise UsageError(
            f"{address} can be reached from outside, and these pages show mail: write {DEFAULT}, or let a proxy with a"
            " login ask by a Unix socket (--listen /run/… --behind-proxy)"
        )
    return host, int(port)


def _open_port(host: str, port: int) -> Listener:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(_BACKLOG)
    except OSError as fault:
        made.close()
        if fault.errno == errno.EADDRINUSE:
            raise SpamnbError(
                f"another program listens on {host}:{port}: stop that one, or choose another port"
                f" (--listen 127.0.0.1:{port + 1})"
            ) from fault
        raise SpamnbError(
            f"cannot listen on {host}:{port}: {fault.strerror}; choose another port (--listen)"
        ) from fault
    return Listener(made, int(made.getsockname()[1]), None)


def _open_path(path: str, mode: int) -> Listener:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        remove_stale(path)
        made.bind(path)
        os.chmod(path, mode)  # nobody can connect before it is listened on
        made.listen(_BACKLOG)
    except OSError as fault:
        made.close()
        raise SpamnbError(
            f"cannot listen on {path}: {fault.strerror or fault}; write a path in a directory that you may write to"
        ) from fault
    except BaseException:
        made.close()
        raise
    return Listener(made, None, path, mode, is_made=True)


def _mode_of(path: str) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return 0o666  # it cannot be told: as if anybody could connect


def is_private(listener: Listener) -> bool:
    """Whether nobody but its owner and root can connect to a Unix socket."""
    return not listener.mode & 0o077


def check_modes(listeners: Sequence[Listener]) -> None:
    """Raise SpamnbError for a Unix socket to which every user of the machine can connect: there is no login."""
    for one in listeners:
        if one.path is not None and one.mode & 0o007:
            raise SpamnbError(f"every user of this machine can connect to {one.path}: write SocketMode=0660")


def is_held_by(port: int, users: frozenset[int]) -> bool:
    """Whether those who listen on a port of this machine are all among these users, by their numbers (proc(5))."""
    found = set()
    for table in _TABLES:
        with contextlib.suppress(OSError), open(table, encoding="ascii") as file:
            for line in file.readlines()[1:]:
                _, local, _, state, _, _, _, user, *_ = line.split()
                if state == _LISTEN and int(local.rpartition(":")[2], 16) == port:
                    found.add(int(user))
    return bool(found) and found <= users
