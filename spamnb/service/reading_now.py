"""Which message is being read at this moment, so that a message ends the process at most once or twice.

A fault in a library written in C ends the process. The service manager restarts it, and it would read the same message
first: on a mail host, this would stop the filter for everyone. So the service writes a message's name into a small file
before reading it, and removes the name when its work is done. A name that is there at a start was being read when the
last process ended.

The message may be innocent: `kill -9`, a lack of memory or a power cut leaves the same trace. But a process that ends
by its own fault, or by the service manager's watchdog because it was stuck, has time to say so (faulthandler). Its
message is not read again. After any other end the message is only suspected: it is read a second time, and no more if
the process ends over it again.

The files are written without waiting for the disk: a power cut may lose them, but then they prove nothing.
"""

import faulthandler
import json
import logging
import os
import re
import threading
from contextlib import suppress
from typing import NamedTuple

from spamnb.acts.skipped import clear
from spamnb.base.wording import escaped
from spamnb.ledger.ledger import Ledger

_log = logging.getLogger(__name__)
_READING, _FAULT = ".reading", ".fault"
_SLOT = 4096  # bytes: an account's name and a file's, each byte as six characters
_MOST_SLOTS = 64
_MOST_SAID = 1 << 20  # bytes of faulthandler's output: a hundred frames per thread
_THREAD = re.compile(r"^Current thread (0x[0-9a-f]+)", re.MULTILINE)


class Interrupted(NamedTuple):
    """The last thing that an account read before a process ended: a file's base name, or "digest:…" of a request.

    is_cause: it is known to have ended the process.
    """

    account: str
    what: str
    is_cause: bool


class ReadingNow:
    """The messages that are being read, one per thread; safe in several threads. It does nothing before `open`.

    left: what the last process was reading, by account, until its ledger remembers that.
    tells_faults: also write down faults that end this process; a process has one place for them.
    """

    def __init__(self, *, tells_faults: bool = False) -> None:
        self.left: dict[str, list[Interrupted]] = {}
        self._tells_faults = tells_faults
        self._file: int | None = None
        self._fault: int | None = None
        self._lock = threading.Lock()
        self._slots: dict[int, int] = {}  # by thread

    def open(self, stem: str) -> None:
        """Begin, in this process's own files with that path prefix; find out what the last process was reading.

        If the files cannot be opened, it writes nothing: this must not stop the filter.
        """
        if self._file is not None:
            return
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._file, self._fault = (os.open(stem + end, flags, 0o600) for end in (_READING, _FAULT))
            interrupted = _interrupted(
                os.pread(self._file, _SLOT * _MOST_SLOTS, 0), os.pread(self._fault, _MOST_SAID, 0)
            )
            os.ftruncate(self._file, 0)
            os.ftruncate(self._fault, 0)
        except OSError as fault:
            _log.warning("cannot record which message is being read: %s (%s)", fault.strerror, fault.filename)
            self.close()
            return
        if self._tells_faults:
            faulthandler.enable(self._fault)
        for each in interrupted:
            self.left.setdefault(each.account, []).append(each)

    def begin(self, account: str, what: str) -> None:
        """Note that this thread begins to read something, and has finished its last reading."""
        if self._file is not None:
            thread = threading.get_ident()
            text = json.dumps([f"{thread:#018x}", account, what])
            self._write(thread, text.encode())

    def end(self) -> None:
        """Note that this thread has finished reading."""
        if self._file is not None:
            self._write(threading.get_ident(), b"")

    def _write(self, thread: int, content: bytes) -> None:
        with self._lock:
            slot = self._slots.setdefault(thread, len(self._slots))
        if self._file is not None and slot < _MOST_SLOTS:
            with suppress(OSError):  # a full disk
                os.pwrite(self._file, content[: _SLOT - 1] + b"\0", slot * _SLOT)

    def close(self) -> None:
        """End in order."""
        if self._fault is not None and self._tells_faults:
            faulthandler.disable()
        for descriptor in (self._file, self._fault):
            if descriptor is not None:
                os.close(descriptor)
        self._file = self._fault = None


class AccountsReading:
    """The files that one account reads. It skips those over which the service has crashed.

    user: the account's name.
    """

    def __init__(self, reading: ReadingNow, ledger: Ledger, user: str) -> None:
        self._reading = reading
        self._ledger = ledger
        self._user = user
        self._skipped: set[str] = set()
        self._suspected: set[str] = set()
        self._cleared: set[str] = set()  # suspected ones that are being read a second time

    def load_skipped(self) -> None:
        """Load the skipped messages again: a command may have let some be read again."""
        self._skipped, self._suspected = set(self._ledger.state.skipped), set(self._ledger.state.suspected)

    def begin(self, base: str) -> bool:
        """Note that a file of that base name is about to be read. Returns False if it is to be skipped."""
        if base in self._skipped:
            return False
        self._reading.begin(self._user, base)
        if base in self._suspected:
            self._cleared.add(base)
        return True

    def end(self, *, is_done: bool) -> None:
        """Note that the work with this message has ended. is_done: it has ended well."""
        self._reading.end()
        if self._cleared and is_done:
            self._suspected -= self._cleared
            clear(self._ledger, *self._cleared)
        self._cleared.clear()


def _interrupted(content: bytes, fault: bytes) -> list[Interrupted]:
    """Return what the files of an ended process held."""
    found = []
    said = fault.decode(errors="replace")
    ended_in = int(thread[1], 16) if (thread := _THREAD.search(said)) else None
    if said:
        _log.error("a fault ended the last process: %s", escaped(said.partition("\n")[0]))
    for start in range(0, len(content), _SLOT):
        with suppress(ValueError, RecursionError):  # not written by spamnb
            match json.loads(content[start : start + _SLOT].partition(b"\0")[0]):
                case [str(reader), str(account), str(what)]:
                    is_cause = int(reader, 16) == ended_in
                    found.append(Interrupted(account, what, is_cause))
    return found


def remember(ledger: Ledger, interrupted: list[Interrupted]) -> None:
    """Record in the account's ledger what was being read when a process ended: it is skipped, or suspected."""
    state = ledger.state
    with ledger.transaction():
        for _, what, is_cause in interrupted:
            if is_cause or what in state.suspected:
                state.suspected = tuple(one for one in state.suspected if one != what)
                state.skipped = tuple(dict.fromkeys((*state.skipped, what)))
                _log.error("%s is no longer read: the service crashed while it read this message", escaped(what))
            else:
                state.suspected = (*state.suspected, what)
                _log.warning("the service ended while it read %s, which is read a second time", escaped(what))
