"""An exclusive lock on a mailbox: two services with ledgers of their own would take each other's moves for a person's.

The directory itself is locked, with flock(2), since a lock file in a mailbox would be in the way of other mail
software; none of it locks directories in this way. It is the inbox's `cur/`, which two services would both work on.
Only where strangers can open that directory, and so lock it, is it a file beside it (`ledger/file/locks.py`): no other
software takes that for mail. Where that file cannot be made it is `cur/` after all. The lock goes with the process. As
long as it is held, the mailbox's disk is in use and cannot be unmounted.
"""

import contextlib
import fcntl
import os

from spamnb.base.errors import MaildirError, SpamnbError, next_step
from spamnb.ledger.file.locks import open_lock, take
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
        """Lock the mailbox of that inbox, and no longer one that was there before.

        keep: a lock on this very directory is enough, though its file was removed; none is made, which would be in the
        way of whoever removes the mailbox. Raises MailboxLockedError where another service holds it.
        """
        try:
            status = os.stat(inbox.subdir("cur"))
            cur = status.st_dev, status.st_ino
            if keep and self._held is not None and cur == self._cur:
                return
            try:
                wanted, _ = open_lock(inbox.subdir("cur"), _FILE)
            except PermissionError:  # the directory around `cur/` is another user's, as where root has made it
                wanted = os.open(inbox.subdir("cur"), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as fault:
            step = next_step(fault, "check who owns it")
            raise MaildirError(f"cannot open {fault.filename}: {fault.strerror}; {step}") from fault
        if self._held is not None and os.path.samestat(os.fstat(wanted), os.fstat(self._held)):
            os.close(wanted)
            self._cur = cur
            return
        self.release()
        with contextlib.suppress(OSError):  # no such locks (NFS locks files only): the ledger's lock has to do
            if not take(wanted, fcntl.LOCK_EX, deadline=0.0):
                os.close(wanted)
                raise MailboxLockedError(
                    f"another spamnb service already works with the mailbox at {inbox.path}: stop that one first,"
                    " or take the mailbox out of one of the two configurations"
                )
        self._held, self._cur = wanted, cur

    def release(self) -> None:
        """Hold nothing any more."""
        if self._held is not None:
            os.close(self._held)
            self._held = None
