"""A Maildir, a configuration, and the real service as a process of its own."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from spamnb.acts.moves import bases_now
from spamnb.base.label import Role
from spamnb.cli.common.sample_mail import message
from spamnb.cli.main import main
from spamnb.config import Mailbox, load
from spamnb.config.writing import render
from spamnb.identity.digests import identity
from spamnb.ledger.ledger import Ledger
from spamnb.maildir import departures
from spamnb.maildir.folders import create_folder
from spamnb.service.daemon import Daemon
from spamnb.service.notify import Notifier
from spamnb.service.one_person import Person
from spamnb.service.part import MakePart
from tests.lessons import learn, sample_lessons
from tests.mail_under_service import Mail, ServiceProcess
from tests.patience import PATIENCE, until
from tests.service.desk import Desk

LESSONS = 25
_TAUGHT: dict[int, bytes] = {}  # ledgers, by the number of lessons


class Site(Mail, ServiceProcess):
    """A Maildir with folders of every role, its configuration and ledger, and the service over them."""

    parts: Sequence[MakePart] = ()
    _made = 0  # folders, by `compared`

    def __init__(self, directory: Path, layout: str = "maildir++") -> None:
        self.directory = directory
        self.root = directory / "Maildir"
        self.config = directory / "config.yaml"
        self.ledger = directory / "ledger.sqlite"
        self.log_file = directory / "log"
        self.layout = layout
        self.roles = {
            "INBOX": Role.INBOX,
            "Junk": Role.SPAM,
            "Archive": Role.HAM,
            "Trash": Role.NEUTRAL,
            "TrainSpam": Role.TRAIN_SPAM,
            "TrainHam": Role.TRAIN_HAM,
        }
        folders = {name: create_folder(str(self.root), layout, name) for name in self.roles}  # type: ignore[arg-type]
        super().__init__(folders, bases_now())
        self.configure()

    def configure(self, more: str = "", dwell: float = 0.3, **mailbox: object) -> None:
        """Write the configuration; `more` is YAML for further keys."""
        text = render([Mailbox(path=self.root, roles=self.roles, **mailbox)], self.ledger)  # type: ignore[arg-type]
        learning = "" if "learning:" in more else f"learning:\n  dwell_seconds: {dwell}\n"
        self.config.write_text(f"{text}\n{learning}{more}\n")

    def spamnb(self, *arguments: str) -> int:
        """Run a command in this process."""
        return main(["--config", str(self.config), "-q", *arguments])

    def teach(self, lessons: int = LESSONS) -> None:
        """Train with made-up mail of both kinds; a new ledger becomes a copy of the first one that was taught so."""
        is_new = not self.ledger.exists()
        for kind in ("ham", "spam"):
            directory = self.directory / "lessons" / kind
            directory.mkdir(parents=True)
            for number in range(lessons):
                (directory / f"{number}.eml").write_bytes(message(kind, number))
            if not (is_new and lessons in _TAUGHT):
                assert self.spamnb("train", f"--{kind}", str(directory)) == 0
        if is_new and lessons in _TAUGHT:
            self.ledger.touch(0o600)
            self.ledger.write_bytes(_TAUGHT[lessons])
        elif is_new:
            _TAUGHT[lessons] = self.ledger.read_bytes()

    def work(self) -> None:
        """Do what `run --once` does, in this process; `cur/` is touched again at once, since no mail server looks."""
        with mock.patch.object(departures, "_AGAIN_SECONDS", (0.001,)):
            Daemon(lambda: Person(load(self.config, {})), Notifier({}), parts=self.parts).run_once()

    def compared(self) -> None:
        """Wait until the service has compared all folders with the ledger, from beginning to end, after this moment.

        A comparison first records new folders. The second folder is made after the first one was recorded. So when the
        second one is recorded, the comparison that recorded the first one is over. This is true only while the folders
        to which the filter moves mail exist: if one is missing, new folders are recorded at other times too.
        """
        for _ in range(2):
            self._made += 1
            name = f"Made {self._made}"
            self._make(name)
            until(lambda name=name: name in self._recorded(), f"the folder {name!r} to be recorded")  # type: ignore[misc]

    def _make(self, name: str) -> None:
        """Make a folder of whoever the Maildir belongs to; the service finds the whole of it."""
        draft = Path(self.folders["INBOX"].subdir("tmp")) / name
        made = Path(create_folder(str(draft), self.layout, name).path)  # type: ignore[arg-type]
        owner = self.root.stat()
        for path in (made, *made.rglob("*")):
            os.chown(path, owner.st_uid, owner.st_gid)
        made.rename(self.root / made.relative_to(draft))
        shutil.rmtree(draft)

    def _recorded(self) -> set[str]:
        """The folders that the service has found."""
        with Ledger(str(self.ledger)) as ledger:
            found = "SELECT folder.name FROM folder JOIN mailbox ON mailbox.id = folder.mailbox WHERE path = ?"
            return {name for (name,) in ledger.locations._db.rows(found, (os.fsencode(self.root),))}

    def add_folder(self, name: str) -> None:
        """Make a folder that every test's mailbox does not have."""
        self.folders = {**self.folders, name: create_folder(str(self.root), self.layout, name)}  # type: ignore[arg-type]

    def why(self, content: bytes) -> str:
        """Return what the history says last of a message."""
        with Ledger(str(self.ledger)) as ledger:
            found = ledger.messages.find(identity(content))
            assert found is not None
            return ledger.journal.of_message(found.id)[-1].why

    def label(self, content: bytes) -> int | None:
        """Return the label of a message in the ledger: 0 ham, 1 spam, or None."""
        with Ledger(str(self.ledger)) as ledger:
            known = ledger.messages.find(identity(content))
            return None if known is None else known.label

    def verdict(self, content: bytes) -> str | None:
        """Return the filter's verdict on a message; None before it has one."""
        with Ledger(str(self.ledger)) as ledger:
            known = ledger.messages.find(identity(content))
            return None if known is None else known.verdict

    def wait_until_judged(self, *contents: bytes) -> None:
        """Wait until each message was judged."""
        for content in contents:
            subject = content.partition(b"Subject: ")[2].partition(b"\n")[0].decode()
            until(lambda content=content: self.verdict(content) is not None, f"{subject} to be judged")  # type: ignore[misc]

    def faults(self) -> list[str]:
        """Return the faults that `verify` finds."""
        with Ledger(str(self.ledger)) as ledger:
            return ledger.lessons.verify() + [f"open intent {intent.id}" for intent in ledger.journal.intents()]


@contextmanager
def in_thread(
    site: Site, now: Callable[[], float] = time.time, parts: Sequence[MakePart] = ()
) -> Iterator[tuple[Daemon, "Future[None]"]]:
    """The service in a thread of this process, by a clock that may be set, and its end.

    It is stopped in any case. If it has ended by a fault, that fault is raised here.
    """
    notifier = Notifier({})
    daemon = Daemon(lambda: Person(load(site.config, {})), notifier, now, parts=parts)
    threads = ThreadPoolExecutor(1)
    running = threads.submit(daemon.run)
    try:
        until(lambda: bool(notifier.status) or running.done(), "the start")
        yield daemon, running
    finally:
        daemon.stop()
        try:
            running.result(PATIENCE)
        finally:
            threads.shutdown(wait=running.done())


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A Maildir++ site; the service is ended with the test."""
    made = Site(tmp_path)
    yield made
    made.kill()


@pytest.fixture(scope="session")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger that knows ham from spam."""
    path = tmp_path_factory.mktemp("taught") / "ledger"
    with Ledger(str(path)) as ledger:
        learn(ledger, sample_lessons(LESSONS))
    return path


@pytest.fixture
def desk(tmp_path: Path, taught: Path) -> Iterator[Desk]:
    """One mailbox, and the service over it, step by step."""
    shutil.copy(taught, tmp_path / "ledger")
    made = Desk(tmp_path, "Maildir")
    yield made
    made.stop()
    made.ledger.close()
