"""Which process carries out an intent: a lock that the process holds as long as it lives.

Each process locks one byte of the ledger's directory, at an offset drawn at random, and its intents carry that offset.
The kernel drops the lock when the process ends, in whatever way, so an intent whose byte is not locked was left open by
a crash. A process number with its start time was rejected: in another container, or under `hidepid`, the number says
nothing. The lock belongs to an open file description (fcntl(2), F_OFD_SETLK), so that closing another descriptor of
the directory does not drop it, and it does not collide with the flock(2) of `place`. Nothing is written to the disk.
"""

import contextlib
import fcntl
import os
import secrets
import struct

_FLOCK = "@hhqqi0q"  # struct flock: l_type, l_whence, l_start, l_len, l_pid
_OFFSETS = 2**62


class Owner:
    """This process as the owner of intents."""

    def __init__(self, ledger: str) -> None:
        self._directory = os.path.dirname(os.path.abspath(ledger))
        self._descriptor = -1
        self._name: str | None = None

    def name(self) -> str | None:
        """What the intents of this process carry; None where the file system has no such locks."""
        if self._name is None and self._is_open():
            offset = secrets.randbelow(_OFFSETS)
            with contextlib.suppress(OSError):
                self._lock(fcntl.F_OFD_SETLK, fcntl.F_RDLCK, offset)  # a directory cannot be opened for writing
                self._name = str(offset)
        return self._name

    def is_another(self, name: str | None) -> bool:
        """Whether the owner of that name is another process, and lives."""
        if name is None or name == self._name or not self._is_open():
            return False
        try:
            return self._lock(fcntl.F_OFD_GETLK, fcntl.F_WRLCK, int(name)) != fcntl.F_UNLCK
        except (OSError, ValueError, OverflowError, struct.error):
            return False

    def close(self) -> None:
        """Own nothing any more: what is open by now counts as left open."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._name = -1, None

    def _is_open(self) -> bool:
        if self._descriptor < 0:
            with contextlib.suppress(OSError):
                self._descriptor = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return self._descriptor >= 0

    def _lock(self, command: int, kind: int, offset: int) -> int:
        answer = fcntl.fcntl(self._descriptor, command, struct.pack(_FLOCK, kind, os.SEEK_SET, offset, 1, 0))
        return int(struct.unpack(_FLOCK, answer)[0])
