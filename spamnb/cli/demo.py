"""Try the filter on a throw-away Maildir.

The real service judges, moves and learns. The demo removes everything at its end.

example:
  spamnb demo
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from spamnb.acts.moves import bases_now
from spamnb.base.errors import SpamnbError
from spamnb.base.label import Role
from spamnb.cli.common.sample_mail import message
from spamnb.cli.main import main
from spamnb.config import Mailbox, render
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import Folder, create_folder
from spamnb.maildir.messages import deliver, scan

INTERRUPTED = "the demo is over, and its files are removed"
_LESSONS = 25  # of each kind; the service moves nothing before it has learned 20 ham
_PATIENCE = 30.0
_DWELL = 1.0
_ROLES = {"INBOX": Role.INBOX, "Junk": Role.SPAM, "Archive": Role.HAM}


def run(options: argparse.Namespace) -> int:
    """Deliver, judge, move, correct and learn. Exits 0 only if every step did what it prints."""
    with tempfile.TemporaryDirectory(prefix="spamnb-demo-") as directory:
        demo = _Demo(Path(directory), (lambda text: None) if options.quiet else lambda text: print(text, flush=True))
        demo.prepare()
        with demo.service():
            demo.play()
        demo.verify()
    return 0


class _Demo:
    """The demo's Maildir and its scenario."""

    def __init__(self, directory: Path, show: Callable[[str], None]) -> None:
        self._show = show
        self._directory = directory
        self._config = str(directory / "config.yaml")
        self._root = str(directory / "Maildir")
        self._inbox, self._junk, _ = (create_folder(self._root, "maildir++", name) for name in _ROLES)
        self._bases = bases_now()

    def prepare(self) -> None:
        """Write the configuration, and teach the filter a little."""
        text = render([Mailbox(path=Path(self._root), roles=_ROLES)], self._directory / "ledger.sqlite")
        Path(self._config).write_text(f"{text}\nlearning:\n  dwell_seconds: {_DWELL}\n")
        self._show(f"A throw-away Maildir in {self._root}, with INBOX, Junk and Archive.")
        for kind in ("ham", "spam"):
            (self._directory / kind).mkdir()
            for number in range(_LESSONS):
                (self._directory / kind / f"{number}.eml").write_bytes(message(kind, number))
            if main(["-q", "--config", self._config, "train", f"--{kind}", str(self._directory / kind)]):
                raise _failed("spamnb train did not work")
        self._show(f"Trained with {_LESSONS} ham and {_LESSONS} spam messages: spamnb train --ham DIR, --spam DIR")

    @contextlib.contextmanager
    def service(self) -> Iterator[None]:
        """Run the service: begin when it watches, and stop it at the end, whatever its state."""
        # a surrounding service manager has set these for its own service
        environ = {name: value for name, value in os.environ.items() if name not in ("NOTIFY_SOCKET", "JOURNAL_STREAM")}
        with open(self._directory / "log", "wb") as log:
            command = [sys.executable, "-m", "spamnb", "--config", self._config, "run"]
            self._service = subprocess.Popen(command, stderr=log, env=environ)
        try:
            self._until("the service to start", lambda: self._logs("watching") or self._logs("polling"))
            self._show("Started the service: spamnb run\n")
            yield
        finally:
            self._service.terminate()
            try:
                self._service.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self._service.kill()
                self._service.wait()

    def play(self) -> None:
        """Play three scenes: judge, correct a wrong verdict, report spam that the filter missed."""
        spam, ham = message("spam", 100), message("ham", 100)
        self._show("Two messages are delivered, one of each kind.")
        for content in (spam, ham):
            deliver(self._inbox, content, next(self._bases))
        self._until("the spam to be moved", lambda: self._find(self._junk, spam))
        self._until("the ham to be judged", lambda: self._logs("ham") and self._find(self._inbox, ham))
        self._show(f"  the spam is in Junk, the ham still in INBOX\n  log: {self._logs('spam')}\n")

        self._show("You disagree, and move the message from Junk back to INBOX, as a mail program does.")
        self._move_by_hand(spam, self._junk, self._inbox)
        self._until("the correction to be learned", lambda: self._logs("learned as ham"))
        if not self._find(self._inbox, spam):
            raise _failed("the corrected message was moved again")
        self._show(f"  it stays there, and the filter learns it as ham\n  log: {self._logs('learned as ham')}\n")

        self._show("You find spam in the inbox, and move it to Junk.")
        self._move_by_hand(ham, self._inbox, self._junk)
        self._until("the missed spam to be learned", lambda: self._logs("learned as spam"))
        self._show(f"  log: {self._logs('learned as spam')}\n")

    def verify(self) -> None:
        """Check the counts."""
        with Ledger(str(self._directory / "ledger.sqlite")) as ledger:
            faults = ledger.verify()
            ham, spam = ledger.lessons.totals()[:2].tolist()
        if faults or (ham, spam) != (_LESSONS + 1, _LESSONS + 1):
            raise _failed(f"{ham} ham, {spam} spam, {'; '.join(faults) or 'no faults'}")
        self._show(f"The ledger holds {ham} ham and {spam} spam messages, and its counts are their sum: spamnb verify")
        self._show("Every step worked. Next, your own mail: spamnb init")

    def _find(self, folder: Folder, content: bytes) -> str:
        """Return the path of a message in a folder, or ""."""
        for path in (entry.path(folder) for entry in scan(folder)):
            with contextlib.suppress(FileNotFoundError):  # moved since it was listed
                if Path(path).read_bytes() == content:
                    return path
        return ""

    def _move_by_hand(self, content: bytes, source: Folder, destination: Folder) -> None:
        path = self._find(source, content)
        if not path:
            raise _failed(f"a message is not in {source.name}")
        os.rename(path, os.path.join(destination.subdir("cur"), f"{next(self._bases)}:2,S"))

    def _logs(self, word: str) -> str:
        """Return the last line of the service's log with that word, or ""."""
        return next((line for line in reversed(self._log().splitlines()) if word in line), "")

    def _log(self) -> str:
        return (self._directory / "log").read_text(encoding="utf-8", errors="replace")

    def _until(self, what: str, done: Callable[[], object]) -> None:
        end = time.monotonic() + _PATIENCE
        while not done():
            if self._service.poll() is not None or time.monotonic() > end:
                raise _failed(f"timed out waiting for {what}; the log: {self._log()}")
            time.sleep(0.02)


def _failed(why: str) -> SpamnbError:
    return SpamnbError(f"the demo failed: {why}")
