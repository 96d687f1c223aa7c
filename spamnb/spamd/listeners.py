"""The sockets that the service answers on: from the configuration, and from systemd."""

import errno
import os
from collections.abc import Iterable, Sequence
from enum import Enum, auto

from spamnb.base.sockets import Listener, TakenError, open_listener
from spamnb.config import Spamd

EXAMPLE = "127.0.0.1:783"
_BACKLOG = 512
_PATH_HINTS = {
    0: "write a path in a directory that the service may write to",
    errno.ENOENT: "make its directory",
    errno.EROFS: "write a path that the unit may write to, or let systemd open it (spamnb.socket)",
}
_PORT_HINTS = {
    0: "a unit without a network cannot: let systemd open it (spamnb.socket)",
    errno.EACCES: "ports below 1024 need root: let systemd open it (spamnb.socket)",
    errno.EADDRINUSE: "stop the program that uses it (spamd?), or write another port",
}


class Turn(Enum):
    """Whether a service tries to listen: alone, or the first of several of a host, which waits for the one that does.

    Later ones do not try: two that find the same stale socket would remove each other's.
    """

    ALONE = auto()
    FIRST = auto()
    LATER = auto()


class Listeners:
    """The sockets of a configuration, and those from systemd, which stay open over a reload.

    waiting: the addresses on which another service of the same host listens.
    """

    def __init__(self, handed: Sequence[Listener]) -> None:
        self._handed = list(handed)
        self._made: dict[str, Listener] = {}
        self.waiting: list[str] = []

    def open(self, spamd: Spamd, turn: Turn = Turn.ALONE) -> list[Listener]:
        """Open the configured sockets that are not open yet. Returns all sockets to serve.

        Raises SpamnbError if one cannot be opened; then nothing has changed.
        """
        taken = {listener.address for listener in self._handed}
        wanted = [address for address in dict.fromkeys(spamd.listen) if address not in taken]
        new: dict[str, Listener] = {}
        waiting = []
        try:
            for address in wanted:
                if address not in self._made and turn is Turn.LATER:
                    waiting.append(address)
                elif address not in self._made:
                    hints = _PATH_HINTS if address.startswith("/") else _PORT_HINTS
                    try:
                        new[address] = open_listener(address, backlog=_BACKLOG, hints=hints)
                    except TakenError:
                        if turn is Turn.ALONE:
                            raise
                        waiting.append(address)
        except BaseException:
            _close(new.values())
            raise
        self._made |= new
        self.waiting = waiting
        wanted = [address for address in wanted if address not in waiting]
        for address in wanted:
            if self._made[address].is_unix:  # if spamd.peers names users, their numbers decide, not the mode
                os.chmod(address, 0o666 if spamd.peers else 0o600)
        return [*self._handed, *(self._made[address] for address in wanted)]

    def keep(self, listeners: Sequence[Listener]) -> None:
        """Close the sockets that are not among these."""
        _close(self._made.pop(address) for address, made in [*self._made.items()] if made not in listeners)

    def close(self) -> None:
        """Close all sockets, and remove the socket files made here."""
        _close([*self._made.values(), *self._handed])
        self._made.clear()


def _close(listeners: Iterable[Listener]) -> None:
    for listener in listeners:
        listener.close()
