"""The lock on a mailbox."""

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from spamnb.base.errors import MaildirError
from spamnb.maildir.folders import Folder, create_folder
from spamnb.service.mailbox import lock
from spamnb.service.mailbox.lock import MailboxLock, MailboxLockedError

NOBODY = 65_534


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a directory of another user")
def test_a_mailbox_whose_directory_is_another_users() -> None:
    """A mailbox is locked even if no file can be made beside `cur/`, as in a Maildir made by root."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        inbox = create_folder(f"{directory}/Maildir", "maildir++", "INBOX")
        for path in (Path(inbox.path), *Path(inbox.path).iterdir()):
            os.chmod(path, 0o755)
        for name in ("new", "cur", "tmp"):
            os.chown(inbox.subdir(name), NOBODY, NOBODY)
        first, second = MailboxLock(), MailboxLock()
        os.seteuid(NOBODY)
        try:
            first.take(inbox)
            with pytest.raises(MailboxLockedError):
                second.take(inbox)
        finally:
            os.seteuid(0)
            first.release()


@pytest.mark.parametrize("at", ["before", "meanwhile"])
@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_a_link_to_another_mailbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, mode: int) -> None:
    """The lock of a neighbour's mailbox is not taken by a link in the place of the own Maildir."""
    own, other = (create_folder(str(tmp_path / name), "maildir++", "INBOX") for name in ("own", "other"))
    for inbox in (own, other):
        for path in (inbox.path, inbox.subdir("cur")):
            os.chmod(path, mode)
    os.chmod(tmp_path, 0o755)

    def put_link() -> None:
        os.rename(own.path, tmp_path / "aside")
        os.symlink(other.path, own.path)

    def after_the_link(*arguments: Any) -> Any:
        put_link()
        return lock_of(*arguments)

    lock_of = lock.lock_of
    attacker, neighbour = MailboxLock(), MailboxLock()
    if at == "before":
        put_link()
        with pytest.raises(MaildirError, match="cannot lock"):
            attacker.take(Folder("INBOX", own.path, levels=1))
    else:  # it is the lock of the directory that was moved aside
        with monkeypatch.context() as patch:
            patch.setattr(lock, "lock_of", after_the_link)
            attacker.take(Folder("INBOX", own.path, levels=1))
    neighbour.take(other)
    neighbour.release()
    attacker.release()
