"""Sockets to listen on: made here, or passed on by systemd, which can open what this process may not."""

import contextlib
import errno
import os
import socket
import stat
from collections.abc import Mapping
from dataclasses import dataclass

from spamnb.base.errors import SpamnbError


class TakenError(SpamnbError):
    """Another program listens there."""


_FIRST_HANDED = 3  # SD_LISTEN_FDS_START (sd_listen_fds(3))
_PROBE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Listener:
    """A listening socket that does not block. address: the path of a Unix socket, or `host:port`.

    mode: of a Unix socket's file, when it was made or found. is_ours: made here, so we may remove its file.
    """

    socket: socket.socket
    address: str
    is_unix: bool
    mode: int = 0
    is_ours: bool = False

    @property
    def path(self) -> str | None:
        """Return the path of a Unix socket; None for any other socket."""
        return self.address if self.is_unix else None

    @property
    def port(self) -> int | None:
        """Return the port of an address; None for a Unix socket."""
        return None if self.is_unix else int(self.address.rpartition(":")[2])

    def close(self) -> None:
        """Stop listening."""
        if self.is_unix and self.is_ours:
            with contextlib.suppress(OSError):
                os.unlink(self.address)
        self.socket.close()


def open_listener(address: str, *, mode: int = 0o600, backlog: int, hints: Mapping[int, str]) -> Listener:
    """Listen on a path or on `host:port`. Raises SpamnbError if this is not possible, TakenError if a program does.

    mode: of a Unix socket's file. hints: what to do after a fault, by its errno; 0: after any other fault.
    """
    is_unix = address.startswith("/")
    host, _, port = address.rpartition(":")
    family = socket.AF_UNIX if is_unix else socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            if is_unix:
                _remove_stale(address)
                made.bind(address)
                os.chmod(address, mode)  # nobody can connect before the call of `listen`
            else:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                made.bind((host, int(port)))
            made.listen(backlog)
            made.setblocking(False)
        except BaseException:
            made.close()
            raise
    except OSError as fault:
        step = hints.get(fault.errno or 0, hints[0])
        kind = TakenError if fault.errno == errno.EADDRINUSE else SpamnbError
        raise kind(f"cannot listen on {address}: {fault.strerror or fault}; {step}") from fault
    return Listener(made, address if is_unix else _address_of(made), is_unix, mode, is_ours=True)


def inherited(environ: Mapping[str, str], *, example: str) -> list[Listener]:
    """Return the sockets that the service manager passes to this process (sd_listen_fds(3)).

    Each is a listening stream: a Unix socket, or a port of a loopback address. Raises SpamnbError for any other.
    example: an address to name in that error.
    """
    number = environ.get("LISTEN_FDS", "")
    if environ.get("LISTEN_PID") != str(os.getpid()) or not number.isdigit():
        return []
    return [_taken_over(_FIRST_HANDED + each, example) for each in range(int(number))]


def _taken_over(descriptor: int, example: str) -> Listener:
    handed = socket.socket(fileno=descriptor)
    handed.set_inheritable(False)
    handed.setblocking(False)
    address, is_unix = _address_of(handed), handed.family == socket.AF_UNIX
    if handed.type != socket.SOCK_STREAM or not handed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        raise SpamnbError(f"{address} from systemd is not a listening stream: write ListenStream=, and not Accept=yes")
    if is_unix:
        return Listener(handed, address, is_unix, _mode_of(address))
    if handed.family not in (socket.AF_INET, socket.AF_INET6) or not is_loopback(str(handed.getsockname()[0])):
        raise SpamnbError(f"{address} from systemd can be reached from outside: write ListenStream={example}")
    return Listener(handed, address, is_unix)


def _address_of(listener: socket.socket) -> str:
    name = listener.getsockname()
    return os.fsdecode(name) if listener.family == socket.AF_UNIX else ":".join(map(str, name[:2]))


def _mode_of(path: str) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except (OSError, ValueError):
        return 0o666  # unknown: treated as if anybody could connect


def is_loopback(host: str) -> bool:
    """Tell whether an address, in digits, belongs to this machine alone (RFC 1122 §3.2.1.3, RFC 4291 §2.5.3)."""
    try:
        return host == "::1" or (socket.inet_aton(host)[0] == 127 and host.count(".") == 3)
    except OSError:
        return False


def _remove_stale(path: str) -> None:
    """Remove a socket that a killed process has left.

    Raises TakenError if a program listens there, SpamnbError if the path is not a socket. Raises OSError if this cannot
    be checked or the socket cannot be removed.
    """
    try:
        is_socket = stat.S_ISSOCK(os.lstat(path).st_mode)
    except FileNotFoundError:
        return
    if not is_socket:
        raise SpamnbError(f"cannot listen on {path}: the path is not a socket; write another path, or move that")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_SECONDS)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
    raise TakenError(f"cannot listen on {path}: another program does; stop that one, or write another path")
