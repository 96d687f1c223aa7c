"""Which message is being read at this moment, so that one that ends the process is met once.

A fault in a library that is written in C ends the process. The service manager starts it again, and the first message
that it reads would be the same one: for a mail host, nobody's mail would be filtered any more. So before a message is
read its name is written into a small file, and taken out of it when the work with it is done. What stands there at a
start was being read when the last process ended.

That need not be the message's doing: `kill -9`, the kernel that is out of memory, or a power cut leave the same. A
process that ends by a fault of its own, or by the watchdog of the service manager since it was stuck, has time to say
so (faulthandler): its message is not read any more. Of any other end the message is only suspected: it is read once
more, and not again where the process ends over it again.

The files are written without waiting for the disk: a power cut may lose them, and has nothing to tell.
"""

import faulthandler
import json
import logging
import os
import re
import threading
from contextlib import suppress
from typing import NamedTuple

from spamnb.base.wording import escaped
from spamnb.ledger.ledger import Ledger

_log = logging.getLogger(__name__)
_READING, _FAULT = ".reading", ".fault"
_SLOT = 4096  # bytes: an account's name and a file's, each byte as six characters
_MOST_SLOTS = 64
_MOST_SAID = 1 << 20  # bytes of what faulthandler writes: a hundred frames of each thread
_THREAD = re.compile(r"^Current thread (0x[0-9a-f]+)", re.MULTILINE)


class Met(NamedTuple):
    """What was being read when a process ended: a file's base name, or "digest:…" of a request, of an account.

    is_cause: it is known to have ended the process.
    """

    account: str
    what: str
    is_cause: bool


class ReadingNow:
    """The messages that are being read, one a thread; may be called in several threads. Does nothing before `open`.

    tells_faults: faults that end this process are written down too; a process has one place for that.
    """

    def __init__(self, *, tells_faults: bool = False) -> None:
        self._tells_faults = tells_faults
        self._file: int | None = None
        self._fault: int | None = None
        self._lock = threading.Lock()
        self._slots: dict[int, int] = {}  # of each thread

    def open(self, stem: str) -> list[Met]:
        """Begin, in files whose paths begin so, which are this process's alone; what was being read by the one before.

        Nothing is written where the files cannot be opened: that is no reason not to filter mail.
        """
        if self._file is not None:
            return []
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._file, self._fault = (os.open(stem + end, flags, 0o600) for end in (_READING, _FAULT))
            met = _met(os.pread(self._file, _SLOT * _MOST_SLOTS, 0), os.pread(self._fault, _MOST_SAID, 0))
            os.ftruncate(self._file, 0)
            os.ftruncate(self._fault, 0)
        except OSError as fault:
            _log.warning("which message is being read is not written down: %s (%s)", fault.strerror, fault.filename)
            self.close()
            return []
        if self._tells_faults:
            faulthandler.enable(self._fault)
        return met

    def begin(self, account: str, what: str) -> None:
        """This thread begins to read something, and has ended to read what it read before."""
        if self._file is not None:
            thread = threading.get_ident()
            text = json.dumps([f"{thread:#018x}", account, what])
            self._write(thread, text.encode())

    def end(self) -> None:
        """This thread has ended to read."""
        if self._file is not None:
            self._write(threading.get_ident(), b"")

    def _write(self, thread: int, content: bytes) -> None:
        with self._lock:
            slot = self._slots.setdefault(thread, len(self._slots))
        if self._file is not None and slot < _MOST_SLOTS:
            with suppress(OSError):  # a full disk
                os.pwrite(self._file, content[: _SLOT - 1] + b"\0", slot * _SLOT)

    def close(self) -> None:
        """End, in order."""
        if self._fault is not None and self._tells_faults:
            faulthandler.disable()
        for descriptor in (self._file, self._fault):
            if descriptor is not None:
                os.close(descriptor)
        self._file = self._fault = None


def _met(content: bytes, fault: bytes) -> list[Met]:
    """What stood in the files of a process that has ended."""
    found = []
    said = fault.decode(errors="replace")
    ended_in = int(thread[1], 16) if (thread := _THREAD.search(said)) else None
    if said:
        _log.error("the process before this one has ended by a fault: %s", escaped(said.partition("\n")[0]))
    for start in range(0, len(content), _SLOT):
        with suppress(ValueError, RecursionError):  # nothing of ours
            match json.loads(content[start : start + _SLOT].partition(b"\0")[0]):
                case [str(reader), str(account), str(what)]:
                    is_cause = int(reader, 16) == ended_in
                    found.append(Met(account, what, is_cause))
    return found


def remember(ledger: Ledger, met: list[Met]) -> None:
    """Write into the ledger of an account what was being read when a process ended: it is skipped, or suspected."""
    state = ledger.state
    with ledger.transaction():
        for _, what, is_cause in met:
            if is_cause or what in state.suspected:
                state.suspected = tuple(one for one in state.suspected if one != what)
                state.skipped = tuple(dict.fromkeys((*state.skipped, what)))
                _log.error("%s is not read any more: the service has ended over it", escaped(what))
            else:
                state.suspected = (*state.suspected, what)
                _log.warning("the service has ended while it read %s, which is read once more", escaped(what))
