"""What the service does for IMAP servers starts no work of its own."""

import contextlib
from pathlib import Path

from spamnb.maildir.departures import touch_cur
from spamnb.maildir.folders import create_folder
from spamnb.maildir.mailbox import Entry, deliver
from spamnb.service.watcher import Hint, Watcher


def test_a_touch_is_no_event(tmp_path: Path) -> None:
    """That `cur/` is touched gives no hint, so that no folder is listed because of it."""
    inbox = create_folder(str(tmp_path), "maildir++", "INBOX")
    watcher = Watcher("inotify")
    watcher.start([inbox.path])
    with contextlib.ExitStack() as stack:
        stack.callback(watcher.stop)
        touch_cur(inbox.path)
        deliver(inbox, b"Subject: x\n\n", "1.host")
        assert watcher.next(10.0) == Hint(inbox.path, inbox.path, Entry("new", "1.host"))
