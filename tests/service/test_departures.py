"""The work of the service for IMAP servers: it starts nothing by itself, and delays no end."""

import contextlib
from pathlib import Path
from unittest import mock

from spamnb.cli.common.sample_mail import message
from spamnb.config import load
from spamnb.maildir import departures
from spamnb.maildir.departures import touch_cur, wake
from spamnb.maildir.folders import create_folder, find_directories
from spamnb.maildir.messages import Entry, deliver
from spamnb.service.daemon import Daemon
from spamnb.service.notify import Notifier
from spamnb.service.one_person import Person
from spamnb.service.watcher import Hint, Watcher
from tests.patience import PATIENCE
from tests.service.conftest import Site


def test_a_touch_is_no_event(tmp_path: Path) -> None:
    """That `cur/` is touched, and a server is made to look, gives no hint: no folder is listed because of it."""
    inbox = create_folder(str(tmp_path), "maildir++", "INBOX")
    watcher = Watcher("inotify")
    watcher.start()
    watcher.watch(inbox.path, find_directories(inbox.path, "auto"))
    with contextlib.ExitStack() as stack:
        stack.callback(watcher.stop)
        touch_cur(inbox)
        wake(inbox)
        assert not list(Path(inbox.subdir("cur")).iterdir())
        deliver(inbox, b"Subject: x\n\n", "1.host")
        assert watcher.next(PATIENCE) == Hint(inbox.path, inbox.path, Entry("new", "1.host"))


def test_one_run_is_not_long(site: Site) -> None:
    """`run --once` ends even if `cur/` were to be touched again an hour later."""
    site.teach()
    site.work()
    spam = site.deliver(message("spam", 901))
    with mock.patch.object(departures, "_AGAIN_SECONDS", (0.001, 3600.0)):
        Daemon(lambda: Person(load(site.config, {})), Notifier({})).run_once()
    assert site.contents("Junk") == [spam]
