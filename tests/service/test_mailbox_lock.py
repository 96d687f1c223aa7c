"""The lock on a mailbox."""

import os
import tempfile
from pathlib import Path

import pytest

from spamnb.maildir.folders import create_folder
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
