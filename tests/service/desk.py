"""Mailboxes under the service's hands, step by step, with a clock of the test's own."""

import logging
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from spamnb.acts.moves import bases_now
from spamnb.acts.training import learn
from spamnb.base.label import How, Label, Role
from spamnb.cli.common.sample_mail import message
from spamnb.config import Config, Learning, Mailbox, Service
from spamnb.identity.digests import identity
from spamnb.ledger.history.messages import MessageRow
from spamnb.ledger.ledger import Ledger
from spamnb.mail.reading import read
from spamnb.maildir.folders import Folder, create_folder
from spamnb.maildir.messages import Entry, deliver, scan
from spamnb.maildir.names import parse_name
from spamnb.service.awake_account import AwakeAccount
from spamnb.service.context import Context
from spamnb.service.log import LogOnce
from tests.lessons import label_of

ROLES = {
    "INBOX": Role.INBOX,
    "Junk": Role.SPAM,
    "Archive": Role.HAM,
    "Trash": Role.NEUTRAL,
    "TrainSpam": Role.TRAIN_SPAM,
}
DOZEN = range(900, 915)
DAY = 86_400.0


class Desk:
    """Mailboxes under the service's hands, step by step.

    The times of files are the kernel's. So the story begins `ahead` of them, long ago, and may come to the present.
    """

    def __init__(self, directory: Path, *names: str) -> None:
        self.directory = directory
        self.roots = [directory / name for name in names]
        self.roles: Mapping[str, Role] = ROLES
        self.learning = Learning(minimum_messages=1)
        self.service = Service()
        self.apart: dict[str, str] = {}  # folders for mail that is put apart, by their keys
        for root in self.roots:
            for name in ROLES:
                create_folder(str(root), "maildir++", name)
        self.bases = bases_now()
        self.ahead = -100 * DAY
        self.ledger = Ledger(str(directory / "ledger"))
        self.start()

    def start(self) -> None:
        """The service starts, and does what there is to do."""
        faults = LogOnce(logging.getLogger("desk"))
        self.account = AwakeAccount(Context(self.config, self.ledger, self.now), faults)
        self.work()

    def stop(self) -> None:
        """It ends."""
        self.account.close()

    def restart(self, **learning: object) -> None:
        """It ends and starts again, with other decisions on learning."""
        self.stop()
        self.learning = replace(self.learning, **learning)  # type: ignore[arg-type]
        self.start()

    def now(self) -> float:
        """The service's clock."""
        return time.time() + self.ahead

    def work(self) -> None:
        """The service compares the folders, and acts on what has dwelt."""
        for _ in range(2):
            for root in self.roots:  # each change of a directory is to be seen, however slow the kernel's clock ticks
                for subdir in [*root.glob("**/new"), *root.glob("**/cur")]:
                    os.utime(subdir)
            self.account.compare()
            assert self.account.is_well
            while (due := self.account.due()) < math.inf:
                self.ahead += max(0.0, due - self.now())
                self.account.act_on_due()
                assert self.account.is_well

    def folder(self, name: str, root: int = 0) -> Folder:
        """A folder of a mailbox."""
        return create_folder(str(self.roots[root]), "maildir++", name)

    def directory_of(self, name: str, root: int = 0) -> Path:
        """A folder's directory, which need not be there."""
        return self.roots[root] / ("." + name.replace("/", "."))

    def put(self, kind: str, folder: str, root: int = 0, flags: str | None = None) -> list[bytes]:
        """A dozen new messages."""
        contents = [message(kind, number) for number in DOZEN]
        for content in contents:
            path = Path(deliver(self.folder(folder, root), content, next(self.bases)))
            if flags is not None:
                path.rename(path.parent.parent / "cur" / f"{path.name}:2,{flags}")
        return contents

    def move(self, source: str, destination: str, name: Callable[[str], str] = lambda name: name) -> None:
        """A person moves all mail of a folder."""
        for entry in scan(folder := self.folder(source)):
            Path(entry.path(folder)).rename(Path(self.folder(destination).subdir("cur")) / name(entry.name))

    def rescue_and_file(self) -> None:
        """A person takes all mail out of Junk, and then files it."""
        for source, destination in (("Junk", "INBOX"), ("INBOX", "Archive")):
            self.move(source, destination, self.fresh)
            self.work()

    def fresh(self, name: str) -> str:
        """A new base name, and the same flags."""
        return f"{next(self.bases)}:2,{parse_name(name).flags}"

    def labels(self, contents: list[bytes]) -> set[int | None]:
        """Return the labels of these messages."""
        return {label_of(self.ledger, identity(content)) for content in contents}

    def number(self, folder: str, root: int = 0) -> int:
        """Return the number of messages in a folder."""
        return len(scan(self.folder(folder, root)))

    @property
    def config(self) -> Config:
        """The configuration of the mailboxes."""
        mailboxes = tuple(Mailbox(root, self.roles, **self.apart) for root in self.roots)
        return Config(mailboxes, self.directory / "ledger", learning=self.learning, service=self.service)

    # One message.

    def meet(self, path: Path) -> None:
        """Report a file to the service, which acts on it after its dwell and compares no folders."""
        (root,) = self.roots
        mailbox = self.account.mailbox(str(root))
        mailbox.look(mailbox.folders.by_path[str(path.parent.parent)], Entry(path.parent.name, path.name))
        while (due := mailbox.due(departures=False)) is not None:
            self.ahead += max(0.0, due - self.now())
            mailbox.act_on_due()

    def deliver(self, content: bytes, folder: str = "INBOX", flags: str | None = None, root: int = 0) -> Path:
        """A delivery, by a rule into any folder; with flags, the rule has set them. Then the service works."""
        path = Path(deliver(self.folder(folder, root), content, next(self.bases)))
        if flags is not None:
            path = path.rename(path.parent.parent / "cur" / f"{path.name}:2,{flags}")
        self.work()
        return path

    def paths(self, content: bytes, folder: str, root: int = 0) -> list[Path]:
        """The files of that very content in a folder."""
        where = self.folder(folder, root)
        found = [Path(entry.path(where)) for entry in scan(where)]
        return [path for path in found if path.read_bytes() == content]

    def take(self, content: bytes, source: str, destination: str, flags: str = "S") -> Path:
        """A person moves a message, which gets a new name. Then the service works."""
        target = Path(self.folder(destination).subdir("cur")) / f"{next(self.bases)}:2,{flags}"
        self.paths(content, source)[0].rename(target)
        self.work()
        return target

    def where(self, content: bytes, root: int = 0) -> list[str]:
        """Return the folders that have a file with exactly this content."""
        return [name for name in (*self.roles, *self.apart.values()) for _ in self.paths(content, name, root)]

    def known(self, content: bytes) -> MessageRow | None:
        """Return the ledger's record of the message."""
        return self.ledger.messages.find(identity(content))

    def lesson(self, content: bytes) -> tuple[int | None, bool]:
        """Return the label of the message, and whether it is weak."""
        known = self.known(content)
        return (None, False) if known is None else (known.label, known.weak)


def awake(config: Config, ledger: Ledger, now: Callable[[], float]) -> AwakeAccount:
    """Return an account of that ledger that has compared its folders."""
    account = AwakeAccount(Context(config, ledger, now), LogOnce(logging.getLogger("desk")), strict=True)
    account.compare()
    return account


@contextmanager
def moving_desk(directory: Path) -> Iterator[Desk]:
    """A mailbox, and a filter that moves mail: its person decided about forty ham and forty spam, long ago."""
    desk = Desk(directory, "mail")
    for kind in ("ham", "spam"):
        for number in range(40):
            learn(desk.ledger, read(message(kind, number)), Label.of(kind), "a test", desk.now(), how=How.HAND)
    desk.restart(minimum_messages=20)
    yield desk
    desk.stop()
    desk.ledger.close()


@contextmanager
def untaught_desk(directory: Path, *names: str) -> Iterator[Desk]:
    """Mailboxes, by default one, with a filter that has learned nothing, and needs twenty ham."""
    desk = Desk(directory, *(names or ("mail",)))
    desk.restart(minimum_messages=20)
    yield desk
    desk.stop()
    desk.ledger.close()
