"""Who is at the other end of a socket, and whether they may ask."""

import os
import pwd
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from spamnb.base.errors import SpamnbError
from spamnb.base.sockets import Listener

_CREDENTIALS = struct.Struct("@iII")  # struct ucred: pid, uid, gid
_OVERFLOW_ID = "/proc/sys/kernel/overflowuid"


@dataclass(frozen=True, slots=True)
class Peer:
    """Who asks. uid: the user of a process on this host; None over TCP, where it is unknown.

    is_owner_or_root: the socket's mode lets nobody else connect.
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

        QUIRK: in a user name space (PrivateUsers= of the user's unit) every user who is not mapped into it reads as the
        overflow id, root too (user_namespaces(7)). If the socket's mode lets in only its owner and root, this peer is
        root.
        """
        if peer.uid is None or peer.uid in self.users:
            return True
        return peer.uid == self.overflow and peer.is_owner_or_root


def allowed(peers: Sequence[str]) -> Allowed:
    """Return those users, and this process's own user and root. Raises SpamnbError for a name that no user has."""
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
    """Return who has connected (unix(7), SO_PEERCRED)."""
    if not listener.is_unix:
        return Peer(None)
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return Peer(_CREDENTIALS.unpack(raw)[1], _is_private(listener.address))


def _is_private(path: str) -> bool:
    try:
        file = os.stat(path)
    except (OSError, ValueError):  # ValueError: the name of an abstract socket, which anyone can use
        return False
    return not file.st_mode & 0o077 and file.st_uid == os.geteuid()
