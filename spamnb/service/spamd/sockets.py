"""The sockets that the service answers on, and who is at the other end.

A socket in the file system is made here, or handed over by systemd (sd_listen_fds(3)), which can also open a port that
a service without a network and without root could not.
"""

import contextlib
import errno
import os
import pwd
import socket
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from spamnb.base.errors import SpamnbError
from spamnb.base.sockets import address_of, inherited, remove_stale
from spamnb.config import Spamd

_BACKLOG = 512
_CREDENTIALS = struct.Struct("@iII")  # struct ucred: pid, uid, gid
_OVERFLOW_ID = "/proc/sys/kernel/overflowuid"


@dataclass(frozen=True, slots=True)
class Listener:
    """A socket that is listened on. address: as the configuration writes it, or as the kernel names it."""

    socket: socket.socket
    address: str
    is_unix: bool


@dataclass(frozen=True, slots=True)
class Peer:
    """Who asks. uid: of a process on this host; None over TCP, where that is not known.

    is_owner_or_root: nobody else could have connected, by the socket's mode.
    """

    uid: int | None
    is_owner_or_root: bool = False


@dataclass(frozen=True, slots=True)
class Allowed:
    """The users that may ask: this process's own, root, and the configured ones, by number."""

    users: frozenset[int]
    overflow: int

    def includes(self, peer: Peer) -> bool:
        """Whether that peer may ask. Over TCP every process of this host may.

        QUIRK: in a user name space (PrivateUsers= of the user's unit) whoever is not mapped into it reads as the
        overflow id, root too (user_namespaces(7)). Where the socket's mode lets in only its owner and root, it is root.
        """
        if peer.uid is None or peer.uid in self.users:
            return True
        return peer.uid == self.overflow and peer.is_owner_or_root


def allowed(peers: Sequence[str]) -> Allowed:
    """Those and this process's own user and root. Raises SpamnbError for a name that no user has."""
    return Allowed(frozenset({os.geteuid(), 0, *map(_uid, peers)}), _overflow_id())


def _uid(name: str) -> int:
    if name.isdigit():
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise SpamnbError(f"spamd.peers: there is no user {name!r} on this host; correct the name") from None


def _overflow_id() -> int:
    try:
        with open(_OVERFLOW_ID, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 65534


def peer_of(connection: socket.socket, listener: Listener) -> Peer:
    """Who has connected (unix(7), SO_PEERCRED)."""
    if not listener.is_unix:
        return Peer(None)
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return Peer(_CREDENTIALS.unpack(raw)[1], _is_private(listener.address))


def _is_private(path: str) -> bool:
    try:
        found = os.stat(path)
    except OSError:
        return False
    return not found.st_mode & 0o077 and found.st_uid == os.geteuid()


def handed_over(environ: Mapping[str, str]) -> list[Listener]:
    """The sockets that the service manager hands over. Raises SpamnbError for one that cannot be served."""
    handed = inherited(environ, example="127.0.0.1:783")
    for one in handed:
        one.setblocking(False)
    return [Listener(one, address_of(one), one.family == socket.AF_UNIX) for one in handed]


class Listeners:
    """The sockets of a configuration, and those that were handed over, which stay open over a reload."""

    def __init__(self, handed: Sequence[Listener]) -> None:
        self._handed = list(handed)
        self._made: dict[str, Listener] = {}

    def open(self, spamd: Spamd) -> list[Listener]:
        """Open what is configured and not open yet; all that are to be served.

        Raises SpamnbError where one cannot be opened; then nothing has changed.
        """
        taken = {one.address for one in self._handed}
        wanted = [address for address in spamd.listen if address not in taken]
        new: dict[str, Listener] = {}
        try:
            for address in wanted:
                if address not in self._made and address not in new:
                    new[address] = _open(address)
        except BaseException:
            _close(new.values())
            raise
        self._made |= new
        for address in wanted:
            if self._made[address].is_unix:  # with peers to be let in, their numbers are looked at, not the mode
                os.chmod(address, 0o666 if spamd.peers else 0o600)
        return [*self._handed, *(self._made[address] for address in dict.fromkeys(wanted))]

    def keep(self, listeners: Sequence[Listener]) -> None:
        """Close those that are not among these."""
        _close(self._made.pop(address) for address, one in [*self._made.items()] if one not in listeners)

    def close(self) -> None:
        """Close all of them, and remove those that were made here."""
        _close(self._made.values())
        self._made.clear()
        for listener in self._handed:
            listener.socket.close()


def _close(listeners: Iterable[Listener]) -> None:
    for listener in listeners:
        if listener.is_unix:
            with contextlib.suppress(OSError):
                os.unlink(listener.address)
        listener.socket.close()


def _open(address: str) -> Listener:
    is_unix = address.startswith("/")
    try:
        made = socket.socket(socket.AF_UNIX if is_unix else socket.AF_INET, socket.SOCK_STREAM)
    except OSError as fault:
        raise _cannot(address, fault) from fault
    try:
        if is_unix:
            remove_stale(address)
            made.bind(address)
            os.chmod(address, 0o600)  # nobody can connect before it is listened on
        else:
            host, _, port = address.rpartition(":")
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((host, int(port)))
        made.listen(_BACKLOG)
        made.setblocking(False)
    except OSError as fault:
        made.close()
        raise _cannot(address, fault) from fault
    except BaseException:
        made.close()
        raise
    return Listener(made, address, is_unix)


def _cannot(address: str, fault: OSError) -> SpamnbError:
    steps = {
        errno.EADDRINUSE: "stop the program that uses it (spamd?), or write another port",
        errno.ENOENT: "make its directory",
        errno.EROFS: "write a path that the unit may write to, or let systemd open it (spamnb.socket)",
    }
    if address.startswith("/"):
        step = steps.get(fault.errno or 0, "write a path in a directory that the service may write to")
    elif fault.errno in (errno.EACCES, errno.EADDRINUSE):
        step = steps.get(fault.errno, "ports below 1024 need root: let systemd open it (spamnb.socket)")
    else:
        step = "a unit without a network cannot: let systemd open it (spamnb.socket)"
    return SpamnbError(f"cannot listen on {address}: {fault.strerror}; {step}")
