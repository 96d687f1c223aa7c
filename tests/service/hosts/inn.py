"""A mail host of a few users in two domains: its disk, and the service over it, step by step or as a process."""

import gc
import logging
import shutil
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from spamnb.acts.moves import bases_now
from spamnb.base.label import Role
from spamnb.cli.common.sample_mail import message
from spamnb.config import load_any
from spamnb.host.host import Host
from spamnb.host.register import AccountRow, read
from spamnb.host.service.roster import Roster
from spamnb.host.shares import Share, claimed
from spamnb.identity.digests import identity
from spamnb.ledger.file.locks import only_service
from spamnb.ledger.ledger import Ledger
from spamnb.maildir.departures import Departures
from spamnb.maildir.folders import Folder, create_folder, find_folders
from spamnb.maildir.messages import scan
from spamnb.maildir.names import parse_name
from spamnb.service.account import Account, ServiceTools
from spamnb.service.log import LogOnce
from spamnb.service.measurements import Measurements
from spamnb.service.reading_now import ReadingNow
from spamnb.service.scheduler import Scheduler
from spamnb.service.watcher import Hint
from tests.lessons import label_of
from tests.mail_under_service import Mail, ServiceProcess
from tests.patience import PATIENCE
from tests.service.hosts.prompt import Prompt

ROLES = {"INBOX": Role.INBOX, "Junk": Role.SPAM, "Archive": Role.HAM, "Trash": Role.NEUTRAL}
DAY = 86_400.0
_log = logging.getLogger("spamnb.service.daemon")
_CONFIG = """\
mailboxes:
  - path: {directory}/vmail/{{domain}}/{{local}}/Maildir
    roles: {{INBOX: inbox, Junk: spam, Archive: ham, Trash: neutral}}
ledger: {directory}/lib/{{domain}}/{{local}}/ledger.sqlite
learning: {{dwell_seconds: {dwell}, minimum_messages: 1}}
users: {{{users}}}
{more}
"""


def names_of(number: int) -> list[str]:
    """So many users, in two domains."""
    return [f"u{each:02}@{'one' if each % 2 == 0 else 'two'}.example" for each in range(number)]


class Disk:
    """The Maildirs and ledgers of a host, and its configuration. taught: the ledger that each user begins with."""

    def __init__(self, directory: Path, taught: Path, number: int = 0) -> None:
        self.directory = directory
        self.config = directory / "config.yaml"
        self.log_file = directory / "log"
        self.bases = bases_now()
        self.names: list[str] = []
        self._taught = taught
        self._numbers = iter(range(1000, 10**9))
        (directory / "vmail").mkdir()
        self._empty = directory / "empty"
        for name in ROLES:
            create_folder(str(self._empty), "maildir++", name)
        self.configure()
        for name in names_of(number):
            self.add(name)

    def configure(self, more: str = "", users: str = "", dwell: float = 0.2) -> None:
        """Write the configuration; `more` is YAML for further sections, `users` for keys of that one."""
        self.config.write_text(_CONFIG.format(directory=self.directory, dwell=dwell, users=users, more=more))

    def host(self, share: Share | None = None) -> Host:
        """As the configuration has it now."""
        return Host(load_any(self.config, {}), self.config, share or Share())

    # --- users

    def add(self, name: str, *, is_taught: bool = True) -> None:
        """One more user: an empty Maildir, and a ledger that knows ham from spam."""
        self.names.append(name)
        shutil.copytree(self._empty, self.root(name))
        if is_taught:
            self.ledger(name).parent.mkdir(parents=True, mode=0o700, exist_ok=True)
            shutil.copy(self._taught, self.ledger(name))

    def remove(self, name: str) -> None:
        """Delete a user's mail, with the directory around it."""
        shutil.rmtree(self.root(name).parent)
        self.names.remove(name)

    def root(self, name: str) -> Path:
        """The Maildir."""
        local, _, domain = name.partition("@")
        return self.directory / "vmail" / domain / local / "Maildir"

    def ledger(self, name: str) -> Path:
        """The ledger's file."""
        local, _, domain = name.partition("@")
        return self.directory / "lib" / domain / local / "ledger.sqlite"

    # --- mail

    def folder(self, name: str, folder: str = "INBOX") -> Folder:
        """A folder of a user."""
        root = str(self.root(name))
        return Folder(folder, root if folder == "INBOX" else f"{root}/.{folder}")

    def mail(self, name: str, *more: str) -> Mail:
        """The mail of a user, in the folders of all roles and in more of them."""
        return Mail({folder: self.folder(name, folder) for folder in (*ROLES, *more)}, self.bases)

    def deliver(self, name: str, kind: str = "spam", folder: str = "INBOX", number: int | None = None) -> bytes:
        """Deliver a message as an agent does; its content, which no other one has."""
        content = message(kind, next(self._numbers) if number is None else number)
        return self.mail(name, folder).deliver(content, folder)

    def deliver_to_all(self, names: Collection[str] | None = None) -> dict[str, bytes]:
        """A spam for each of these users, or of all."""
        return {name: self.deliver(name) for name in (self.names if names is None else names)}

    def contents(self, name: str, folder: str = "INBOX") -> list[bytes]:
        """What the messages of a folder are."""
        return self.mail(name, folder).contents(folder)

    def everything(self, name: str) -> list[bytes]:
        """The contents of all folders, sorted."""
        return self.mail(name).everything()

    def are_moved(self, mail: dict[str, bytes]) -> bool:
        """Whether each of these users has this spam in Junk."""
        return all(content in self.contents(name, "Junk") for name, content in mail.items())

    def move(self, name: str, content: bytes, source: str, destination: str, flags: str = "S") -> Path:
        """A person moves a message, which gets another name."""
        return self.mail(name, source, destination).move(content, source, destination, flags)

    # --- what is known

    def unknown(self, name: str) -> list[str]:
        """The files of a user that the ledger does not know where they are."""
        found = []
        with Ledger(str(self.ledger(name))) as ledger:
            mailbox, _ = ledger.locations.mailbox(str(self.root(name)))
            for folder in find_folders(str(self.root(name)), "auto"):
                known = ledger.locations.files_in(ledger.locations.folder(mailbox, folder.name))
                found += [entry.name for entry in scan(folder) if parse_name(entry.name).key not in known]
        return found

    def label(self, name: str, content: bytes) -> int | None:
        """What a message is learned as."""
        with Ledger(str(self.ledger(name))) as ledger:
            return label_of(ledger, identity(content))

    def judgements(self, name: str) -> list[str]:
        """What was judged, moved or learned of a user, the oldest first."""
        with Ledger(str(self.ledger(name))) as ledger:
            return [action.kind for action in ledger.journal.newest(10_000)][::-1]

    def faults(self, name: str) -> list[str]:
        """What `verify` finds, and moves that were not ended."""
        with Ledger(str(self.ledger(name))) as ledger:
            return ledger.lessons.verify() + [f"open intent {intent.id}" for intent in ledger.journal.intents()]

    def rows(self) -> dict[str, AccountRow]:
        """What is in the register."""
        return {row.name: row for row in read(self.directory / "lib")}


class Desk(Disk):
    """The service over a host, step by step, with clocks of the test's own: `pass_time` lets them go on.

    The times of files are the kernel's, so the clocks begin at the present.
    """

    def __init__(self, directory: Path, taught: Path, number: int) -> None:
        super().__init__(directory, taught, number)
        self.ahead = 0.0  # of both clocks
        self.is_set = 0.0  # by how much the clock of the day is wrong
        self.pace: float | None = None  # seconds that pass with each look at that clock, and no others; None: real ones
        self._stands_at = 0.0
        self.watcher = Prompt("auto")
        self.roster: Roster | None = None
        self.alive: Callable[[str], None] = lambda _: None  # called in long work

    # --- its life

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time() + self.ahead + self.is_set

    def running(self) -> float:
        """Of a clock that is never set."""
        if self.pace is None:
            return time.monotonic() + self.ahead
        self.ahead += self.pace
        return self._stands_at + self.ahead

    def set_to_present(self) -> None:
        """Set the clock of the day to what it is by that of the kernel, from which files have their times."""
        self.is_set = -self.ahead

    def set_pace(self, seconds: float) -> None:
        """Let time pass with each look at the clock alone, by so much."""
        self._stands_at, self.pace = time.monotonic(), seconds

    def start(self) -> None:
        """Start the service."""
        self._claim = ExitStack()
        self._claim.enter_context(claimed(self.directory / "lib", Share()))
        self.begin(self.host())

    def begin(self, host: Host) -> None:
        """Begin to work by a configuration."""
        self.roster = Roster(host, self._tools(host), lambda: LogOnce(_log, logging.ERROR))
        self.roster.open(lambda _: pytest.fail("nothing is waited for"))
        self.watcher.start()
        self.watched = self.roster.watch()

    def once(self) -> None:
        """Do what `run --once` does."""
        host = self.host()
        with claimed(host.directory, Share()):
            self.roster = Roster(host, self._tools(host), lambda: LogOnce(_log, logging.ERROR))
            self.roster.once(lambda seconds: setattr(self, "ahead", self.ahead + seconds))
            self.reading.close()
            self.roster.close()
            self.roster = None

    def _tools(self, host: Host) -> ServiceTools:
        self.watcher = self.new_watcher(host)
        self.departures, self.reading = Departures(self.now), ReadingNow()
        common = Measurements(), self.departures, self.reading, partial(only_service, patience=0.0)
        return ServiceTools(self.watcher, self.now, self.running, self._alive, *common)

    def _alive(self, status: str) -> None:
        self.alive(status)

    def new_watcher(self, host: Host) -> Prompt:
        """A watcher as the service makes it, without its threads."""
        return Prompt(host.template.service.watch, 400)

    def reload(self) -> None:
        """Let it read the configuration again."""
        assert self.roster is not None
        self.roster.close()
        self.watcher.stop()
        self.reading.close()
        self.begin(self.host())

    def kill(self) -> None:
        """End it as the kernel does: nothing more is written, and what it holds is let go of."""
        self._unlock()
        self._claim.close()
        self.roster = None
        self.watcher.stop()
        self.reading.close()
        self.reading = ReadingNow()
        gc.collect()

    def _unlock(self) -> None:
        for account in self.accounts:
            if account.is_awake:
                account.awake.close()
                account.ledger.owner.close()

    def stop(self) -> None:
        """End it in order."""
        if self.roster is not None:
            roster, self.roster = self.roster, None
            roster.close()
            self.watcher.stop()
            self.reading.close()
            self._claim.close()

    # --- its work

    @property
    def accounts(self) -> Scheduler:
        """The loop over the accounts."""
        assert self.roster is not None
        return self.roster.scheduler

    def account(self, name: str) -> Account:
        """The account of a user."""
        assert self.roster is not None
        return self.roster._users[name].account

    @property
    def awake(self) -> set[str]:
        """Who is awake."""
        return {account.name for account in self.accounts if account.is_awake}

    def step(self) -> None:
        """Once through the loop."""
        assert self.roster is not None
        self.take()
        for part in (self.roster, self.accounts):
            if part.due_in() <= 0.0:
                part.work()

    def due_in(self) -> float:
        """Return the seconds until there is work without a hint."""
        assert self.roster is not None
        return min(self.roster.due_in(), self.accounts.due_in())

    def until(self, done: Callable[[], bool], what: str) -> None:
        """Let it work until something is so; time passes only while there is nothing to do."""
        end = self.running() + 600.0
        while not done():
            assert self.running() < end, f"waited in vain: {what}"
            assert self.roster is not None
            self.step()
            self.ahead += min(self.due_in(), 0.01)

    def heard(self) -> list[Hint]:
        """All hints of what was done so far."""
        return self.watcher.read(0.0)

    def take(self) -> None:
        """Take all hints of what was done so far, and work on none."""
        assert self.roster is not None
        for hint in self.heard():
            self.accounts.take(hint)

    def rest(self) -> None:
        """Let it work until there is nothing to do without another hint, or the passing of time."""
        assert self.roster is not None
        end = time.monotonic() + PATIENCE
        self.step()  # though nothing may be due: the kernel may have told that hints are lost
        self.take()
        while self.due_in() == 0.0:
            assert time.monotonic() < end, "it does not come to rest"
            self.step()
            self.take()

    def pass_time(self, seconds: float) -> None:
        """Let so much time pass, in which it does what is due, each at its time."""
        assert self.roster is not None
        self.rest()
        end = self.running() + seconds
        while (left := end - self.running()) > 0:
            self.ahead += min(left, max(self.due_in(), 0.001))
            self.rest()

    def settle(self) -> None:
        """Let it compare what is to be compared, act on what dwells, and let all accounts sleep."""
        self.pass_time(130.0)
        for _ in range(2):  # the daily look at an account may have begun in the last minute: it depends on the hour
            if self.awake:
                self.pass_time(70.0)


class Process(Disk, ServiceProcess):
    """The service over a host as a process of its own."""
