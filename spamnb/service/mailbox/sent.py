"""Mail that the person has sent: the ledger keeps to whom it went, from the moment that it appears.

Older sent mail is read at a start. A folder's role says that it holds sent mail. Sent mail is forgotten if its folder
gets a different role, and with the record of its message, after `retention_days`.
"""

import logging
from collections.abc import Iterator

from spamnb.base.label import Role
from spamnb.base.wording import plural
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import LazyReading
from spamnb.mail.relations import Addressees
from spamnb.service.context import Context
from spamnb.service.mailbox.folders import Folders, WatchedFolder

_log = logging.getLogger(__name__)
_BATCH = 200  # messages per transaction


def sent_in(folder: WatchedFolder, unread: LazyReading) -> dict[bytes, Addressees]:
    """Return to whom a message went, by its identity; nothing if the folder is not for sent mail."""
    return {unread.digest: unread.addressees} if folder.role is Role.SENT else {}


class SentMail:
    """The sent mail of one mailbox."""

    def __init__(self, folders: Folders, context: Context) -> None:
        self._folders = folders
        self._context = context
        self._ledger = context.ledger
        self._is_read = False

    def read_existing(self) -> None:
        """Read each file of sent mail that the ledger does not know as sent, once; new mail is read as it comes.

        Such files exist after the first start, after an upgrade, and if a folder has got the role. If the ledger does
        not know that a folder was read, all of its files are read again: an upgrade may need more of them.
        """
        if self._is_read:
            return
        folders = {folder.id: folder for folder in self._folders if folder.role is Role.SENT}
        before = self._ledger.locations.sent_read(self._folders.id)
        self._forget_other_roles(before - set(folders))
        read = sum(self._read(folder, is_read=folder.id in before) for folder in folders.values())
        self._ledger.locations.set_sent_read(self._folders.id, folders)
        self._is_read = True
        if read:
            _log.info("read %s in %s; their recipients are known now", plural(read, "sent message"), self._root)

    @property
    def _root(self) -> str:
        return self._folders.root

    def _forget_other_roles(self, former: set[int]) -> None:
        for folder in self._folders:
            if folder.id in former:
                self._ledger.lessons.drop_sent(dict(self._ledger.locations.digests_in(folder.id)))
                _log.info("%s no longer holds sent mail: its recipients are forgotten", folder.name)

    def _read(self, folder: WatchedFolder, *, is_read: bool) -> int:
        known, reading = set(all_sent(self._ledger) if is_read else ()), f"reading the sent mail in {self._root}"
        files = dict(self._folders.with_turns(self._ledger.locations.digests_in(folder.id), reading))
        missing = [place for digest, place in files.items() if digest not in known]
        for start in range(0, len(missing), _BATCH):
            sent: dict[bytes, Addressees] = {}
            for base, flags in missing[start : start + _BATCH]:
                self._context.alive(f"{reading}: {start + len(sent)} messages")
                if (unread := self._folders.read_at(folder, base, flags)) is not None:
                    sent |= sent_in(folder, unread)
            self._ledger.lessons.add_sent(sent)
        return len(missing)


def all_sent(ledger: Ledger) -> Iterator[bytes]:
    """Yield the identities of all sent messages that the ledger keeps."""
    after = b""
    while digests := ledger.lessons.sent(after):
        yield from digests
        after = digests[-1]


def forget_gone(ledger: Ledger) -> Iterator[int]:
    """Forget sent messages without a record in the history, step by step; yields the number after each step."""
    after = b""
    while digests := ledger.lessons.sent(after):
        gone = [digest for digest in digests if ledger.messages.find(digest) is None]
        ledger.lessons.drop_sent(gone)
        yield len(gone)
        after = digests[-1]
