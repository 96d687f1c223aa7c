"""`demo`: the whole loop on a throw-away Maildir, with the real service and real files."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from spamnb.cli.sample_mail import message
from spamnb.config import Mailbox, Role, render
from spamnb.errors import SpamnbError
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import Folder, create_folder
from spamnb.maildir.mailbox import Entry, deliver, scan
from spamnb.moves import bases_now

_LESSONS = 25  # of each kind; the service moves nothing before it has learned 20 of each
_PATIENCE = 30.0
_DWELL = 1.0


def demo(options: argparse.Namespace) -> int:
    """Deliver, judge, move, correct, learn; exits 0 only if every step did what it says."""
    with tempfile.TemporaryDirectory(prefix="spamnb-demo-") as directory:
        show = _Show(Path(directory), (lambda text: None) if options.quiet else lambda text: print(text, flush=True))
        show.prepare()
        try:
            show.start()
            show.play()
        finally:
            show.end()
        show.verify()
    return 0


class _Show:
    """The stage (a Maildir with an inbox, Junk and Archive) and the play."""

    def __init__(self, directory: Path, say: Callable[[str], None]) -> None:
        self.say = say
        self.root = str(directory / "Maildir")
        self.config = directory / "config.yaml"
        self.ledger = directory / "ledger.sqlite"
        self.inbox, self.junk, self.archive = (
            create_folder(self.root, "maildir++", name) for name in ("INBOX", "Junk", "Archive")
        )
        self.bases = bases_now()
        self.service: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Write the configuration, and teach the filter a little."""
        roles = {"INBOX": Role.INBOX, "Junk": Role.SPAM, "Archive": Role.HAM}
        text = render([Mailbox(path=Path(self.root), roles=roles)], self.ledger)
        self.config.write_text(f"{text}\nlearning:\n  dwell_seconds: {_DWELL}\n")
        self.say(f"A throw-away Maildir in {self.root}, with INBOX, Junk and Archive.")
        for kind in ("ham", "spam"):
            lessons = Path(self.root).parent / kind
            lessons.mkdir()
            for number in range(_LESSONS):
                (lessons / f"{number}.eml").write_bytes(message(kind, number))
            self._spamnb("train", f"--{kind}", str(lessons))
        self.say(f"Trained with {_LESSONS} ham and {_LESSONS} spam messages: spamnb train --ham DIR, --spam DIR")

    def start(self) -> None:
        """Start the service, and wait until it watches."""
        command = [sys.executable, "-m", "spamnb", "--config", str(self.config), "run"]
        with open(self.config.with_name("log"), "wb") as log:
            self.service = subprocess.Popen(command, stderr=log, env=_own_environment())
        self._until("the service to start", lambda: "watching" in self._log() or "polling" in self._log())
        self.say("Started the service: spamnb run\n")

    def end(self) -> None:
        """Stop the service, whatever state it is in."""
        if self.service is None:
            return
        self.service.terminate()
        try:
            self.service.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.service.kill()
            self.service.wait()

    def play(self) -> None:
        """Three scenes: judging, a wrong verdict put right, a missed spam pointed out."""
        self.say("Two messages are delivered, one of each kind.")
        spam, ham = self._deliver("spam", 100), self._deliver("ham", 100)
        self._until("the spam to be moved", lambda: self._holds(self.junk, spam))
        self._until("the ham to be judged", lambda: "ham" in self._log() and self._holds(self.inbox, ham))
        self.say(f"  the spam lies in Junk, the ham still in INBOX\n  log: {self._last('spam')}\n")

        self.say("You disagree, and move the message from Junk back to INBOX, as a mail program does it.")
        self._move_by_hand(self.junk, spam, self.inbox)
        self._until("the correction to be learned", lambda: "learned as ham" in self._log())
        if not self._holds(self.inbox, spam):
            raise SpamnbError("the demonstration failed: the corrected message was moved again")
        self.say(f"  it stays, and is learned\n  log: {self._last('learned as ham')}\n")

        self.say("You find spam in the inbox, and move it to Junk.")
        self._move_by_hand(self.inbox, ham, self.junk)
        self._until("the missed spam to be learned", lambda: "learned as spam" in self._log())
        self.say(f"  log: {self._last('learned as spam')}\n")

    def verify(self) -> None:
        """Prove the counts."""
        with Ledger(str(self.ledger)) as ledger:
            faults = ledger.learned.verify()
            ham, spam = ledger.learned.totals()[:2].tolist()
        if faults or (ham, spam) != (_LESSONS + 1, _LESSONS + 1):
            raise SpamnbError(f"the demonstration failed: {ham} ham, {spam} spam, {'; '.join(faults) or 'no faults'}")
        self.say(f"The ledger holds {ham} ham and {spam} spam messages, and its counts are their sum: spamnb verify")
        self.say("All of it worked. Next, your own mail: spamnb init")

    def _spamnb(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "spamnb", "--config", str(self.config), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SpamnbError(f"the demonstration failed: spamnb {arguments[0]}: {done.stderr.strip()}")

    def _deliver(self, kind: str, number: int) -> bytes:
        content = message(kind, number)
        deliver(self.inbox, content, next(self.bases))
        return content

    def _find(self, folder: Folder, content: bytes) -> Entry | None:
        for entry in scan(folder):
            try:
                if Path(entry.path(folder)).read_bytes() == content:
                    return entry
            except FileNotFoundError:  # moved between the listing and the look
                continue
        return None

    def _holds(self, folder: Folder, content: bytes) -> bool:
        return self._find(folder, content) is not None

    def _move_by_hand(self, source: Folder, content: bytes, destination: Folder) -> None:
        entry = self._find(source, content)
        if entry is None:
            raise SpamnbError(f"the demonstration failed: a message is not in {source.name}")
        os.rename(entry.path(source), os.path.join(destination.subdir("cur"), f"{next(self.bases)}:2,S"))

    def _log(self) -> str:
        return self.config.with_name("log").read_text(encoding="utf-8", errors="replace")

    def _last(self, word: str) -> str:
        return next((line for line in reversed(self._log().splitlines()) if word in line), "")

    def _until(self, what: str, done: Callable[[], bool]) -> None:
        end = time.monotonic() + _PATIENCE
        while not done():
            died = self.service is not None and self.service.poll() is not None
            if died or time.monotonic() > end:
                raise SpamnbError(f"the demonstration failed: waited in vain for {what}; the log says: {self._log()}")
            time.sleep(0.02)


def _own_environment() -> dict[str, str]:
    """The environment without what a service manager tells this very process."""
    return {name: value for name, value in os.environ.items() if name not in {"NOTIFY_SOCKET", "JOURNAL_STREAM"}}
