"""Try the filter on a throw-away Maildir.

The real service judges, moves and learns. The demo removes everything at its end.

example:
  spamnb demo
"""

import argparse
import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from spamnb.acts.moves import bases_now
from spamnb.base.errors import SpamnbError
from spamnb.base.label import Role
from spamnb.cli.common.demo_mail import FALSE_FRIEND, FRIEND, SHOP, WATCHES
from spamnb.cli.common.sample_mail import message
from spamnb.cli.main import main
from spamnb.config import Learning, Mailbox, Scoring
from spamnb.config.writing import render
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.folders import Folder, create_folder
from spamnb.maildir.messages import deliver, scan
from spamnb.setup.proposal import propose

INTERRUPTED = "the demo is over, and its files are removed"
_OLD = 120  # older messages of each kind
_LESSONS = 25  # of each kind; the service moves nothing before it has learned 20 ham
_PATIENCE = 120.0  # an emulated processor (arm64 by qemu), on a machine with a load of 11, needed 30 s to start
_TIME = len("2026-01-12 18:03:11 ")
_DWELL = 1.0
_SUBJECTS = ("Sunday walk", "Replica watches", "Your order 2041", "Re: the budget draft")
_ROLES = {"INBOX": Role.INBOX, "Junk": Role.SPAM, "Archive": Role.HAM}


def run(options: argparse.Namespace) -> int:
    """Deliver, judge, move, correct and learn. Exits 0 only if every step did what it prints."""
    with tempfile.TemporaryDirectory(prefix="spamnb-demo-") as directory:
        demo = _Demo(Path(directory), (lambda text: None) if options.quiet else lambda text: print(text, flush=True))
        demo.prepare()
        with demo.service():
            demo.play()
        demo.verify()
        demo.look_back()
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
        taught = f"{_LESSONS} wanted messages (ham) and {_LESSONS} spam"
        self._show(f"Trained with {taught}: spamnb train --ham DIR, --spam DIR")

    @contextlib.contextmanager
    def service(self) -> Iterator[None]:
        """Run the service: begin when it watches, and stop it at the end, whatever its state."""
        # a surrounding service manager has set these for its own service
        environ = {name: value for name, value in os.environ.items() if name not in ("NOTIFY_SOCKET", "JOURNAL_STREAM")}
        with open(self._directory / "log", "wb") as log:
            command = [sys.executable, "-m", "spamnb", "--config", self._config, "run"]
            self._service = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, env=environ)
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
        """Play three scenes: judge four messages, take a wanted one out of Junk, file spam that the filter missed."""
        self._show(
            "Four messages come: of a friend, of a watch seller, of a shop where you buy, and of a false friend."
        )
        for content in (FRIEND, WATCHES, SHOP, FALSE_FRIEND):
            deliver(self._inbox, content, next(self._bases))
        for subject in _SUBJECTS:
            self._until(f"a verdict on {subject!r}", lambda subject=subject: self._logs(subject))  # type: ignore[misc]
            self._show(f"  {self._logs(subject)}")
        if not (self._find(self._inbox, FRIEND) and self._find(self._junk, WATCHES)):
            raise _failed("the letter of a friend is not in the inbox, or the spam is not in Junk")

        self._show("\nThe order is wanted. You move it from Junk back to INBOX, as a mail program does.")
        self._move_by_hand(SHOP, self._junk, self._inbox)
        self._until("the correction to be learned", lambda: self._logs("learned as ham"))
        if not self._find(self._inbox, SHOP):
            raise _failed("the corrected message was moved again")
        self._show(f"  {self._logs('learned as ham')}")

        self._show("The false friend is after your password. You move that letter to Junk.")
        self._move_by_hand(FALSE_FRIEND, self._inbox, self._junk)
        self._until("the missed spam to be learned", lambda: self._logs("learned as spam"))
        self._show(f"  {self._logs('learned as spam')}")

    def verify(self) -> None:
        """Check the counts."""
        with Ledger(str(self._directory / "ledger.sqlite")) as ledger:
            faults = ledger.verify()
            ham, spam = ledger.lessons.totals()[:2].tolist()
        if faults or (ham, spam) != (_LESSONS + 1, _LESSONS + 1):
            raise _failed(f"{ham} ham, {spam} spam, {'; '.join(faults) or 'no faults'}")
        self._show(f"\nIt has learned both: the ledger holds {ham} ham and {spam} spam messages now.")

    def look_back(self) -> None:
        """Show what the filter would have done with older mail, and name the next step."""
        from spamnb.evaluation.replay import Rules, replay
        from spamnb.evaluation.replayed import Replayed

        root = self._directory / "old"
        for kind, name in (("ham", "INBOX"), ("spam", "Junk")):
            folder = create_folder(str(root), "maildir++", name)
            for number in range(_OLD):
                deliver(folder, message(kind, number), next(self._bases))
        found = replay([propose(root)], {}, Rules(Scoring(), Learning()), 2 * _OLD, lambda *_: None)
        if not isinstance(found, Replayed) or not found.has_begun or any(life.moved for life in found.lives):
            raise _failed("the replay of old mail did not go as it should")
        self._show(f"\nWhat it would have done with {found.messages} older messages: spamnb replay")
        for life in found.lives:
            self._show(f"  {life.words}: {life.sentence}")
        self._show(f"\nEvery step worked. Next, your own mail: {_program()} init")

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
        """Return the last line of the service's log with that word, without its time, or ""."""
        return next((line[_TIME:] for line in reversed(self._log().splitlines()) if word in line), "")

    def _log(self) -> str:
        return (self._directory / "log").read_text(encoding="utf-8", errors="replace")

    def _until(self, what: str, done: Callable[[], object]) -> None:
        end = time.monotonic() + _PATIENCE
        while not done():
            if self._service.poll() is not None or time.monotonic() > end:
                raise _failed(f"timed out waiting for {what}; the log: {self._log()}")
            time.sleep(0.02)


def _program() -> str:
    """Return what to type for this program: its name if a shell finds it, else the path or module of this call."""
    called = sys.argv[0]
    if os.path.basename(called) != "spamnb":
        return f"{shlex.quote(sys.executable)} -m spamnb"
    found = shutil.which("spamnb")
    is_found = found is not None and os.path.exists(called) and os.path.samefile(found, called)
    return "spamnb" if is_found else shlex.quote(called)


def _failed(why: str) -> SpamnbError:
    return SpamnbError(f"the demo failed: {why}")
