"""An exclusive lock on a mailbox: two services with separate ledgers would take each other's moves for a person's.

The lock is on the directory itself, with flock(2): a lock file in a mailbox would disturb other mail software, and none
of it locks directories in this way. The directory is the inbox's `cur/`, on which both services would work. Only if
strangers can open that directory, and so lock it, a file beside it has the lock (`ledger/file/locks.py`); no other
software takes that for mail. If that file cannot be made, `cur/` has the lock after all. The lock ends with the
process. While it is held, the mailbox's disk is in use and cannot be unmounted.
"""

import contextlib
import fcntl
import os

from spamnb.base.errors import MaildirError, SpamnbError, next_step
from spamnb.ledger.file.locks import lock_of, take
from spamnb.maildir.folders import Folder

_FILE = os.path.join(os.pardir, "spamnb.lock")  # seen from `cur/`


class MailboxLockedError(SpamnbError):
    """Another service works with the mailbox."""


class MailboxLock:
    """A service's lock on a mailbox."""

    def __init__(self) -> None:
        self._held: int | None = None
        self._cur: tuple[int, int] | None = None  # device and inode

    def take(self, inbox: Folder, *, keep: bool = False) -> None:
        """Lock the mailbox of that inbox, and release an earlier lock.

        keep: a lock on this same directory is enough, even if its file was removed. No file is made: it would disturb a
        program that removes the mailbox. Raises MailboxLockedError if another service holds the lock.
        """
        try:
            with inbox.opened("cur") as directory:
                status = os.fstat(directory)
                cur = status.st_dev, status.st_ino
                if keep and self._held is not None and cur == self._cur:
                    return
                try:
                    wanted, _ = lock_of(directory, _FILE)
                except PermissionError:  # another user owns the directory around `cur/`; perhaps root has made it
                    wanted = os.dup(directory)
        except OSError as fault:
            step = next_step(fault, "check who owns it")
            raise MaildirError(f"cannot lock the mailbox at {inbox.path}: {fault.strerror}; {step}") from fault
        if self._held is not None and os.path.samestat(os.fstat(wanted), os.fstat(self._held)):
            os.close(wanted)
            self._cur = cur
            return
        self.release()
        with contextlib.suppress(OSError):  # without such locks (NFS only locks files) the ledger's lock must do
            if not take(wanted, fcntl.LOCK_EX, deadline=0.0):
                os.close(wanted)
                raise MailboxLockedError(
                    f"another spamnb service already works with the mailbox at {inbox.path}: stop that one first,"
                    " or take the mailbox out of one of the two configurations"
                )
        self._held, self._cur = wanted, cur

    def release(self) -> None:
        """Release the lock."""
        if self._held is not None:
            os.close(self._held)
            self._held = None
